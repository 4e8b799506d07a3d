//! Real nodes of Erlang/OTP, where `erl` is found; elsewhere the tests say that it is not.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The cookie of all nodes.
pub(crate) const COOKIE: &str = "secret";

/// A node of OTP that runs a script, and is killed when the test ends.
pub(crate) struct Otp {
    child: Child,
    lines: BufReader<ChildStdout>,
    /// What the script reads, if it does.
    input: Option<ChildStdin>,
    pub(crate) name: String,
    /// Its release, such as 25.
    pub(crate) release: u32,
}

impl Drop for Otp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A name that no other run of these tests has.
pub(crate) fn fresh(label: &str) -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("krarup_{label}_{}_{number}@127.0.0.1", std::process::id())
}

/// What every script has: `Show` prints a term in a line, `Try` catches what a function raises.
const BEGIN: &str = "
    logger:set_primary_config(level, none),
    Show = fun(X) -> io:format(\"~0p~n\", [X]) end,
    Try = fun(F) -> try F() catch C:R -> {C, R} end end,
    Show(list_to_integer(erlang:system_info(otp_release))), ";

impl Otp {
    /// Starts a node with this script, whose variables begin with these texts; `None`, said aloud, if
    /// there is no `erl`. A script that fails ends its node.
    pub(crate) fn start(label: &str, variables: &[(&str, &str)], script: &str) -> Option<Otp> {
        Otp::with_input(label, variables, script, ("-noinput", Stdio::null()))
    }

    /// As [`Otp::start`], with a script that reads lines.
    pub(crate) fn reading(label: &str, script: &str) -> Option<Otp> {
        Otp::with_input(label, &[], script, ("-noshell", Stdio::piped()))
    }

    fn with_input(
        label: &str,
        variables: &[(&str, &str)],
        script: &str,
        (input, stdin): (&str, Stdio),
    ) -> Option<Otp> {
        let name = fresh(label);
        let assigned = |(variable, text): &(&str, &str)| [*variable, " = '", *text, "', "].concat();
        let variables = variables.iter().map(assigned).collect::<String>();
        let script = format!("{BEGIN}{variables}{script}.");
        let started = Command::new("erl")
            .args([input, "-name", &name, "-setcookie", COOKIE])
            .args(["-kernel", "net_ticktime", "8", "-eval", &script])
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = started else {
            eprintln!("erl is not here: nothing was tested against OTP");
            return None;
        };
        let lines = BufReader::new(child.stdout.take().unwrap());
        let input = child.stdin.take();
        let mut otp = Otp { child, lines, input, name, release: 0 };
        otp.release = otp.line().parse().unwrap();
        Some(otp)
    }

    /// A node that waits.
    pub(crate) fn idle(label: &str) -> Option<Otp> {
        Otp::start(label, &[], "receive never -> ok end")
    }

    /// Has the script read a line.
    pub(crate) fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it reads");
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    /// The next line that the script prints.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).unwrap();
        assert!(read > 0, "the script on {} has ended", self.name);
        line.trim_end().to_owned()
    }

    /// The lines up to `over`.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match self.line() {
                line if line == "over" => return lines,
                line => lines.push(line),
            }
        }
    }
}
