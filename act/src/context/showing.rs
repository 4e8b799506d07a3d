//! The state of a process as its label, for behaviours that have one (rule F14).

use super::context::Context;
use crate::process::crash::contain;
use krarup_gen::Name;
use std::fmt;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// See [`BehaviorContext::show_state`](crate::BehaviorContext::show_state).
    pub(crate) fn show_state(&self, state: &impl fmt::Debug) {
        if !self.cell.locked_relations().may_show_state() {
            return;
        }
        // The text is made outside the lock: `Debug` is user code.
        let Ok(mut text) = contain(|| format!("{state:?}")) else { return };
        text.truncate(krarup_gen::char_boundary_to(&text, Name::MAX_BYTES));
        let replaced = match (self.host().state_labels().number(&text), Name::new(&text)) {
            (Some(number), _) => self.cell.locked_relations().show_state(number),
            (None, Ok(label)) => self.cell.locked_relations().show_state_alone(label),
            (None, Err(_)) => None,
        };
        drop(replaced);
    }
}
