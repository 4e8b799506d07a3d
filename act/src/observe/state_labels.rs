//! The texts of the states that processes show as their labels (rule F14).
//!
//! A process stores the number of its text, in two bytes that its mailbox has free. So a
//! state that many processes are in, or that one returns to, is stored once.

use crate::sync::Mutex;
use krarup_gen::Name;
use std::collections::HashMap;
use std::fmt;

/// The most texts that are kept. Most states have few. A state whose text differs in each
/// process is stored there beyond this.
const MOST: usize = 4096;

/// The texts of one node; a [`Host`](crate::Host) has one.
#[derive(Default)]
pub struct StateLabels(Mutex<Texts>);

#[derive(Default)]
struct Texts {
    numbers: HashMap<Name, u16>,
    /// The text of the number 1 comes first.
    names: Vec<Name>,
}

impl StateLabels {
    /// The number of this text, from 1. `None` if there are too many.
    pub(crate) fn number(&self, text: &str) -> Option<u16> {
        let mut texts = self.0.lock();
        if let Some(number) = texts.numbers.get(text) {
            return Some(*number);
        }
        if texts.names.len() >= MOST {
            return None;
        }
        let name = Name::new(text).ok()?;
        let number = u16::try_from(texts.names.len()).ok()? + 1;
        texts.names.push(name.clone());
        texts.numbers.insert(name, number);
        Some(number)
    }

    /// The text with this number.
    pub(crate) fn name(&self, number: u16) -> Option<Name> {
        let place = usize::from(number).checked_sub(1)?;
        self.0.lock().names.get(place).cloned()
    }
}

impl fmt::Debug for StateLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateLabels({})", self.0.lock().names.len())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn f14_a_text_has_one_number_and_there_is_an_end_to_them() {
        let labels = StateLabels::default();
        let (open, shut) = (labels.number("Open"), labels.number("Shut"));
        assert_eq!((open, shut, labels.number("Open")), (Some(1), Some(2), Some(1)));
        assert_eq!(labels.name(2).as_ref().map(Name::as_str), Some("Shut"));
        assert_eq!((labels.name(0), labels.name(3), labels.number("")), (None, None, None));
        let many: Vec<_> = (0..MOST).map(|n| labels.number(&n.to_string())).collect();
        assert_eq!((many[MOST - 3].is_some(), many[MOST - 2]), (true, None));
        assert_eq!(labels.number("Shut"), Some(2));
    }
}
