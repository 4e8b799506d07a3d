//! The program's own metrics: they are written on a thread of their own, within a time.
//!
//! Collectors are code of the program: they may panic, fail, take long or never return. A scrape waits
//! for a limited time and then has the observer's families alone. However many scrape, there is one
//! thread at most: those who come while it runs wait for the same text.

use crate::limits::PROGRAM_METRICS;
use crate::metrics::program_failure::{MetricFailure, MetricFailures};
use crate::metrics::program_families::{FlawedFamily, ProgramFamilies, without_the_last};
use krarup_act::contain;
use krarup_gen::ThreadError;
use parking_lot::Mutex;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::timeout;

/// The name of the thread.
const THREAD: &str = "krarup-metrics";

/// The registries of the program.
#[derive(Clone, Default)]
pub(crate) struct ProgramRegistries(pub(crate) Vec<Arc<Registry>>);

impl fmt::Debug for ProgramRegistries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is registered is the program's, and so is its `Debug`.
        write!(f, "{} registries", self.0.len())
    }
}

/// The program's own metrics. They belong to no process of the observer, so they outlive its restarts.
pub(crate) struct ProgramMetrics {
    registries: Arc<[Arc<Registry>]>,
    last: Mutex<Option<SharedWriting>>,
    pub(crate) failures: MetricFailures,
}

/// A text that is being written, or was.
#[derive(Clone)]
struct SharedWriting {
    began: Instant,
    text: watch::Receiver<Option<Arc<str>>>,
}

impl SharedWriting {
    fn is_under_way(&self) -> bool {
        self.text.borrow().is_none() && self.text.has_changed().is_ok()
    }
}

impl ProgramMetrics {
    pub(crate) fn new(registries: ProgramRegistries) -> Arc<Self> {
        Arc::new(ProgramMetrics {
            registries: registries.0.into(),
            last: Mutex::default(),
            failures: MetricFailures::default(),
        })
    }

    /// Returns the first family that cannot be served, of those that the registries show now. Blocks
    /// the thread for the limit at most.
    ///
    /// A collector that fails is no error: what it needs may start later.
    pub(crate) fn check(&self, limit: Duration) -> Result<Option<FlawedFamily>, ThreadError> {
        if self.registries.is_empty() {
            return Ok(None);
        }
        let (tell, told) = mpsc::sync_channel(1);
        self.write(move |families, failures| {
            let _ = tell.send((families, failures));
        })?;
        let Ok((mut families, failures)) = told.recv_timeout(limit) else {
            self.failures.add(&MetricFailure::Timeout(limit));
            return Ok(None);
        };
        failures.iter().for_each(|failure| self.failures.add(failure));
        Ok((!families.flawed.is_empty()).then(|| families.flawed.swap_remove(0)))
    }

    /// The text of the families that can be served, as far as there is one within the limit.
    pub(crate) async fn text(self: &Arc<Self>, limit: Duration) -> Arc<str> {
        if self.registries.is_empty() {
            return "".into();
        }
        let written = match self.writing() {
            Ok(mut writing) => {
                let left = limit.saturating_sub(writing.began.elapsed());
                let text = timeout(left, writing.text.wait_for(Option::is_some)).await;
                let text = text.ok().and_then(|text| text.ok()?.clone());
                text.ok_or(MetricFailure::Timeout(limit))
            }
            Err(error) => Err(MetricFailure::Thread(error)),
        };
        written.unwrap_or_else(|failure| {
            self.failures.add(&failure);
            "".into()
        })
    }

    /// The text that is being written, or a new one.
    fn writing(self: &Arc<Self>) -> Result<SharedWriting, ThreadError> {
        let mut last = self.last.lock();
        if let Some(writing) = last.as_ref().filter(|writing| writing.is_under_way()) {
            return Ok(writing.clone());
        }
        let (tell, text) = watch::channel(None);
        let program = Arc::clone(self);
        self.write(move |families, failures| {
            failures.iter().for_each(|failure| program.failures.add(failure));
            for flawed in families.flawed {
                program.failures.add(&MetricFailure::Family(flawed));
            }
            tell.send_replace(Some(families.text.into()));
        })?;
        Ok(last.insert(SharedWriting { began: Instant::now(), text }).clone())
    }

    /// Writes the families on a thread of their own, where collectors may block.
    fn write(
        &self,
        then: impl FnOnce(ProgramFamilies, Vec<MetricFailure>) + Send + 'static,
    ) -> Result<(), ThreadError> {
        let registries = Arc::clone(&self.registries);
        let write = move || {
            let (families, failures) = written(&registries);
            then(families, failures);
        };
        thread::Builder::new().name(THREAD.to_owned()).spawn(write)?;
        Ok(())
    }
}

/// Writes the registries one after the other: one that fails costs the others nothing.
fn written(registries: &[Arc<Registry>]) -> (ProgramFamilies, Vec<MetricFailure>) {
    let (mut families, mut failures) = (ProgramFamilies::default(), Vec::new());
    let mut room = PROGRAM_METRICS;
    for registry in registries {
        let mut text = LimitedWriter { text: String::new(), room, is_full: false };
        let failure = match contain(|| encode_registry(&mut text, registry)) {
            _ if text.is_full => Some(MetricFailure::TooLarge),
            Ok(Ok(())) => None,
            Ok(Err(fmt::Error)) => Some(MetricFailure::Error),
            Err(reason) => Some(MetricFailure::Panic(reason.to_string())),
        };
        let complete = if failure.is_some() { without_the_last(&text.text) } else { &text.text };
        families.add(complete);
        room -= complete.len();
        failures.extend(failure);
    }
    (families, failures)
}

/// A text that takes no more than it has room for.
struct LimitedWriter {
    text: String,
    room: usize,
    /// Whether something did not fit. A collector that goes on is told so each time.
    is_full: bool,
}

impl fmt::Write for LimitedWriter {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.is_full |= piece.len() > self.room - self.text.len();
        if self.is_full {
            return Err(fmt::Error);
        }
        self.text.push_str(piece);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::collector::Collector;
    use prometheus_client::encoding::DescriptorEncoder;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Returns when it is told to, and counts how often it was asked.
    #[derive(Debug)]
    struct WaitingCollector(Mutex<mpsc::Receiver<()>>, Arc<AtomicUsize>);

    impl Collector for WaitingCollector {
        fn encode(&self, _: DescriptorEncoder<'_>) -> fmt::Result {
            self.1.fetch_add(1, Ordering::SeqCst);
            self.0.lock().recv().map_err(|_| fmt::Error)
        }
    }

    #[test]
    fn v86_those_who_scrape_at_once_wait_for_the_same_text() {
        let (release, released) = mpsc::channel();
        let begun = Arc::new(AtomicUsize::new(0));
        let mut registry = Registry::default();
        registry.register("a", "A", prometheus_client::metrics::gauge::Gauge::<i64>::default());
        registry.register_collector(Box::new(WaitingCollector(
            Mutex::new(released),
            Arc::clone(&begun),
        )));
        let program = ProgramMetrics::new(ProgramRegistries(vec![Arc::new(registry)]));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let limit = Duration::from_secs(30);
        let (one, other, ()) = runtime.unwrap().block_on(async {
            // The first two are polled, so they wait, before the third lets the collector go.
            tokio::join!(biased; program.text(limit), program.text(limit), async {
                release.send(()).unwrap();
            })
        });
        assert!(Arc::ptr_eq(&one, &other) && one.starts_with("# HELP a A.\n"), "{one}");
        assert_eq!(begun.load(Ordering::SeqCst), 1);
        assert!(program.failures.counts().all(|(_, count)| count == 0));
    }
}
