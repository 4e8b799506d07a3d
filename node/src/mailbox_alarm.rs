//! The alarm of mailboxes in which very many messages wait: its process cannot keep up, or hangs.

use crate::error::NodeError;
use krarup_act::{Process, contain};
use krarup_gen::Pid;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// When a mailbox is told of first unless told otherwise.
pub(crate) const FIRST: usize = 10_000;
/// Alarms are at multiples of this, for mailboxes are looked at there alone.
const STEP: usize = 16;

/// Whether there can be such an alarm.
pub(crate) fn check(messages: Option<usize>) -> Result<(), NodeError> {
    match messages {
        Some(messages) if messages < FIRST => {
            Err(NodeError::MailboxAlarm { messages, least: FIRST })
        }
        _ => Ok(()),
    }
}

/// Tells of a mailbox when it has come to a length, and again at each doubling.
pub(crate) struct MailboxAlarm {
    /// The first length that is told of; 0: none is.
    first: AtomicUsize,
    count: AtomicU64,
}

impl Default for MailboxAlarm {
    fn default() -> Self {
        MailboxAlarm { first: AtomicUsize::new(FIRST), count: AtomicU64::new(0) }
    }
}

impl MailboxAlarm {
    /// Tells of this length first, of the next multiple of 16; of none if that is `None`.
    pub(crate) fn set(&self, first: Option<usize>) {
        let first = first.map_or(0, |first| first.checked_next_multiple_of(STEP).unwrap_or(0));
        self.first.store(first, Ordering::Relaxed);
    }

    /// Whether this length is one that is told of.
    pub(crate) fn is_due(&self, length: usize) -> bool {
        let first = self.first.load(Ordering::Relaxed);
        first > 0 && length.is_multiple_of(first) && (length / first).is_power_of_two()
    }

    /// How often it has told of one.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Counts, and warns. A subscriber that panics is nobody else's matter.
    pub(crate) fn tell(&self, pid: Pid, length: usize, process: Option<Arc<dyn Process>>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let info = process.map(|process| process.info());
        let _ = contain(|| {
            let name = info.as_ref().and_then(|info| info.name.as_ref());
            tracing::warn!(
                target: "krarup", %pid, name = name.map(krarup_gen::Name::as_str),
                behavior = info.as_ref().map(|info| tracing::field::display(&info.behavior)), messages = length,
                "a mailbox grows: its process does not keep up"
            );
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m11_the_alarm_is_at_a_length_and_at_each_doubling() {
        let due = |alarm: &MailboxAlarm| -> Vec<usize> {
            (0..=100_000).filter(|length| alarm.is_due(*length)).collect()
        };
        let alarm = MailboxAlarm::default();
        assert_eq!(due(&alarm), [10_000, 20_000, 40_000, 80_000]);
        alarm.set(Some(30_001));
        assert_eq!(due(&alarm), [30_016, 60_032]);
        for none in [None, Some(usize::MAX)] {
            alarm.set(none);
            assert!(due(&alarm).is_empty());
        }
    }
}
