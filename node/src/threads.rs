//! Starting the node's threads.

use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Runs a thread that runs the user's code within whatever context that needs (a tokio
/// runtime).
pub(crate) type Around = Arc<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

/// Starts a thread. A name may hold what a thread's must not: a NUL byte.
pub(crate) fn start(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    start_with(name, None, run)
}

/// Starts a thread with a stack of so many bytes, or the standard library's default.
pub(crate) fn start_with(
    name: &str,
    stack_size: Option<usize>,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let thread = Builder::new().name(name.replace('\0', "?"));
    match stack_size {
        Some(bytes) => thread.stack_size(bytes).spawn(run),
        None => thread.spawn(run),
    }
}
