//! The signals that ask a service to stop.

use std::io;

/// `SIGINT` and `SIGTERM`; Ctrl-C on other systems than Unix.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// Catches the signals from now on.
    #[cfg(unix)]
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Signals { interrupt, terminate })
    }

    /// Catches the signals from now on.
    #[cfg(not(unix))]
    #[allow(clippy::unnecessary_wraps, reason = "on Unix it can fail")]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Signals {})
    }

    /// Waits for a signal and returns its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
        #[cfg(not(unix))]
        {
            let _ = tokio::signal::ctrl_c().await;
            "Ctrl-C"
        }
    }

    /// Ends the program at the next signal, whatever is under way.
    pub(crate) async fn exit_at_the_next(mut self) {
        let signal = self.next().await;
        eprintln!("{signal} again; ending now");
        std::process::exit(1);
    }
}
