//! The traces of messages that clients have asked for, with numbers.
//!
//! At most [`MOST`] are kept. A new one takes the place of the oldest that has ended.

use crate::http::refusal::{Code, Refusal};
use krarup_act::{NodeView, TraceReader};
use krarup_gen::{Pid, TraceError, TraceLimits};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most traces that are kept.
pub(crate) const MOST: usize = 8;

/// The traces, by their numbers.
#[derive(Default)]
pub(crate) struct Traces {
    state: Mutex<KeptTraces>,
}

#[derive(Default)]
struct KeptTraces {
    last: u64,
    /// Without a reader: it is being started.
    readers: BTreeMap<u64, Option<Arc<TraceReader>>>,
}

impl Traces {
    /// Starts a trace. Returns its number.
    pub(crate) fn start(
        &self,
        view: &NodeView,
        pid: Pid,
        limits: TraceLimits,
    ) -> Result<u64, Refusal> {
        let number = self.reserve()?;
        // The start may run the process on this thread, so the traces are not locked.
        let started = view.trace(pid, limits);
        let mut state = self.state.lock();
        match started {
            Ok(reader) => {
                state.readers.insert(number, Some(Arc::new(reader)));
                Ok(number)
            }
            Err(error) => {
                state.readers.remove(&number);
                drop(state);
                let code = match error {
                    TraceError::NoProcess(_) => Code::NoProcess,
                    _ => Code::BadBody,
                };
                Err(Refusal::new(code, error.to_string()))
            }
        }
    }

    /// Takes a number, and a place for its reader.
    fn reserve(&self) -> Result<u64, Refusal> {
        let mut state = self.state.lock();
        let mut oldest = None;
        if state.readers.len() >= MOST {
            let ended = |reader: &Option<Arc<TraceReader>>| {
                reader.as_ref().is_some_and(|reader| reader.end().is_some())
            };
            let found = state.readers.iter().find(|(_, reader)| ended(reader));
            let Some(number) = found.map(|(number, _)| *number) else {
                return Err(Refusal::new(Code::TooManyTraces, format!("{MOST} traces run")));
            };
            oldest = state.readers.remove(&number);
        }
        state.last += 1;
        let number = state.last;
        state.readers.insert(number, None);
        drop(state);
        drop(oldest);
        Ok(number)
    }

    /// The trace of this number, if it is kept.
    pub(crate) fn of(&self, number: u64) -> Option<Arc<TraceReader>> {
        self.state.lock().readers.get(&number).cloned().flatten()
    }
}
