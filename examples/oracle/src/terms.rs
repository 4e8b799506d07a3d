//! Exit reasons as the words of a scenario file, and back.

use krarup::Reason;
use krarup::supervisor::FailedToStartChild;
use std::fmt;

/// An Erlang term as text: the exit reason of a process of a scenario.
#[derive(Debug)]
struct Term(String);

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Term {}

/// Returns the reason that a word stands for.
pub(crate) fn reason(word: &str) -> Reason {
    match word {
        "normal" => Reason::Normal,
        "shutdown" => Reason::Shutdown,
        "kill" => Reason::Kill,
        "killed" => Reason::Killed,
        "noproc" => Reason::NoProcess,
        word => match word.strip_prefix("{shutdown,").and_then(|rest| rest.strip_suffix('}')) {
            Some(detail) => Reason::shutdown(Term(detail.to_owned())),
            None => Reason::error(Term(word.to_owned())),
        },
    }
}

/// Returns the word that stands for a reason.
pub(crate) fn word(reason: &Reason) -> String {
    if let Some(FailedToStartChild { id, reason, .. }) = reason.downcast_ref() {
        return format!("{{shutdown,{{failed_to_start_child,{id},{}}}}}", word(reason));
    }
    match reason {
        Reason::Normal => "normal".to_owned(),
        Reason::Shutdown => "shutdown".to_owned(),
        Reason::ShutdownWith(detail) => format!("{{shutdown,{detail}}}"),
        Reason::Kill => "kill".to_owned(),
        Reason::Killed => "killed".to_owned(),
        Reason::NoProcess => "noproc".to_owned(),
        Reason::Panic(panic) => format!("crash({})", panic.message()),
        other => other.to_string(),
    }
}
