//! Starting the node's threads.

use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Runs a thread that runs the user's code within whatever context that needs (a tokio
/// runtime).
pub(crate) type Around = Arc<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

/// Starts a thread. A name may hold what a thread's must not: a NUL byte.
pub(crate) fn start(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.replace('\0', "?")).spawn(run)
}
