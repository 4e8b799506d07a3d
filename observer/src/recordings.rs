//! The recordings of turns that can be fetched.

use crate::http::refusal::{Code, Refusal};
use crate::http::route::PathNumber;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// The recordings that are kept.
const KEPT: usize = 4;
/// How long a GET waits for a recording, beyond the longest one.
const PATIENCE: Duration = Duration::from_secs(15);

/// The recordings of an observer.
#[derive(Default)]
pub(crate) struct Recordings {
    state: Mutex<FetchableTurns>,
}

#[derive(Default)]
struct FetchableTurns {
    last: u64,
    /// By number; the newest last.
    kept: VecDeque<(u64, watch::Receiver<Option<Bytes>>)>,
}

impl Recordings {
    /// Adds a recording. Returns its number, and where its events go when it is over.
    pub(crate) fn add(&self) -> (u64, watch::Sender<Option<Bytes>>) {
        let (rendered, is_rendered) = watch::channel(None);
        let mut state = self.state.lock();
        state.last += 1;
        let number = state.last;
        state.kept.push_back((number, is_rendered));
        if state.kept.len() > KEPT {
            state.kept.pop_front();
        }
        (number, rendered)
    }

    /// The events of a recording, when its time is over.
    pub(crate) async fn events(&self, number: PathNumber) -> Result<Bytes, Refusal> {
        let known = {
            let state = self.state.lock();
            let known = state.kept.iter().find(|(kept, _)| Ok(*kept) == number);
            known.map(|(_, rendered)| rendered.clone())
        };
        let none = || Refusal::new(Code::NoEntry, "there is no recording of this number");
        let mut rendered = known.ok_or_else(none)?;
        let waited = timeout(PATIENCE, rendered.wait_for(Option::is_some)).await;
        let late = || Refusal::new(Code::Timeout, "the recording is not over");
        // The runtime that recorded may have ended: the server was restarted.
        let rendered = waited.map_err(|_| late())?.map_err(|_| none())?;
        rendered.clone().ok_or_else(none)
    }
}
