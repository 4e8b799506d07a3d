//! Waiting until what was published has been handled (rule E10).

use crate::calls::pending::wait;
use crate::calls::slot::SlotReceiver;
use crate::host::host::Host;
use krarup_gen::CannotWait;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A future that is ready when all events have been handled or missed; made by
/// [`Publisher::settled`](crate::Publisher::settled).
#[must_use = "futures do nothing unless polled"]
pub struct Settling {
    host: Arc<dyn Host>,
    told: SlotReceiver<()>,
}

impl Settling {
    pub(crate) fn new(host: Arc<dyn Host>, told: SlotReceiver<()>) -> Self {
        Settling { host, told }
    }

    /// Waits on a plain thread.
    ///
    /// # Errors
    /// [`CannotWait`]: the thread runs a process or an async runtime, or the simulation has
    /// nothing left to do.
    pub fn wait(self) -> Result<(), CannotWait> {
        let Settling { host, told } = self;
        wait(&*host, told).map(|_| ())
    }
}

impl Future for Settling {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // The last mark is dropped without a value.
        Pin::new(&mut self.told).poll(cx).map(|_| ())
    }
}

impl fmt::Debug for Settling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Settling(..)")
    }
}
