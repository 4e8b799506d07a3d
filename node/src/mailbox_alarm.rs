//! The mailbox alarm: reports a mailbox with very many messages, whose process cannot keep up or
//! hangs.

use crate::error::NodeError;
use krarup_act::{Process, contain};
use krarup_gen::Pid;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The default length at which a mailbox is first reported.
pub(crate) const FIRST: usize = 10_000;
/// Alarms are at multiples of this, because a mailbox checks its length only there.
const STEP: usize = 16;

/// Checks the length of an alarm.
pub(crate) fn check(messages: Option<usize>) -> Result<(), NodeError> {
    match messages {
        Some(messages) if messages < FIRST => {
            Err(NodeError::MailboxAlarm { messages, least: FIRST })
        }
        _ => Ok(()),
    }
}

/// Reports a mailbox when it reaches a length, and again at each doubling.
pub(crate) struct MailboxAlarm {
    /// The first length that is reported; 0: none is reported.
    first: AtomicUsize,
    count: AtomicU64,
}

impl Default for MailboxAlarm {
    fn default() -> Self {
        MailboxAlarm { first: AtomicUsize::new(FIRST), count: AtomicU64::new(0) }
    }
}

impl MailboxAlarm {
    /// Sets the first length, rounded up to a multiple of 16; `None` reports no mailbox.
    pub(crate) fn set(&self, first: Option<usize>) {
        let first = first.map_or(0, |first| first.checked_next_multiple_of(STEP).unwrap_or(0));
        self.first.store(first, Ordering::Relaxed);
    }

    /// Whether a mailbox of this length is reported.
    pub(crate) fn is_due(&self, length: usize) -> bool {
        let first = self.first.load(Ordering::Relaxed);
        first > 0 && length.is_multiple_of(first) && (length / first).is_power_of_two()
    }

    /// The number of reports.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Counts and warns. A panic of the log subscriber is contained.
    pub(crate) fn tell(&self, pid: Pid, length: usize, process: Option<Arc<dyn Process>>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let info = process.map(|process| process.info());
        let _ = contain(|| {
            let name = info.as_ref().and_then(|info| info.name.as_ref());
            tracing::warn!(
                target: "krarup", %pid, name = name.map(krarup_gen::Name::as_str),
                behavior = info.as_ref().map(|info| tracing::field::display(&info.behavior)), messages = length,
                "a mailbox is deep: its process does not keep up"
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
