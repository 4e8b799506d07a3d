//! Reasons: why a process ended.

use crate::char_boundary::char_boundary_to;
use crate::panic::Panic;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Why a process ended, or is to end: Erlang's exit reason (rule D8).
///
/// Any `std::error::Error` converts into [`Reason::Error`], so `?` in a callback ends
/// the process with that error. For a plain text use [`Reason::error`]. An error with more than 128 others behind it
/// ([`Error::source`]) becomes its text, cut to 4 KiB: a chain of ends, each the cause of the next, may be longer than
/// any stack.
///
/// | variant | abnormal | Erlang |
/// |---|---|---|
/// | `Normal` | no | `normal` |
/// | `Shutdown` | no | `shutdown` |
/// | `ShutdownWith(detail)` | no | `{shutdown, Detail}` |
/// | `Kill` | yes | `kill`: untrappable as a signal, ordinary as a returned reason |
/// | `Killed` | yes | `killed`: the reason of a process that an exit signal `kill` ended |
/// | `NoProcess` | yes | `noproc` |
/// | `NoConnection` | yes | `noconnection` |
/// | `Panic(panic)` | yes | `{Error, Stacktrace}` |
/// | `Error(error)` | yes | any other term |
///
/// Two reasons are equal if they are the same variant and, if there is a detail, print the same
/// text. Errors offer no other way to compare them.
///
/// A type that every error converts into cannot be an error itself. In a chain of errors
/// [`Reason::as_error`] stands for the reason: it is the `source()` of every error that holds
/// one. `?` converts a reason into a `Box<dyn Error>`, and [`Reason::into_error`] makes an error
/// of it for other types that hold any error.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Reason {
    /// The process completed its work.
    #[default]
    Normal,
    /// The process was asked to stop.
    Shutdown,
    /// The process was asked to stop, or stopped in order, with a detail.
    ShutdownWith(Arc<dyn Error + Send + Sync>),
    /// As an exit signal: end at once, even if the process traps exits.
    Kill,
    /// The process was ended by an exit signal [`Reason::Kill`].
    Killed,
    /// There was no such process.
    NoProcess,
    /// The connection to its node was lost.
    NoConnection,
    /// One of its callbacks panicked.
    Panic(Arc<Panic>),
    /// One of its callbacks returned this error.
    Error(Arc<dyn Error + Send + Sync>),
}

impl Reason {
    /// Creates an abnormal reason from a text or any boxed error. A boxed [`ReasonError`] is
    /// the reason that it holds, and a boxed [`Panic`] is [`Reason::Panic`].
    pub fn error(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let error = match error.into().downcast::<ReasonError>() {
            Ok(held) => return held.0,
            Err(error) => error,
        };
        match error.downcast::<Panic>() {
            Ok(panic) => Reason::Panic(Arc::from(panic)),
            Err(error) => Reason::Error(shallow(error)),
        }
    }

    /// Creates the reason of an orderly stop with a detail: `{shutdown, Detail}`.
    pub fn shutdown(detail: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Reason::ShutdownWith(shallow(detail.into()))
    }

    /// Returns whether this is any reason but `Normal` and the two `Shutdown`s.
    ///
    /// An abnormal reason restarts transient children, and is reported as a failure. Whether
    /// linked processes end too does not depend on this: as in OTP, every reason but `Normal`,
    /// also the `Shutdown`s, ends linked processes that do not trap exits (rule L2; see
    /// [`Reason::is_normal`]).
    #[must_use]
    pub const fn is_abnormal(&self) -> bool {
        self.kind().is_abnormal()
    }

    /// Returns whether this is `Normal`, the reason that linked processes ignore if they do not
    /// trap exits.
    #[must_use]
    pub const fn is_normal(&self) -> bool {
        matches!(self, Reason::Normal)
    }

    /// Returns the error as a `T`, if that is the type of the error or detail.
    #[must_use]
    pub fn downcast_ref<T: Error + 'static>(&self) -> Option<&T> {
        match self {
            Reason::Error(error) | Reason::ShutdownWith(error) => error.downcast_ref(),
            _ => None,
        }
    }

    /// Returns the reason as an error, for the `source()` of an error that holds it.
    ///
    /// This is the error of a [`Reason::Error`], the detail of a [`Reason::ShutdownWith`], and
    /// the [`Panic`] of a [`Reason::Panic`]. Any other reason is a [`ReasonError`].
    #[must_use]
    pub fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
        static NORMAL: ReasonError = ReasonError(Reason::Normal);
        static SHUTDOWN: ReasonError = ReasonError(Reason::Shutdown);
        static KILL: ReasonError = ReasonError(Reason::Kill);
        static KILLED: ReasonError = ReasonError(Reason::Killed);
        static NO_PROCESS: ReasonError = ReasonError(Reason::NoProcess);
        static NO_CONNECTION: ReasonError = ReasonError(Reason::NoConnection);
        match self {
            Reason::Normal => &NORMAL,
            Reason::Shutdown => &SHUTDOWN,
            Reason::ShutdownWith(error) | Reason::Error(error) => &**error,
            Reason::Kill => &KILL,
            Reason::Killed => &KILLED,
            Reason::NoProcess => &NO_PROCESS,
            Reason::NoConnection => &NO_CONNECTION,
            Reason::Panic(panic) => &**panic,
        }
    }

    /// Returns the reason as an error, for types that hold any error, such as `anyhow::Error`:
    /// `node.stop().wait().map_err(Reason::into_error)?`.
    #[must_use]
    pub fn into_error(self) -> ReasonError {
        ReasonError(self)
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Reason {
    fn from(error: E) -> Self {
        // A reason that became an error on its way is the same reason again.
        let mut error = Some(error);
        let any: &mut dyn Any = &mut error;
        if let Some(held) = any.downcast_mut::<Option<ReasonError>>().and_then(Option::take) {
            return held.0;
        }
        if let Some(panic) = any.downcast_mut::<Option<Panic>>().and_then(Option::take) {
            return Reason::Panic(Arc::new(panic));
        }
        match error {
            Some(error) if is_deep(&error) => Reason::Error(flat(Arc::new(error))),
            Some(error) => Reason::Error(Arc::new(error)),
            // Unreachable: the error was taken only to be returned.
            None => Reason::Normal,
        }
    }
}

impl From<Reason> for Box<dyn Error + Send + Sync> {
    fn from(reason: Reason) -> Self {
        Box::new(reason.into_error())
    }
}

impl From<Reason> for Box<dyn Error> {
    fn from(reason: Reason) -> Self {
        Box::new(reason.into_error())
    }
}

/// A [`Reason`] as an error; made by [`Reason::into_error`].
///
/// It prints the reason. Its source is the error of a [`Reason::Error`], the detail of a
/// [`Reason::ShutdownWith`], or the [`Panic`] of a [`Reason::Panic`].
#[derive(Clone, Debug, PartialEq)]
pub struct ReasonError(Reason);

impl ReasonError {
    /// Returns the reason.
    #[must_use]
    pub const fn reason(&self) -> &Reason {
        &self.0
    }

    /// Returns the reason.
    #[must_use]
    pub fn into_reason(self) -> Reason {
        self.0
    }
}

impl fmt::Display for ReasonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for ReasonError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Reason::ShutdownWith(_) | Reason::Error(_) | Reason::Panic(_) => {
                Some(self.0.as_error())
            }
            Reason::Normal
            | Reason::Shutdown
            | Reason::Kill
            | Reason::Killed
            | Reason::NoProcess
            | Reason::NoConnection => None,
        }
    }
}

/// The most errors that lie behind the error of a reason.
const MOST_CAUSES: usize = 128;
/// The most bytes that are kept of the text of a deeper one: so many of its beginning, and of its end.
const KEPT: usize = 2048;

/// Whether too many errors lie behind this one. Each end that is the cause of another one (a child that fails to start, and
/// its supervisor, and so on) puts an error around the one before. The drop of an error, and its text, take stack for
/// each of them.
fn is_deep(error: &(dyn Error + 'static)) -> bool {
    // `source` is user code, as `Display` is.
    let behind = || iter::successors(error.source(), |cause| (**cause).source()).nth(MOST_CAUSES);
    contained(|| behind().is_some()).unwrap_or(true)
}

/// The text of an error that is too deep, in its place.
#[cold]
fn flat(error: Arc<dyn Error + Send + Sync>) -> Arc<dyn Error + Send + Sync> {
    let mut text = text(&error);
    contained(|| drop(error));
    if text.len() > 2 * KEPT {
        let end = text.split_off(char_boundary_to(&text, text.len() - KEPT));
        text.truncate(char_boundary_to(&text, KEPT));
        text = format!("{text} .. {end}");
    }
    Arc::from(Box::<dyn Error + Send + Sync>::from(text))
}

/// The error as a reason holds it.
fn shallow(error: Box<dyn Error + Send + Sync>) -> Arc<dyn Error + Send + Sync> {
    let is_deep = is_deep(&*error);
    let error = Arc::from(error);
    if is_deep { flat(error) } else { error }
}

/// What user code returns; `None` if it panics.
fn contained<T>(code: impl FnOnce() -> T) -> Option<T> {
    let returned = catch_unwind(AssertUnwindSafe(code));
    returned
        .map_err(|panic| {
            // Its destructor may panic too. The payload of that panic is leaked.
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                std::mem::forget(again);
            }
        })
        .ok()
}

/// The text of an error. Its `Display` is user code and runs in any code that logs or compares
/// a reason, so a panic in it is contained (rule D4).
fn text(error: &Arc<dyn Error + Send + Sync>) -> String {
    contained(|| error.to_string()).unwrap_or_else(|| "an error whose Display panicked".to_owned())
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Normal => f.write_str("normal"),
            Reason::Shutdown => f.write_str("shutdown"),
            Reason::ShutdownWith(detail) => write!(f, "shutdown: {}", text(detail)),
            Reason::Kill => f.write_str("kill"),
            Reason::Killed => f.write_str("killed"),
            Reason::NoProcess => f.write_str("no process"),
            Reason::NoConnection => f.write_str("no connection"),
            Reason::Panic(panic) => write!(f, "panic: {panic}"),
            Reason::Error(error) => f.write_str(&text(error)),
        }
    }
}

/// Prints the variant, and the text of an error: short enough for one line of a log. This is
/// also what `fn main() -> krarup::Result` prints.
impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Normal => f.write_str("Normal"),
            Reason::Shutdown => f.write_str("Shutdown"),
            Reason::ShutdownWith(detail) => write!(f, "ShutdownWith({})", text(detail)),
            Reason::Kill => f.write_str("Kill"),
            Reason::Killed => f.write_str("Killed"),
            Reason::NoProcess => f.write_str("NoProcess"),
            Reason::NoConnection => f.write_str("NoConnection"),
            Reason::Panic(panic) => write!(f, "Panic({panic})"),
            Reason::Error(error) => write!(f, "Error({})", text(error)),
        }
    }
}

impl PartialEq for Reason {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Reason::ShutdownWith(a), Reason::ShutdownWith(b))
            | (Reason::Error(a), Reason::Error(b)) => Arc::ptr_eq(a, b) || text(a) == text(b),
            (Reason::Panic(a), Reason::Panic(b)) => a.message() == b.message(),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d8_abnormal_is_everything_but_normal_and_the_shutdowns() {
        for reason in [Reason::Normal, Reason::Shutdown, Reason::shutdown("why")] {
            assert!(!reason.is_abnormal(), "{reason}");
        }
        for reason in [
            Reason::Kill,
            Reason::Killed,
            Reason::NoProcess,
            Reason::NoConnection,
            Reason::error("boom"),
            Reason::Panic(Arc::new(Panic::new("boom".into(), None))),
        ] {
            assert!(reason.is_abnormal(), "{reason}");
        }
    }

    #[test]
    fn d8_any_error_is_a_reason() {
        let reason = Reason::from("x".parse::<u8>().unwrap_err());
        assert!(reason.downcast_ref::<std::num::ParseIntError>().is_some());
        assert_eq!(Reason::error("boom"), Reason::error(String::from("boom")));
        assert_ne!(Reason::error("boom"), Reason::shutdown("boom"));
    }

    #[test]
    fn d4_a_reason_that_panics_when_it_is_printed_says_so() {
        #[derive(Debug)]
        struct Unprintable;
        impl fmt::Display for Unprintable {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                panic!("printing")
            }
        }
        impl Error for Unprintable {}
        let reason = Reason::from(Unprintable);
        assert_eq!(reason.to_string(), "an error whose Display panicked");
        assert_eq!(format!("{reason:?}"), "Error(an error whose Display panicked)");
        assert_eq!(reason, Reason::from(Unprintable));
    }

    #[test]
    fn d8_a_long_chain_of_reasons_is_as_deep_as_a_stack_bears_and_keeps_its_ends() {
        #[derive(Debug)]
        struct Behind(Reason, u32);
        impl fmt::Display for Behind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "level {}: {}", self.1, self.0)
            }
        }
        impl Error for Behind {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(self.0.as_error())
            }
        }
        let make: [fn(Behind) -> Reason; 3] =
            [Reason::from, |behind| Reason::error(behind), |behind| Reason::shutdown(behind)];
        for make in make {
            let chain = |levels| {
                (0..levels)
                    .fold(Reason::error("the cause"), |reason, level| make(Behind(reason, level)))
            };
            // What is not too deep is kept as it is.
            let kept = chain(128);
            let mut depth = 0;
            let mut error: &(dyn Error + 'static) = kept.as_error();
            while let Some(cause) = error.source() {
                (error, depth) = (cause, depth + 1);
            }
            assert_eq!((depth, error.to_string().as_str()), (128, "the cause"));
            let deep = chain(200_000);
            let text = deep.to_string();
            assert!(text.contains("level 199999: ") && text.ends_with("the cause"), "{text}");
            assert!(text.len() < 10_000, "{}", text.len());
        }
    }

    #[test]
    fn d4_an_error_whose_source_panics_is_a_reason() {
        #[derive(Debug)]
        struct Sourceless;
        impl fmt::Display for Sourceless {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("sourceless")
            }
        }
        impl Error for Sourceless {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                panic!("looking for the source")
            }
        }
        assert_eq!(Reason::from(Sourceless).to_string(), "sourceless");
    }

    #[test]
    fn d8_a_reason_prints_its_variant_and_equals_reasons_with_the_same_text() {
        let panic = |text: &str, place: Option<&str>| {
            Reason::Panic(Arc::new(Panic::new(text.into(), place.map(Into::into))))
        };
        let all = [
            (Reason::Normal, "normal", "Normal"),
            (Reason::Shutdown, "shutdown", "Shutdown"),
            (Reason::shutdown("why"), "shutdown: why", "ShutdownWith(why)"),
            (Reason::Kill, "kill", "Kill"),
            (Reason::Killed, "killed", "Killed"),
            (Reason::NoProcess, "no process", "NoProcess"),
            (Reason::NoConnection, "no connection", "NoConnection"),
            (panic("boom", None), "panic: boom", "Panic(boom)"),
            (Reason::error("why"), "why", "Error(why)"),
        ];
        for (number, (reason, said, called)) in all.iter().enumerate() {
            assert_eq!(
                (reason.to_string().as_str(), format!("{reason:?}").as_str()),
                (*said, *called)
            );
            assert_eq!(reason.is_normal(), number == 0);
            for (other, (another, ..)) in all.iter().enumerate() {
                assert_eq!(reason == another, number == other, "{reason:?} {another:?}");
            }
        }
        assert_eq!(Reason::default(), Reason::Normal);
        assert_ne!(Reason::error("boom"), Reason::error("bang"));
        assert_ne!(Reason::shutdown("boom"), Reason::shutdown("bang"));
        assert_eq!(Reason::shutdown("boom"), Reason::shutdown("boom"));
        // The location does not matter for equality.
        let here = panic("boom", Some("a.rs:1:2"));
        assert_eq!(
            (here.to_string().as_str(), &here),
            ("panic: boom at a.rs:1:2", &panic("boom", None))
        );
        assert_ne!(here, panic("bang", Some("a.rs:1:2")));
        let Reason::Panic(seen) = here else { unreachable!() };
        assert_eq!((seen.message(), seen.location()), ("boom", Some("a.rs:1:2")));
    }

    #[test]
    fn d8_the_error_of_a_reason_or_shutdown_can_be_downcast() {
        let error = || "x".parse::<u8>().unwrap_err();
        for reason in [Reason::from(error()), Reason::error(error()), Reason::shutdown(error())] {
            assert_eq!(reason.downcast_ref(), Some(&error()));
            assert!(reason.downcast_ref::<fmt::Error>().is_none());
        }
        assert!(Reason::Killed.downcast_ref::<std::num::ParseIntError>().is_none());
    }

    /// An error and its sources.
    fn errors<'a>(first: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
        let (mut chain, mut last) = (vec![first], first);
        while let Some(source) = last.source() {
            chain.push(source);
            last = source;
        }
        chain
    }

    /// Their texts.
    fn chain(error: &(dyn Error + 'static)) -> Vec<String> {
        errors(error).into_iter().map(ToString::to_string).collect()
    }

    #[test]
    fn d8_a_reason_is_part_of_a_chain_of_errors() {
        let panic = || Panic::new("boom".into(), None);
        let number = || "x".parse::<u8>().unwrap_err();
        for (reason, said, source) in [
            (Reason::Normal, "normal", None),
            (Reason::Shutdown, "shutdown", None),
            (
                Reason::shutdown(number()),
                "shutdown: invalid digit found in string",
                Some("invalid digit found in string"),
            ),
            (Reason::Kill, "kill", None),
            (Reason::Killed, "killed", None),
            (Reason::NoProcess, "no process", None),
            (Reason::NoConnection, "no connection", None),
            (Reason::from(panic()), "panic: boom", Some("boom")),
            (
                Reason::from(number()),
                "invalid digit found in string",
                Some("invalid digit found in string"),
            ),
        ] {
            // As a boxed error it prints itself, and its error is the source.
            let boxed = Box::<dyn Error + Send + Sync>::from(reason.clone());
            let expected: Vec<_> = [Some(said), source].into_iter().flatten().collect();
            assert_eq!(chain(&*boxed), expected);
            assert_eq!(chain(&*Box::<dyn Error>::from(reason.clone())), expected);
            // As the source of another error it is the error itself.
            assert_eq!(chain(reason.as_error()), [source.unwrap_or(said)]);
            // It is the same reason again, by `?` and by hand.
            assert_eq!(boxed.downcast_ref::<ReasonError>().map(ReasonError::reason), Some(&reason));
            assert_eq!(Reason::error(boxed), reason);
            assert_eq!(Reason::from(reason.clone().into_error()), reason);
            assert_eq!(reason.clone().into_error().into_reason(), reason);
        }
        assert_eq!(Reason::error(panic()), Reason::from(panic()));
        assert!(matches!(Reason::from(panic()), Reason::Panic(_)));
    }

    #[test]
    fn d8_the_error_of_a_callee_is_found_in_the_chain_of_its_caller() {
        // As in `main`, and in a function that returns any error.
        fn fails() -> std::result::Result<(), Box<dyn Error + Send + Sync>> {
            let to = crate::Pid::local(7, 1);
            let reason = Reason::from("x".parse::<u8>().unwrap_err());
            let call = crate::CallError::Terminated { to, reason };
            // The handler of another process returns it with `?`, and a spawn waits for that.
            Err(crate::SpawnError::Init(Reason::from(call)))?;
            Ok(())
        }
        let error = fails().unwrap_err();
        assert_eq!(
            chain(&*error),
            [
                "init failed: <0.7.0> terminated: invalid digit found in string",
                "<0.7.0> terminated: invalid digit found in string",
                "invalid digit found in string",
            ]
        );
        let last = errors(&*error).pop();
        assert!(last.and_then(|last| last.downcast_ref::<std::num::ParseIntError>()).is_some());
    }
}
