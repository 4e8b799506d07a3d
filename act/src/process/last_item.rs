//! The last item that a process has received, in the word in which its context keeps the sender.
//!
//! ```text
//!   8 bits        56 bits
//!   kind          number of the sender; 0: none
//! ```
//!
//! The kind of a message on Main is 0, so the paths that receive one store the sender alone, as
//! they would without a kind. All other items are rarer, and add their kind.

use crate::sync::thread_local;
use krarup_gen::{ItemInHand, ItemKind, Pid};
use std::cell::Cell;

const SENDER: u64 = (1 << 56) - 1;
/// Nothing was received yet.
pub(crate) const NOTHING: u64 = 0xff << 56;

thread_local! {
    /// The number of the process whose context was last dropped on this thread, and its last
    /// item.
    static LEFT: Cell<(u64, u64)> = const { Cell::new((0, NOTHING)) };
}

/// The number of the sender in the word; 0: none.
#[inline]
pub(crate) fn sender(word: u64) -> u64 {
    word & SENDER
}

/// The word with another kind.
pub(crate) fn of_kind(word: u64, kind: ItemKind) -> u64 {
    sender(word) | (kind as u64) << 56
}

/// Leaves the last item of a process whose context is dropped, for its crash report.
#[inline]
pub(crate) fn leave(pid: Pid, word: u64) {
    // The thread may be ending.
    let _ = LEFT.try_with(|left| left.set((pid.id(), word)));
}

/// The last item of this process, if its context was the last that was dropped on this thread. With the types of its
/// messages and its commands.
pub(crate) fn left(pid: Pid, message: &'static str, command: &'static str) -> Option<ItemInHand> {
    let (number, word) = LEFT.try_with(Cell::get).ok()?;
    if number != pid.id() {
        return None;
    }
    let kinds = [
        ItemKind::Message,
        ItemKind::Command,
        ItemKind::Other,
        ItemKind::Exit,
        ItemKind::Down,
        ItemKind::Stop,
        ItemKind::Finish,
        ItemKind::Timeout,
        ItemKind::Inspect,
        ItemKind::State,
        ItemKind::Manage,
    ];
    let kind = kinds.into_iter().find(|kind| of_kind(0, *kind) == word & !SENDER)?;
    let type_name = match kind {
        ItemKind::Message => Some(message),
        ItemKind::Command => Some(command),
        _ => None,
    };
    let sender = sender(word);
    let sender = (sender != 0).then(|| Pid::local(sender, pid.creation()));
    Some(ItemInHand::new(kind, type_name, sender))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn v15_the_last_item_is_that_of_the_process_that_left_it() {
        let (pid, other) = (Pid::local(7, 1), Pid::local(8, 1));
        leave(pid, 0);
        let item = left(pid, "u32", "String");
        assert_eq!(item, Some(ItemInHand::new(ItemKind::Message, Some("u32"), None)));
        assert_eq!(left(other, "u32", "String"), None);
        leave(pid, of_kind(8, ItemKind::Command));
        let item = left(pid, "u32", "u8");
        assert_eq!(item, Some(ItemInHand::new(ItemKind::Command, Some("u8"), Some(other))));
        leave(pid, of_kind(of_kind(8, ItemKind::Command), ItemKind::State));
        assert_eq!(left(pid, "u32", "u8").map(|item| item.kind), Some(ItemKind::State));
        leave(pid, NOTHING);
        assert_eq!((left(pid, "u32", "u8"), sender(NOTHING)), (None, 0));
    }
}
