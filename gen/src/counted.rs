//! What a node counts by kind: ends, refusals, restarts.

use crate::{DeadLetterCause, Reason, SendError};
use std::collections::BTreeMap;
use std::fmt;

/// Counts by kind. Every kind has an entry, also with 0.
pub type CountsBy<K> = BTreeMap<K, u64>;

/// Declares an enum whose variants are counted, with their names and an array of all.
macro_rules! counted {
    (
        $(#[$of:meta])* $kind:ident {
            $($(#[$doc:meta])* $variant:ident => $text:literal),+ $(,)?
        }
    ) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[non_exhaustive]
        pub enum $kind {
            $(
                $(#[$doc])*
                #[cfg_attr(feature = "serde", serde(rename = $text))]
                $variant
            ),+
        }

        impl $kind {
            /// All variants, each at the place of its number.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the name of the variant: lower case, with underscores.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }

            /// Pairs the variants with their counts. A count that is missing is 0.
            #[must_use]
            pub fn counts(counts: &[u64]) -> CountsBy<Self> {
                let counts = counts.iter().copied().chain(std::iter::repeat(0));
                Self::ALL.iter().copied().zip(counts).collect()
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

counted! {
    /// The kind of a [`Reason`], without its detail.
    ReasonKind {
        /// [`Reason::Normal`].
        Normal => "normal",
        /// [`Reason::Shutdown`] and [`Reason::ShutdownWith`].
        Shutdown => "shutdown",
        /// [`Reason::Killed`].
        Killed => "killed",
        /// [`Reason::Kill`].
        Kill => "kill",
        /// [`Reason::Panic`].
        Panic => "panic",
        /// [`Reason::Error`].
        Error => "error",
        /// [`Reason::NoProcess`].
        NoProcess => "noproc",
        /// [`Reason::NoConnection`].
        NoConnection => "noconnection",
    }
}

counted! {
    /// Why a message was given back to its sender.
    RefusalCause {
        /// The mailbox or all workers of the pool are full (rules M6, P2).
        Full => "full",
        /// The pool has no workers.
        NoWorkers => "no_workers",
        /// The pool is drained.
        Draining => "draining",
        /// The rate of the pool is used up.
        RateLimited => "rate_limited",
        /// There is no such process, or the alias was revoked.
        NoProcess => "no_process",
    }
}

counted! {
    /// Who has replaced a state that failed.
    RestartKind {
        /// A supervisor, by a new process.
        Supervisor => "supervisor",
        /// A pool, by a new worker.
        Pool => "pool",
        /// The process itself, by a fresh state (rule S10).
        InPlace => "in_place",
    }
}

impl ReasonKind {
    /// Returns whether an end of this kind is a failure: all but `Normal` and `Shutdown` are; see
    /// [`Reason::is_abnormal`].
    #[must_use]
    pub const fn is_abnormal(self) -> bool {
        !matches!(self, ReasonKind::Normal | ReasonKind::Shutdown)
    }
}

impl Reason {
    /// Returns the kind of the reason.
    #[must_use]
    pub const fn kind(&self) -> ReasonKind {
        match self {
            Reason::Normal => ReasonKind::Normal,
            Reason::Shutdown | Reason::ShutdownWith(_) => ReasonKind::Shutdown,
            Reason::Kill => ReasonKind::Kill,
            Reason::Killed => ReasonKind::Killed,
            Reason::NoProcess => ReasonKind::NoProcess,
            Reason::NoConnection => ReasonKind::NoConnection,
            Reason::Panic(_) => ReasonKind::Panic,
            Reason::Error(_) => ReasonKind::Error,
        }
    }
}

impl<M> SendError<M> {
    /// Returns the cause under which a node counts this refusal. `None` if it is counted under
    /// none: the sender could not wait, or has waited, or the types do not fit.
    #[must_use]
    pub const fn refusal(&self) -> Option<RefusalCause> {
        match self {
            SendError::Full { .. } => Some(RefusalCause::Full),
            SendError::NoWorkers { .. } => Some(RefusalCause::NoWorkers),
            SendError::Draining { .. } => Some(RefusalCause::Draining),
            SendError::RateLimited { .. } => Some(RefusalCause::RateLimited),
            SendError::NoProcess { .. } | SendError::Revoked { .. } => {
                Some(RefusalCause::NoProcess)
            }
            _ => None,
        }
    }
}

impl DeadLetterCause {
    /// All causes, each at the place of its number.
    pub const ALL: &[Self] = &[
        DeadLetterCause::NoProcess,
        DeadLetterCause::Unhandled,
        DeadLetterCause::Overflow,
        DeadLetterCause::Revoked,
        DeadLetterCause::Expired,
        DeadLetterCause::Undecodable,
        DeadLetterCause::NoConnection,
        DeadLetterCause::LateResult,
    ];

    /// Returns the name of the cause: lower case, with underscores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            DeadLetterCause::NoProcess => "no_process",
            DeadLetterCause::Unhandled => "unhandled",
            DeadLetterCause::Overflow => "overflow",
            DeadLetterCause::Revoked => "revoked",
            DeadLetterCause::Expired => "expired",
            DeadLetterCause::Undecodable => "undecodable",
            DeadLetterCause::NoConnection => "no_connection",
            DeadLetterCause::LateResult => "late_result",
        }
    }
}

/// Sums of the counters of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct MessageTotals {
    /// How many messages they have received: see `ProcessInfo::messages_in`.
    pub messages_in: u64,
    /// How many messages they have sent that were not given back: see `ProcessInfo::messages_out`.
    pub messages_out: u64,
    /// How many messages they have handled: see `ProcessInfo::handled`.
    pub handled: u64,
}

impl MessageTotals {
    /// Creates the sums of one process.
    #[must_use]
    pub const fn new(messages_in: u64, messages_out: u64, handled: u64) -> Self {
        MessageTotals { messages_in, messages_out, handled }
    }

    /// Adds other sums.
    pub const fn add(&mut self, other: &MessageTotals) {
        self.messages_in = self.messages_in.saturating_add(other.messages_in);
        self.messages_out = self.messages_out.saturating_add(other.messages_out);
        self.handled = self.handled.saturating_add(other.handled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Panic, Pid};
    use std::sync::Arc;

    #[test]
    fn v32_every_kind_of_reason_has_a_name_and_a_number() {
        let panic = Reason::Panic(Arc::new(Panic::new("p".to_owned(), None)));
        let reasons = [
            (Reason::Normal, "normal"),
            (Reason::Shutdown, "shutdown"),
            (Reason::shutdown("s"), "shutdown"),
            (Reason::Killed, "killed"),
            (Reason::Kill, "kill"),
            (panic, "panic"),
            (Reason::error("e"), "error"),
            (Reason::NoProcess, "noproc"),
            (Reason::NoConnection, "noconnection"),
        ];
        for (reason, name) in reasons {
            assert_eq!(reason.kind().to_string(), name);
        }
        for (place, kind) in ReasonKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place);
        }
        for (place, cause) in DeadLetterCause::ALL.iter().enumerate() {
            assert_eq!(*cause as usize, place);
        }
        let counts = ReasonKind::counts(&[7, 8]);
        assert_eq!((counts.len(), counts[&ReasonKind::Shutdown]), (8, 8));
        assert_eq!(counts[&ReasonKind::NoConnection], 0);
    }

    #[test]
    fn v32_refusals_have_the_cause_that_their_senders_see() {
        let to = Pid::local(1, 1);
        let causes = [
            SendError::Full { message: (), to },
            SendError::NoWorkers { message: (), to },
            SendError::Draining { message: (), to },
            SendError::RateLimited { message: (), to, retry_after: std::time::Duration::ZERO },
            SendError::NoProcess { message: (), to },
        ]
        .map(|error| error.refusal());
        assert_eq!(
            causes.to_vec(),
            RefusalCause::ALL.iter().copied().map(Some).collect::<Vec<_>>()
        );
        assert_eq!(SendError::OwnMailbox { message: (), to }.refusal(), None);
        let names: Vec<_> = RefusalCause::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["full", "no_workers", "draining", "rate_limited", "no_process"]);
        let names: Vec<_> = RestartKind::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["supervisor", "pool", "in_place"]);
    }
}
