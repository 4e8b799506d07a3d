//! Starting the node's threads.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread. A name may hold what a thread's must not: a NUL byte.
pub(crate) fn start(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.replace('\0', "?")).spawn(run)
}
