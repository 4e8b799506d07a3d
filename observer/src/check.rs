//! The checks of a program: what is asked, how long the answer may take, what it means.

use krarup_gen::Inspection;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It works.
    Ok,
    /// It works, but less well than it should: the text says why.
    Degraded(String),
    /// It does not work: the text says why.
    Down(String),
}

/// Judges an inspection.
pub(crate) type Judge = Arc<dyn Fn(&Inspection) -> Health + Send + Sync>;

/// A check of a process: it is inspected, and its answer is judged.
///
/// The process that has the name at that moment is asked, so a restarted one counts. Without
/// [`Check::judge`], no answer in time is down, a supervisor without some of its children and a
/// pool without some of its workers are degraded, and a pool without any is down.
///
/// ```
/// # use krarup_observer::{Check, Health};
/// # use std::time::Duration;
/// let check = Check::inspect("queue").ready().timeout(Duration::from_millis(200));
/// let check = check.judge(|queue| match queue.number("waiting") {
///     Some(waiting) if waiting < 1000 => Health::Ok,
///     Some(waiting) => Health::Degraded(format!("{waiting} wait")),
///     None => Health::Down("it does not say how many wait".to_owned()),
/// });
/// ```
#[derive(Clone)]
pub struct Check {
    pub(crate) process: String,
    pub(crate) ready: bool,
    pub(crate) live: bool,
    pub(crate) timeout: Duration,
    pub(crate) judge: Option<Judge>,
}

impl Check {
    /// Checks the process with this name. The check is called `process:NAME`.
    pub fn inspect(name: impl Into<String>) -> Self {
        Check {
            process: name.into(),
            ready: false,
            live: false,
            timeout: Duration::from_secs(1),
            judge: None,
        }
    }

    /// The program is not ready while this is down: `/readyz`.
    #[must_use]
    pub fn ready(mut self) -> Self {
        self.ready = true;
        self
    }

    /// The program should be restarted while this is down: `/livez`.
    #[must_use]
    pub fn live(mut self) -> Self {
        self.live = true;
        self
    }

    /// Sets how long the answer may take, 1 ms to 10 s. The default is 1 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets what an answer means. A judge that panics makes the check down.
    #[must_use]
    pub fn judge(mut self, judge: impl Fn(&Inspection) -> Health + Send + Sync + 'static) -> Self {
        self.judge = Some(Arc::new(judge));
        self
    }

    pub(crate) fn name(&self) -> String {
        format!("process:{}", self.process)
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check")
            .field("process", &self.process)
            .field("ready", &self.ready)
            .field("live", &self.live)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
