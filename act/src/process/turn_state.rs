//! What the turn and the polled future tell each other, in one word.
//!
//! The future runs inside the turn, on the same thread, and returns only `Pending`. So it leaves
//! the rest in this word: what it waits for, and what the turn must do before it parks the
//! process. The usual end of a poll, a process that waits for a message, costs one comparison.
//!
//! # The bits
//!
//! | bit | meaning | set by | may be set | lasts until |
//! |---|---|---|---|---|
//! | `WANTS` | a [`Wants`]: what the future waits for; the last writer wins | a receive that finds nothing | at any time in a poll | the next poll |
//! | `WANTS_POKE` | part of the future waits without a timer, and sets it when the process is poked | a new call with a long timeout | at any time in a poll | the next poll |
//! | `LOOKED` | the future has looked at Main in this poll | a receive | in a poll with a budget, so not with `CLOCK_ONLY` | the next poll |
//! | `SUSPECTS` | a call needs to know whether the process waits for it alone | a call that seems to close a cycle | at any time in a poll | the next poll |
//! | `CLOCK_ONLY` | this poll only lets calls read the clock; it has no budget | the turn | between two polls, after `WANTS_POKE` | the end of that poll |
//! | `CLOCK_READ` | a call has read the clock and set no timer | a call without a timer | with `CLOCK_ONLY` | the next poll |
//! | `KEEPS_MEMORY` | a batch was emptied; its memory may be needed again soon | a receive | at any time in a turn | the next turn |
//! | `TRACED` | the thread runs in a trace context (`current/traces.rs`) | a message that carries one; [`TraceContext::enter`](crate::TraceContext::enter) | at any time | the context ends, or the process waits |
//! | `FRESH` | nothing has been handled yet, so the deadline of the turn does not count | the turn, or a receive that puts a message back | at any time in a turn | the deadline is checked |
//!
//! `WANTS` has one writer that matters: a process has one context, so one receive is polled at a
//! time. If several are polled one after the other, the last one has seen the mailbox last.
//!
//! # What the turn does after a poll
//!
//! The poll has returned `Pending`. `LOOKED`, `KEEPS_MEMORY`, `TRACED` and `FRESH` do not matter here. The
//! first row that fits applies. A poll with `SUSPECTS` or `CLOCK_ONLY` is *special*
//! ([`AfterSpecialPoll`]); most polls are plain.
//!
//! | `SUSPECTS` | `CLOCK_ONLY` | `CLOCK_READ` or `WANTS_POKE` | `WANTS` | what follows |
//! |---|---|---|---|---|
//! | set | any | any | any | `Suspect`: notes whether the answer alone can wake the process, and polls again |
//! | - | set | set | `Other` | `Poke`: has the process poked later, and parks it |
//! | - | set | set | not `Other` | `PollAgain`: no poke reaches a process that waits for messages, so the calls set their timers now |
//! | - | set | - | `Turn` | `PollAgain`: the poll has received nothing because it had no budget |
//! | - | set | - | not `Turn` | `Park` |
//! | - | - | set | any | as `Poke` if the process waits for one call alone; otherwise polls again with `CLOCK_ONLY` |
//! | - | - | - | any | as `Park` |
//!
//! `Park` queues the process again if it wants a `Turn`; otherwise it parks it as Idle
//! (`Message`), Selecting (`Main`), Listening (`Control`) or Waiting (`Other`).
//!
//! # What never occurs
//!
//! * `CLOCK_READ` without `CLOCK_ONLY`, at the end of a poll.
//! * `LOOKED` with `CLOCK_ONLY`: a look costs a message of the budget, and such a poll has none.
//!
//! Debug builds check this. A test walks every word that the operations can reach.

const WANTS: u16 = 0b111;
const WANTS_POKE: u16 = 1 << 3;
const KEEPS_MEMORY: u16 = 1 << 4;
const LOOKED: u16 = 1 << 5;
const FRESH: u16 = 1 << 6;
const CLOCK_ONLY: u16 = 1 << 7;
const CLOCK_READ: u16 = 1 << 8;
const SUSPECTS: u16 = 1 << 9;
const TRACED: u16 = 1 << 10;

/// What the future waits for after it has returned `Pending`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Wants {
    /// Something other than a message: it waits inside a handler.
    Other = 0,
    /// A message; there is none.
    Message = 1,
    /// An entry on a control lane; there is none. Messages on Main stay there.
    Control = 2,
    /// Another turn, because its budget is used up.
    Turn = 3,
    /// An entry on Main that it has not examined; there is none. Those on control lanes stay there, unless they ask the
    /// process to stop.
    Main = 4,
}

/// What the turn does after a special poll that has returned `Pending`. The table is above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterSpecialPoll {
    /// Parks it, or gives it another turn.
    Park,
    /// Has it poked later, and parks it.
    Poke,
    /// Polls it again.
    PollAgain,
    /// Notes whether the answer of its call alone can wake it, and polls it again.
    Suspect,
}

/// The word. Each operation returns the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TurnState(u16);

impl TurnState {
    /// No turn has run on this thread.
    pub(super) const NONE: TurnState = TurnState(0);
    /// A turn begins.
    pub(super) const BEGUN: TurnState = TurnState(FRESH);

    /// A poll begins: what the last poll has said is void, what the turn has said remains.
    #[inline]
    pub(super) fn poll_begun(self) -> Self {
        TurnState(self.0 & (FRESH | KEEPS_MEMORY | CLOCK_ONLY | TRACED))
    }

    /// The future waits for this. Replaces what it has said before in this poll.
    #[inline]
    pub(super) fn wanting(self, wants: Wants) -> Self {
        TurnState((self.0 & !WANTS) | wants as u16)
    }

    /// What the future waits for.
    #[inline]
    pub(super) fn wants(self) -> Wants {
        match self.0 & WANTS {
            0 => Wants::Other,
            1 => Wants::Message,
            2 => Wants::Control,
            3 => Wants::Turn,
            _ => Wants::Main,
        }
    }

    /// Whether the future waits for a message and has said nothing else.
    #[inline]
    pub(super) fn wants_a_message_only(self) -> bool {
        self.0 & !(LOOKED | FRESH) == Wants::Message as u16
    }

    /// Whether part of the future sets its timer when the process is poked.
    #[inline]
    pub(super) fn wants_poke(self) -> bool {
        self.0 & WANTS_POKE != 0
    }

    /// Part of the future sets its timer when the process is poked.
    #[inline]
    pub(super) fn wanting_poke(self) -> Self {
        TurnState(self.0 | WANTS_POKE)
    }

    /// The future looks at Main, at the cost of a message of the budget.
    #[inline]
    pub(super) fn looked(self) -> Self {
        debug_assert!(self.0 & CLOCK_ONLY == 0, "{self:?} has no budget for a look");
        TurnState(self.0 | LOOKED)
    }

    /// Whether the future has looked at Main in this poll.
    #[inline]
    pub(super) fn has_looked(self) -> bool {
        self.0 & LOOKED != 0
    }

    /// A call asks whether the process waits for it alone.
    #[inline]
    pub(super) fn suspecting(self) -> Self {
        TurnState(self.0 | SUSPECTS)
    }

    /// A batch was emptied in this turn.
    #[inline]
    pub(super) fn keeping_memory(self) -> Self {
        TurnState(self.0 | KEEPS_MEMORY)
    }

    /// Whether a batch was emptied in this turn.
    #[inline]
    pub(super) fn keeps_memory(self) -> bool {
        self.0 & KEEPS_MEMORY != 0
    }

    /// Sets whether the thread runs in a trace context.
    #[inline]
    pub(super) fn traced(self, traced: bool) -> Self {
        TurnState(if traced { self.0 | TRACED } else { self.0 & !TRACED })
    }

    /// Whether the thread runs in a trace context.
    #[inline]
    pub(super) fn is_traced(self) -> bool {
        self.0 & TRACED != 0
    }

    /// Nothing has been handled yet: the turn handles one message even after its deadline.
    /// Otherwise a process could be queued again and again without progress.
    #[inline]
    pub(super) fn fresh(self) -> Self {
        TurnState(self.0 | FRESH)
    }

    /// Something is about to be handled.
    #[inline]
    pub(super) fn not_fresh(self) -> Self {
        TurnState(self.0 & !FRESH)
    }

    /// Whether nothing has been handled yet.
    #[inline]
    pub(super) fn is_fresh(self) -> bool {
        self.0 & FRESH != 0
    }

    /// The next poll only lets calls read the clock. Follows a plain poll with `WANTS_POKE`.
    #[inline]
    pub(super) fn clock_only(self) -> Self {
        debug_assert!(self.wants_poke() && !self.is_special(), "{self:?} needs no clock");
        TurnState(self.0 | CLOCK_ONLY)
    }

    /// Whether this poll only lets calls read the clock.
    #[inline]
    pub(super) fn is_clock_only(self) -> bool {
        self.0 & CLOCK_ONLY != 0
    }

    /// A call has read the clock and sets its timer when the process is poked.
    #[inline]
    pub(super) fn clock_read(self) -> Self {
        debug_assert!(self.is_clock_only(), "{self:?} is an ordinary poll");
        TurnState(self.0 | CLOCK_READ)
    }

    /// The poll for the clock is over.
    #[inline]
    pub(super) fn clock_poll_ended(self) -> Self {
        TurnState(self.0 & !CLOCK_ONLY)
    }

    /// Whether a call has asked for another poll, or this poll was made for calls.
    #[inline]
    pub(super) fn is_special(self) -> bool {
        debug_assert!(self.is_possible(), "{self:?}");
        self.0 & (SUSPECTS | CLOCK_ONLY) != 0
    }

    /// What the turn does now that a special poll has returned `Pending`.
    #[cold]
    pub(super) fn after_special_poll(self) -> AfterSpecialPoll {
        debug_assert!(self.is_special(), "{self:?}");
        if self.0 & SUSPECTS != 0 {
            return AfterSpecialPoll::Suspect;
        }
        let pokes = self.0 & (CLOCK_READ | WANTS_POKE) != 0;
        match self.wants() {
            Wants::Other if pokes => AfterSpecialPoll::Poke,
            Wants::Turn => AfterSpecialPoll::PollAgain,
            Wants::Message | Wants::Control | Wants::Main if pokes => AfterSpecialPoll::PollAgain,
            Wants::Other | Wants::Message | Wants::Control | Wants::Main => AfterSpecialPoll::Park,
        }
    }

    /// Whether this word can be the state at the end of a poll.
    fn is_possible(self) -> bool {
        let clock_only = self.is_clock_only();
        let wants_something = self.0 & WANTS <= Wants::Main as u16;
        wants_something
            && (clock_only || self.0 & CLOCK_READ == 0)
            && !(clock_only && self.has_looked())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use AfterSpecialPoll::{Park, Poke, PollAgain, Suspect};
    use Wants::{Control, Main, Message, Other, Turn};
    use std::collections::BTreeSet;

    const ALL: u16 = (1 << 11) - 1;
    const WANTED: [Wants; 5] = [Other, Message, Control, Turn, Main];

    /// The words that the operations of one poll make of one.
    fn in_a_poll(state: TurnState) -> Vec<TurnState> {
        let mut next: Vec<_> = WANTED.map(|wants| state.wanting(wants)).into();
        next.extend([
            state.wanting_poke(),
            state.suspecting(),
            state.keeping_memory(),
            state.fresh(),
            state.not_fresh(),
            state.traced(true),
            state.traced(false),
        ]);
        next.push(if state.is_clock_only() { state.clock_read() } else { state.looked() });
        next
    }

    /// The words with which the next poll can begin.
    fn next_poll(state: TurnState) -> Vec<TurnState> {
        let ended = state.clock_poll_ended().poll_begun();
        if state.is_special() || !state.wants_poke() {
            return vec![ended];
        }
        vec![ended, state.clock_only().poll_begun()]
    }

    /// Every word at the end of a poll, in any turn.
    fn reached() -> BTreeSet<u16> {
        let mut reached = BTreeSet::new();
        let mut open = vec![TurnState::BEGUN];
        while let Some(state) = open.pop() {
            if reached.insert(state.0) {
                open.extend(in_a_poll(state));
                open.extend(next_poll(state));
            }
        }
        reached
    }

    #[test]
    fn the_reachable_states_are_the_possible_ones() {
        let possible = (0..=ALL).filter(|word| TurnState(*word).is_possible());
        assert_eq!(reached(), possible.collect());
    }

    /// The table of the module, row by row: the bits that are looked at, what is wanted, and what
    /// follows. `None` is a plain poll that asks for a poke.
    #[test]
    fn each_state_has_the_effect_of_its_row() {
        const POKES: u16 = CLOCK_READ | WANTS_POKE;
        type Row = (fn(u16) -> bool, &'static [Wants], Option<AfterSpecialPoll>);
        let rows: [Row; 7] = [
            (|bits| bits & SUSPECTS != 0, &WANTED, Some(Suspect)),
            (|bits| bits & CLOCK_ONLY != 0 && bits & POKES != 0, &[Other], Some(Poke)),
            (
                |bits| bits & CLOCK_ONLY != 0 && bits & POKES != 0,
                &[Message, Control, Turn, Main],
                Some(PollAgain),
            ),
            (|bits| bits & CLOCK_ONLY != 0, &[Turn], Some(PollAgain)),
            (|bits| bits & CLOCK_ONLY != 0, &[Other, Message, Control, Main], Some(Park)),
            (|bits| bits & POKES != 0, &WANTED, None),
            (|_| true, &WANTED, Some(Park)),
        ];
        let mut used = [0; 7];
        for word in reached() {
            let state = TurnState(word);
            let row = rows
                .iter()
                .position(|(bits, wants, _)| bits(word) && wants.contains(&state.wants()))
                .unwrap();
            used[row] += 1;
            let follows = match state.is_special() {
                true => Some(state.after_special_poll()),
                false if state.wants_poke() => None,
                false => Some(Park),
            };
            assert_eq!(follows, rows[row].2, "{state:?} is of row {row}");
            let said_no_more = follows == Some(Park) && !state.is_special();
            let rests = !state.keeps_memory() && !state.is_traced();
            let message_only = state.wants() == Message && said_no_more && rests;
            assert_eq!(state.wants_a_message_only(), message_only, "{state:?}");
        }
        assert!(used.iter().all(|states| *states > 0), "{used:?}");
    }

    #[test]
    fn a_poll_forgets_what_the_last_one_has_said_and_keeps_what_the_turn_has() {
        let said =
            TurnState::BEGUN.wanting(Control).wanting_poke().looked().suspecting().keeping_memory();
        assert_eq!(said.poll_begun(), TurnState::BEGUN.keeping_memory());
        let asked = TurnState::NONE.wanting_poke().clock_only().poll_begun();
        assert!(asked.is_clock_only());
        assert_eq!(asked.clock_read().clock_poll_ended().poll_begun(), TurnState::NONE);
        assert_eq!(asked.wanting(Message).wanting(Turn).wants(), Turn, "the last writer wins");
    }

    #[test]
    #[cfg(debug_assertions)]
    fn impossible_states_are_refused() {
        let clock = TurnState::NONE.wanting_poke().clock_only().poll_begun();
        let refuses = |operation: fn(TurnState) -> TurnState, state| {
            std::panic::catch_unwind(|| operation(state)).is_err()
        };
        assert!(refuses(TurnState::looked, clock), "a look without a budget");
        assert!(refuses(TurnState::clock_read, TurnState::BEGUN), "the clock in an ordinary poll");
        assert!(refuses(TurnState::clock_only, TurnState::BEGUN), "a clock that nothing needs");
    }
}
