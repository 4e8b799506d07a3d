//! What the system reports of the sockets, and whom it wakes.

use crate::readiness::{DirectionReport, Readiness};
use crate::sources::{Sources, WAKE_UP};
use krarup_act::{Selection, wake_polled};
use mio::event::Event;
use mio::{Events, Poll as Selector, Registry, Token, Waker as Wakeup};
use parking_lot::Mutex;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// The most events that are taken from the system at once.
const EVENTS: usize = 1024;

/// The open sockets; `None` after the thread has failed.
#[derive(Clone)]
pub(crate) struct OpenSockets(Arc<Mutex<Option<Sources>>>);

impl OpenSockets {
    pub(crate) fn new() -> Self {
        OpenSockets(Arc::new(Mutex::new(Some(Sources::new()))))
    }

    /// Whether the thread is running.
    pub(crate) fn are_served(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Adds a socket, unless the thread has failed.
    pub(crate) fn add(&self, readiness: Arc<Readiness>) -> Option<Token> {
        Some(self.0.lock().as_mut()?.add(readiness))
    }

    pub(crate) fn forget(&self, token: Token) {
        let forgotten = self.0.lock().as_mut().and_then(|sources| sources.remove(token));
        drop(forgotten);
    }

    /// Marks all sockets as lost and wakes the processes that wait for them.
    pub(crate) fn lose(&self) {
        let sources = self.0.lock().take();
        let mut wakers = Vec::new();
        for readiness in sources.iter().flat_map(Sources::all) {
            readiness.lose(&mut wakers);
        }
        wake_polled(wakers);
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.0.lock().as_ref().map_or(0, |sources| sources.all().count())
    }
}

/// The wait for them.
pub(crate) struct SocketSelection {
    selector: Selector,
    events: Events,
    sockets: OpenSockets,
}

impl SocketSelection {
    /// Returns it with what registers sockets, and what ends a wait.
    pub(crate) fn new(sockets: OpenSockets) -> io::Result<(Self, Registry, Wakeup)> {
        let selector = Selector::new()?;
        let wakeup = Wakeup::new(selector.registry(), WAKE_UP)?;
        let registry = selector.registry().try_clone()?;
        let events = Events::with_capacity(EVENTS);
        Ok((SocketSelection { selector, events, sockets }, registry, wakeup))
    }
}

impl Selection for SocketSelection {
    fn select(&mut self, limit: Option<Duration>, woken: &mut Vec<Waker>) -> io::Result<()> {
        match self.selector.poll(&mut self.events, limit) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        }
        if let Some(sources) = &*self.sockets.0.lock() {
            for event in &self.events {
                if let Some(readiness) = sources.of(event.token()) {
                    tell(readiness, event, woken);
                }
            }
        }
        Ok(())
    }
}

fn tell(readiness: &Readiness, event: &Event, woken: &mut Vec<Waker>) {
    // An error or a hang-up is returned by the next try, in either direction.
    let failed = event.is_error();
    let reads = DirectionReport {
        ready: event.is_readable(),
        ended: event.is_read_closed() || event.is_priority() || failed,
    };
    let writes =
        DirectionReport { ready: event.is_writable(), ended: event.is_write_closed() || failed };
    readiness.tell(reads, writes, woken);
}
