//! The signals that ask a program to stop (rule X16).

use std::fmt;
use std::future::poll_fn;
use std::io::{self, Write};
use std::process;
#[cfg(unix)]
use std::task::Poll;

/// The signals that ask a program to stop: `SIGINT` (Ctrl-C) and `SIGTERM`; on Windows Ctrl-C.
///
/// From [`Signals::new`] on a signal does not end the program. One that comes while nobody waits for it is kept, so it is
/// made before what it is to stop. It needs a tokio runtime with I/O.
///
/// ```
/// # use krarup_gen::Result;
/// # use krarup_node::{Node, Signals};
/// use tokio::runtime::Handle;
///
/// # async fn start(_: &Node) -> Result { Ok(()) }
/// // The body of an async `main`.
/// async fn run() -> Result {
///     let mut signals = Signals::new()?;
///     let node = Node::builder("shop@localhost").tokio(Handle::current());
///     node.run_async(async |node| {
///         start(node).await?;
///         println!("{}: stopping", signals.next().await);
///         // The node stops now. Asked a second time, the program ends at once.
///         tokio::spawn(signals.exit_at_the_next());
///         Ok(())
///     })
///     .await
/// }
/// # let _ = run;
/// ```
pub struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
}

impl Signals {
    /// Catches the signals from now on.
    ///
    /// # Errors
    /// The system refuses it.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O.
    #[cfg(unix)]
    pub fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Signals { interrupt, terminate })
    }

    /// Catches the signals from now on.
    ///
    /// # Errors
    /// The system refuses it.
    #[cfg(windows)]
    pub fn new() -> io::Result<Self> {
        Ok(Signals { interrupt: tokio::signal::windows::ctrl_c()? })
    }

    /// Waits for the next signal, and returns its name. Dropping the future loses none.
    pub async fn next(&mut self) -> &'static str {
        poll_fn(|cx| {
            #[cfg(unix)]
            if self.terminate.poll_recv(cx).is_ready() {
                return Poll::Ready("SIGTERM");
            }
            self.interrupt.poll_recv(cx).map(|_| if cfg!(unix) { "SIGINT" } else { "Ctrl-C" })
        })
        .await
    }

    /// Ends the program at the next signal with the exit code 1, whatever is under way. For a task beside an orderly
    /// stop: who asks a second time does not want to wait.
    pub async fn exit_at_the_next(mut self) {
        let signal = self.next().await;
        // Who reads this may have ended at the same signal.
        let _ = writeln!(io::stderr(), "{signal} again; ending now");
        process::exit(1);
    }
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signals")
    }
}

#[cfg(all(test, unix, not(loom)))]
mod tests {
    use super::Signals;
    use std::pin::pin;
    use std::process::{Command, id};
    use std::task::{Context, Waker};

    fn kill(signal: &str) {
        let status = Command::new("kill").args([signal, &id().to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()));
    }

    #[test]
    fn x16_signals_are_told_by_name_and_kept_until_somebody_waits() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async {
            let mut signals = Signals::new().unwrap();
            {
                // A wait that is given up.
                let mut given_up = pin!(signals.next());
                assert!(
                    given_up.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
                );
            }
            kill("-INT");
            assert_eq!(signals.next().await, "SIGINT");
            kill("-TERM");
            assert_eq!(signals.next().await, "SIGTERM");
            assert_eq!(format!("{signals:?}"), "Signals");
        });
    }
}
