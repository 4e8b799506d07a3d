//! The command line.

use lexopt::{Arg, Parser, ValueExt};
use std::fmt::Display;
use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
An HTTP service on a supervised pool of workers that counts words.

Usage: gateway [--listen ADDRESS:PORT] [--workers N] [--mailbox N] [--timeout MS] [--rate N]
               [--observe ADDRESS:PORT] [--demo SECONDS]

  --listen ADDRESS:PORT  where to serve (127.0.0.1:8080; with --demo, a free port)
  --workers N            workers of the pool, 1 to 1024 (8)
  --mailbox N            jobs that may wait at each worker, 1 to 100000 (32; with --demo, 4)
  --timeout MS           how long a job may take, waiting included, 1 to 60000 (5000)
  --rate N               jobs that the pool takes in a second, 1 to 1000000 (any number; with --demo, 2500)
  --observe ADDRESS:PORT where to show the node to browsers, Prometheus and probes (nowhere); actions
                         need the token in KRARUP_OBSERVER_TOKEN, 32 to 256 visible characters
  --demo SECONDS         serve under a load of its own for so long, 1 to 3600
  --help                 print this

Routes:
  POST /words?delay_ms=N counts the words of the body; N stands for slow work
  GET  /top?n=N          the most frequent words so far
  GET  /health           whether the parts work, from their own answers
  GET  /tree             the processes
";

/// How the service is to run.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The address to serve on; port 0 is any free one.
    pub(crate) listen: SocketAddr,
    /// Workers of the pool.
    pub(crate) workers: usize,
    /// Jobs that may wait at each worker.
    pub(crate) mailbox: usize,
    /// How long a job may take, waiting included.
    pub(crate) timeout: Duration,
    /// The jobs that the pool takes in a second, if that is limited.
    pub(crate) rate: Option<u32>,
    /// The address of the observer, if there is to be one.
    pub(crate) observe: Option<SocketAddr>,
    /// How long to serve under a generated load, if the command line asks for that.
    pub(crate) demo: Option<Duration>,
}

impl Options {
    /// How many jobs may wait in the pool.
    pub(crate) fn capacity(&self) -> usize {
        self.workers * self.mailbox
    }
}

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Asked {
    /// To run.
    Run(Options),
    /// To explain itself.
    Help,
}

/// Reads the command line; an error names the flag and the value.
pub(crate) fn parse(mut parser: Parser) -> Result<Asked, lexopt::Error> {
    let (mut listen, mut mailbox, mut rate) = (None, None, None);
    let mut options = Options {
        listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
        workers: 8,
        mailbox: 32,
        timeout: Duration::from_secs(5),
        rate: None,
        observe: None,
        demo: None,
    };
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("listen") => listen = Some(address(&mut parser, "listen")?),
            Arg::Long("observe") => options.observe = Some(address(&mut parser, "observe")?),
            Arg::Long("workers") => options.workers = number(&mut parser, "workers", 1..=1024)?,
            Arg::Long("mailbox") => mailbox = Some(number(&mut parser, "mailbox", 1..=100_000)?),
            Arg::Long("timeout") => {
                options.timeout =
                    Duration::from_millis(number(&mut parser, "timeout", 1..=60_000)?);
            }
            Arg::Long("rate") => rate = Some(number(&mut parser, "rate", 1..=1_000_000)?),
            Arg::Long("demo") => {
                let seconds = number(&mut parser, "demo", 1..=3600)?;
                options.demo = Some(Duration::from_secs(seconds));
                // By default, a demonstration must not depend on a certain port being
                // free, and its pool must fill up with only as many clients as any machine
                // has file descriptors for.
                options.listen.set_port(0);
                options.mailbox = 4;
                // More than the demonstration's clients send, except in a rush.
                options.rate = Some(2_500);
            }
            Arg::Long("help") | Arg::Short('h') => return Ok(Asked::Help),
            other => return Err(other.unexpected()),
        }
    }
    options.listen = listen.unwrap_or(options.listen);
    options.mailbox = mailbox.unwrap_or(options.mailbox);
    options.rate = rate.or(options.rate);
    Ok(Asked::Run(options))
}

fn number<T>(parser: &mut Parser, flag: &str, range: RangeInclusive<T>) -> Result<T, lexopt::Error>
where
    T: FromStr + PartialOrd + Display,
{
    let value = parser.value()?.string()?;
    value.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        format!(
            "--{flag} {value:?} is not a whole number from {} to {}",
            range.start(),
            range.end()
        )
        .into()
    })
}

fn address(parser: &mut Parser, flag: &str) -> Result<SocketAddr, lexopt::Error> {
    let text = parser.value()?.string()?;
    let found = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| {
        format!("--{flag} {text:?} is not an address and a port, like 127.0.0.1:8080").into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(args: &[&str]) -> String {
        parse(Parser::from_args(args)).expect_err("a bad command line").to_string()
    }

    #[test]
    fn a_bad_value_is_named() {
        assert_eq!(
            error(&["--workers", "0"]),
            "--workers \"0\" is not a whole number from 1 to 1024"
        );
        assert_eq!(error(&["--rate", "0"]), "--rate \"0\" is not a whole number from 1 to 1000000");
        assert_eq!(error(&["--demo=x"]), "--demo \"x\" is not a whole number from 1 to 3600");
        assert!(error(&["--listen", "here"]).contains("\"here\""));
        assert!(error(&["--observe", "there"]).starts_with("--observe \"there\""));
        assert!(error(&["--wrokers", "1"]).contains("wrokers"));
    }

    #[test]
    fn a_demo_takes_a_free_port_unless_one_is_given() {
        let listen = |args: &[&str]| match parse(Parser::from_args(args)) {
            Ok(Asked::Run(options)) => options.listen.port(),
            other => panic!("{other:?}"),
        };
        assert_eq!(listen(&[]), 8080);
        assert_eq!(listen(&["--demo", "1"]), 0);
        assert_eq!(listen(&["--listen", "127.0.0.1:99", "--demo", "1"]), 99);
    }
}
