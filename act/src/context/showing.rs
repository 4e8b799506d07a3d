//! The state of a process as its label, for behaviours that have one (rule F14).

use super::context::Context;
use crate::observe::state_label::StateLabel;
use crate::process::crash::contain;
use krarup_gen::Name;
use std::fmt;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// See [`BehaviorContext::show_state`](crate::BehaviorContext::show_state).
    pub(crate) fn show_state(&self, state: &impl fmt::Debug) {
        if !self.may_show_state() {
            return;
        }
        // The text is made outside the lock: `Debug` is user code.
        let Ok(mut text) = contain(|| format!("{state:?}")) else { return };
        text.truncate(krarup_gen::char_boundary_to(&text, Name::MAX_BYTES));
        let replaced = match (self.host().state_labels().number(&text), Name::new(&text)) {
            (Some(number), _) => self.show(StateLabel::numbered(number), None),
            (None, Ok(label)) => self.show(StateLabel::ALONE, Some(label)),
            (None, Err(_)) => None,
        };
        drop(replaced);
    }

    /// Whether a state that the process shows is its label: it has given itself no other.
    fn may_show_state(&self) -> bool {
        let relations = self.cell.locked_relations();
        let is_alone = self.cell.inbox.lock().shown.is_alone();
        !relations.is_closed() && (is_alone || relations.own_label().is_none())
    }

    /// Shows a state: one with a number, or its text. Returns the text of the one before, if that had no number.
    fn show(&self, state: StateLabel, text: Option<Name>) -> Option<Name> {
        let mut relations = self.cell.locked_relations();
        let before = std::mem::replace(&mut self.cell.inbox.lock().shown, state);
        if text.is_some() || before.is_alone() { relations.set_own_label(text) } else { None }
    }
}
