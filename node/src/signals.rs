//! The signals that ask a program to stop (rule X16).

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, Write};
use std::process;
#[cfg(unix)]
use std::task::Poll;
use std::time::{Duration, Instant};

/// For how long the same signal is no request of its own.
const REPEAT: Duration = Duration::from_secs(1);

/// The signals that ask a program to stop: `SIGINT` (Ctrl-C) and `SIGTERM`; on Windows Ctrl-C.
///
/// From [`Signals::new`] on a signal does not end the program. One that comes while nobody waits for it is kept, so it is
/// made before what it is to stop. It needs a tokio runtime with I/O.
///
/// The same signal again within a second is no second request, and is left out: GNU `timeout` sends one to the program and then
/// to its process group, so it comes twice within a millisecond.
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
    since: Instant,
    repeats: SignalRepeats,
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
        Ok(Signals {
            interrupt,
            terminate,
            since: Instant::now(),
            repeats: SignalRepeats::default(),
        })
    }

    /// Catches the signals from now on.
    ///
    /// # Errors
    /// The system refuses it.
    #[cfg(windows)]
    pub fn new() -> io::Result<Self> {
        let interrupt = tokio::signal::windows::ctrl_c()?;
        Ok(Signals { interrupt, since: Instant::now(), repeats: SignalRepeats::default() })
    }

    /// Waits for the next signal, and returns its name. Dropping the future loses none. One that has come within a second of
    /// the same one before is left out.
    pub async fn next(&mut self) -> &'static str {
        loop {
            let signal = self.any().await;
            if !self.repeats.is_repeat(signal, self.since.elapsed()) {
                return signal;
            }
        }
    }

    async fn any(&mut self) -> &'static str {
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
    /// stop: who asks a second time, a second later or by the other signal, does not want to wait.
    pub async fn exit_at_the_next(mut self) {
        let signal = self.next().await;
        // Who reads this may have ended at the same signal.
        let _ = writeln!(io::stderr(), "{signal} again; ending now");
        process::exit(1);
    }
}

/// Which signals are requests of their own, by the times at which they were seen.
#[derive(Default)]
struct SignalRepeats {
    /// When each signal was told last.
    told: BTreeMap<&'static str, Duration>,
}

impl SignalRepeats {
    /// Whether a signal that is seen now is the last one again. One that is none is told. A repeat does not extend the time.
    fn is_repeat(&mut self, signal: &'static str, now: Duration) -> bool {
        let is_repeat = self.told.get(signal).is_some_and(|told| now < *told + REPEAT);
        if !is_repeat {
            self.told.insert(signal, now);
        }
        is_repeat
    }
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signals")
    }
}

#[cfg(all(test, unix, not(loom)))]
mod tests {
    use super::{SignalRepeats, Signals};
    use std::pin::pin;
    use std::process::{Command, id};
    use std::task::{Context, Waker};
    use std::time::Duration;

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

    #[test]
    fn x16_the_same_signal_within_a_second_is_no_request_of_its_own() {
        let mut repeats = SignalRepeats::default();
        let mut told = |signal, millis| !repeats.is_repeat(signal, Duration::from_millis(millis));
        assert!(told("SIGTERM", 500));
        assert!(!told("SIGTERM", 500));
        assert!(!told("SIGTERM", 501));
        // The other one is.
        assert!(told("SIGINT", 502));
        assert!(!told("SIGINT", 503));
        // A repeat does not extend the time.
        assert!(!told("SIGTERM", 1_499));
        assert!(told("SIGTERM", 1_500));
        assert!(!told("SIGTERM", 2_499));
        assert!(!told("SIGINT", 1_501));
        assert!(told("SIGINT", 9_000));
    }
}
