//! The state that a process shows as its label, in two bytes (rule F14).

/// The state that a process shows, by its number in [`StateLabels`](super::state_labels::StateLabels).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateLabel(u16);

impl StateLabel {
    /// A state that has no number: its text is stored as the label.
    pub(crate) const ALONE: StateLabel = StateLabel(u16::MAX);

    pub(crate) fn numbered(number: u16) -> Self {
        StateLabel(number)
    }

    /// The number of the state, if one is shown that has a number.
    pub(crate) fn number(self) -> Option<u16> {
        (self.0 != 0 && !self.is_alone()).then_some(self.0)
    }

    pub(crate) fn is_alone(self) -> bool {
        self == StateLabel::ALONE
    }

    /// Forgets a state whose text is the label: the process gives itself another label, or none.
    pub(crate) fn forget_alone(&mut self) {
        if self.is_alone() {
            *self = StateLabel::default();
        }
    }
}
