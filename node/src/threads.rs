//! Starts the node's threads.
//!
//! The name of a thread is `<node>-<role>-<number>`; a worker's role is its dispatcher (rule
//! R3). Linux keeps 15 bytes of a name, which the node's name alone can fill. So for a longer
//! name `top`, `gdb` and `perf` show role and number, with `~` where the role was cut.

use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// The bytes that Linux keeps of a thread's name.
const SHOWN: usize = 15;

/// Runs user code on a thread within the context that it needs (a tokio runtime).
pub(crate) type Around = Arc<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

/// The name of a thread of a node.
#[derive(Clone, Copy)]
pub(crate) struct ThreadName<'a> {
    pub(crate) node: &'a str,
    pub(crate) role: &'a str,
    /// The number among several threads of this role.
    pub(crate) number: Option<u64>,
}

impl ThreadName<'_> {
    fn suffix(self) -> String {
        self.number.map_or(String::new(), |number| format!("-{number}"))
    }

    /// The full name. A part may contain a NUL byte, which a thread's name must not.
    fn full(self) -> String {
        format!("{}-{}{}", self.node, self.role, self.suffix()).replace('\0', "?")
    }

    /// The name for the system, if the full one is too long.
    fn short(self) -> Option<String> {
        if self.full().len() <= SHOWN {
            return None;
        }
        let (role, suffix) = (self.role.replace('\0', "?"), self.suffix());
        if role.len() + suffix.len() <= SHOWN {
            return Some(role + &suffix);
        }
        let room = SHOWN.saturating_sub(suffix.len() + 1);
        let end = (0..=room).rev().find(|end| role.is_char_boundary(*end)).unwrap_or(0);
        Some(format!("{}~{suffix}", &role[..end]))
    }
}

/// Starts a thread.
pub(crate) fn start(
    name: ThreadName<'_>,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    start_with(name, None, run)
}

/// Starts a thread with a stack of this many bytes, or of the standard library's default size.
pub(crate) fn start_with(
    name: ThreadName<'_>,
    stack_size: Option<usize>,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let short = name.short();
    let thread = Builder::new().name(name.full());
    let run = move || {
        short.iter().for_each(|short| show(short));
        run();
    };
    match stack_size {
        Some(bytes) => thread.stack_size(bytes).spawn(run),
        None => thread.spawn(run),
    }
}

/// Sets the name that the system shows for the running thread. If that fails, it shows the
/// beginning of the full name.
#[cfg(target_os = "linux")]
fn show(short: &str) {
    if !cfg!(miri) {
        let _ = std::fs::write("/proc/thread-self/comm", short);
    }
}

#[cfg(not(target_os = "linux"))]
fn show(_: &str) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_of_a_long_name_the_system_shows_role_and_number() {
        let name = |node, role, number| {
            let name = ThreadName { node, role, number };
            (name.full(), name.short())
        };
        let short = |short: &str| Some(short.to_owned());
        assert_eq!(name("shop", "default", Some(0)), ("shop-default-0".to_owned(), None));
        // 15 bytes, and 16.
        assert_eq!(name("shop", "default", Some(10)), ("shop-default-10".to_owned(), None));
        let hundred = ("shop-default-100".to_owned(), short("default-100"));
        assert_eq!(name("shop", "default", Some(100)), hundred);
        let short_of = |role, number| name("a-node@a-machine", role, number).1;
        assert_eq!(short_of("timer", None), short("timer"));
        assert_eq!(short_of("exactly-15-byte", None), short("exactly-15-byte"));
        assert_eq!(short_of("exactly-15-bytes", None), short("exactly-15-byt~"));
        assert_eq!(short_of("quarterly-reports", Some(7)), short("quarterly-re~-7"));
        assert_eq!(short_of("quarterly-reports", Some(1023)), short("quarterly~-1023"));
        // Not cut within a character.
        assert_eq!(
            short_of("\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}", Some(1)),
            short("\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}~-1")
        );
        assert_eq!(short_of("with\0nul", Some(1)), short("with?nul-1"));
        // The number of a process has up to 20 digits.
        let number = u64::MAX.to_string();
        assert_eq!(short_of("drivers", Some(u64::MAX)), short(&format!("~-{number}")));
    }
}
