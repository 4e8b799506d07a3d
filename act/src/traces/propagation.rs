//! What a node is set up with for traces: the sampler, and the ties of its spans to another
//! system.

use super::trace_context::TraceContext;
use krarup_gen::Timestamp;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;
use tracing::Span;

/// Decides where a trace begins: at each message that a process takes and that belongs to no
/// trace. Off by default, because a message in a trace costs a box and its handling a span.
///
/// ```
/// # mod krarup { pub use krarup_act as observe; }
/// use krarup::observe::TraceSampler;
///
/// let sampler = TraceSampler::ratio(0.01)?;
/// assert!(TraceSampler::ratio(1.5).is_err());
/// # let _ = sampler;
/// # Ok::<(), krarup_act::TraceSamplerError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TraceSampler(Rule);

#[derive(Clone, Debug, Default)]
enum Rule {
    #[default]
    Off,
    /// The messages whose random number is below this.
    Below(u64),
    PerSecond(u32, Arc<Mutex<Second>>),
}

/// The second of the node's time in which traces were begun last, and their number.
#[derive(Debug, Default)]
struct Second {
    number: u64,
    begun: u32,
}

/// Why there is no such sampler.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TraceSamplerError {
    /// The ratio is not from 0 to 1.
    #[error("a ratio of {0} is not from 0 to 1")]
    Ratio(f64),
}

impl TraceSampler {
    /// Begins no trace; those that are brought along are continued.
    #[must_use]
    pub fn off() -> Self {
        TraceSampler::default()
    }

    /// Begins a trace at this part of the messages, 0 to 1. In a simulation the seed chooses.
    ///
    /// # Errors
    /// [`TraceSamplerError::Ratio`] for any other number.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a ratio of all numbers; the cast saturates"
    )]
    pub fn ratio(ratio: f64) -> Result<Self, TraceSamplerError> {
        if !(0.0..=1.0).contains(&ratio) {
            return Err(TraceSamplerError::Ratio(ratio));
        }
        let below = (ratio * u64::MAX as f64) as u64;
        Ok(TraceSampler(if below == 0 { Rule::Off } else { Rule::Below(below) }))
    }

    /// Begins so many traces in each second, at the first messages of that second. Clones of it
    /// count together.
    #[must_use]
    pub fn per_second(traces: u32) -> Self {
        TraceSampler(if traces == 0 { Rule::Off } else { Rule::PerSecond(traces, Arc::default()) })
    }

    /// Whether it begins no trace.
    #[must_use]
    pub fn is_off(&self) -> bool {
        matches!(self.0, Rule::Off)
    }

    /// Whether a trace begins here.
    pub(crate) fn samples(&self, random: impl FnOnce() -> u64, now: Timestamp) -> bool {
        match &self.0 {
            Rule::Off => false,
            Rule::Below(u64::MAX) => true,
            Rule::Below(below) => random() < *below,
            Rule::PerSecond(traces, second) => {
                let number = now.as_nanos() / 1_000_000_000;
                let mut second = second.lock();
                if second.number != number {
                    *second = Second { number, begun: 0 };
                }
                let begins = second.begun < *traces;
                second.begun += u32::from(begins);
                begins
            }
        }
    }
}

/// Ties the spans of messages to those of another system, as OpenTelemetry. Its methods run on
/// the threads that send and handle messages.
pub trait SpanTies: Send + Sync {
    /// A span begins, below `parent` and linked with `link`. Returns the ids that the other
    /// system has given to it, which messages then carry; `None` keeps those of this node.
    fn begin(
        &self,
        span: &Span,
        parent: Option<&TraceContext>,
        link: Option<&TraceContext>,
    ) -> Option<TraceContext>;
}

/// How a node treats traces. Contexts that are brought along ([`TraceContext::enter`]) travel
/// without it.
#[derive(Clone, Default)]
pub struct Propagation {
    sampler: TraceSampler,
    ties: Option<Arc<dyn SpanTies>>,
}

impl Propagation {
    /// The default: begins no trace, and ties spans to nothing.
    #[must_use]
    pub fn new() -> Self {
        Propagation::default()
    }

    /// Sets the sampler of the processes of this node that set none themselves.
    #[must_use]
    pub fn sampler(mut self, sampler: TraceSampler) -> Self {
        self.sampler = sampler;
        self
    }

    /// Ties the spans to another system.
    #[must_use]
    pub fn ties(mut self, ties: impl SpanTies + 'static) -> Self {
        self.ties = Some(Arc::new(ties));
        self
    }

    pub(crate) fn node_sampler(&self) -> &TraceSampler {
        &self.sampler
    }

    pub(crate) fn tied_to(&self) -> Option<Arc<dyn SpanTies>> {
        self.ties.clone()
    }
}

impl fmt::Debug for Propagation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Propagation")
            .field("sampler", &self.sampler)
            .field("ties", &self.ties.is_some())
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_sampler_by_second_begins_so_many_in_each() {
        let sampler = TraceSampler::per_second(2);
        let at = |ms| Timestamp::ZERO + Duration::from_millis(ms);
        let sampled: Vec<_> = [0, 1, 2, 999, 1000, 1001, 1002, 5000]
            .map(|ms| sampler.clone().samples(|| 0, at(ms)))
            .into();
        assert_eq!(sampled, [true, true, false, false, true, true, false, true]);
    }

    #[test]
    fn a_ratio_is_a_part_of_all_numbers() {
        let half = TraceSampler::ratio(0.5).unwrap();
        assert!(half.samples(|| u64::MAX / 4, Timestamp::ZERO));
        assert!(!half.samples(|| u64::MAX / 4 * 3, Timestamp::ZERO));
        assert!(TraceSampler::ratio(1.0).unwrap().samples(|| u64::MAX, Timestamp::ZERO));
        assert!(TraceSampler::ratio(0.0).unwrap().is_off());
        assert_eq!(
            TraceSampler::ratio(-0.1).unwrap_err().to_string(),
            "a ratio of -0.1 is not from 0 to 1"
        );
        assert!(TraceSampler::ratio(f64::NAN).is_err());
    }
}
