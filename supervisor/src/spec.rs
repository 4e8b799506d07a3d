//! The settings of children and of supervisors: plain values.

use crate::back_off::BackOff;
use krarup_act::KILL_GRACE;
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The id of a child, unique among its siblings. Cloning shares the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChildId(Arc<str>);

impl ChildId {
    /// Returns the text of the id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ChildId {
    fn from(text: &str) -> Self {
        ChildId(text.into())
    }
}

impl From<String> for ChildId {
    fn from(text: String) -> Self {
        ChildId(text.into())
    }
}

impl From<&ChildId> for ChildId {
    fn from(id: &ChildId) -> Self {
        id.clone()
    }
}

impl Borrow<str> for ChildId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ChildId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for ChildId {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for ChildId {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for ChildId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for ChildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ChildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Which ends of a child are followed by a restart (rules S1 and S4).
///
/// | | normal, shutdown | abnormal | its spec after an end without restart |
/// |---|---|---|---|
/// | `Permanent` | restart | restart | - |
/// | `Transient` | no | restart | kept |
/// | `Temporary` | no | no | dropped |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum RestartType {
    /// Always restarted.
    #[default]
    Permanent,
    /// Restarted when it ended abnormally.
    Transient,
    /// Never restarted; its spec is dropped with it.
    Temporary,
}

impl fmt::Display for RestartType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RestartType::Permanent => "permanent",
            RestartType::Transient => "transient",
            RestartType::Temporary => "temporary",
        })
    }
}

/// How a supervisor ends a child (rule S7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Shutdown {
    /// It is killed without being told to stop first.
    BrutalKill,
    /// It is told to stop, and killed if it has not ended in time. Zero is valid: it is killed
    /// right after it was told.
    Timeout(Duration),
    /// It is told to stop, and the supervisor waits without a limit.
    Infinity,
}

impl Shutdown {
    /// Returns the default for a child of this kind: 5 s for a worker, infinity for a
    /// supervisor, which needs the time to end its own children.
    #[must_use]
    pub const fn default_for(kind: ChildKind) -> Self {
        match kind {
            ChildKind::Worker => Shutdown::Timeout(Duration::from_secs(5)),
            ChildKind::Supervisor => Shutdown::Infinity,
        }
    }
}

impl From<Duration> for Shutdown {
    fn from(time: Duration) -> Self {
        Shutdown::Timeout(time)
    }
}

impl fmt::Display for Shutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shutdown::BrutalKill => f.write_str("brutal_kill"),
            Shutdown::Timeout(time) => fmt::Debug::fmt(time, f),
            Shutdown::Infinity => f.write_str("infinity"),
        }
    }
}

/// The kind of a child, which decides its default [`Shutdown`] and how it is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum ChildKind {
    /// It does the work.
    #[default]
    Worker,
    /// It supervises others.
    Supervisor,
}

impl fmt::Display for ChildKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChildKind::Worker => "worker",
            ChildKind::Supervisor => "supervisor",
        })
    }
}

/// Which children are restarted with one of them (rule S1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Strategy {
    /// That child alone.
    #[default]
    OneForOne,
    /// All children.
    OneForAll,
    /// That child and those started after it.
    RestForOne,
    /// That child alone. All children are made on demand from one template, with their own
    /// arguments.
    SimpleOneForOne,
}

impl Strategy {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Strategy::OneForOne => "one_for_one",
            Strategy::OneForAll => "one_for_all",
            Strategy::RestForOne => "rest_for_one",
            Strategy::SimpleOneForOne => "simple_one_for_one",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether a supervisor ends, with `Shutdown`, when its significant children have ended by
/// themselves (rule S1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum AutoShutdown {
    /// It does not.
    #[default]
    Never,
    /// It ends with the first of them.
    AnySignificant,
    /// It ends with the last of them.
    AllSignificant,
}

impl fmt::Display for AutoShutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AutoShutdown::Never => "never",
            AutoShutdown::AnySignificant => "any_significant",
            AutoShutdown::AllSignificant => "all_significant",
        })
    }
}

/// A child specification without the factory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChildRules {
    pub(crate) id: ChildId,
    pub(crate) kind: ChildKind,
    pub(crate) restart: RestartType,
    /// `None`: the default of the kind.
    pub(crate) shutdown: Option<Shutdown>,
    pub(crate) significant: bool,
    /// As given; checked when the supervisor, or the child, starts.
    pub(crate) name: Option<String>,
    pub(crate) behavior: &'static str,
    /// How long its restarts wait; `None`: not at all.
    pub(crate) back_off: Option<BackOff>,
    /// Whether it is restarted in place where possible: its state is replaced, not its process.
    pub(crate) in_place: bool,
    /// The bound of its Main lane.
    pub(crate) mailbox: Option<usize>,
}

impl ChildRules {
    pub(crate) fn new(id: ChildId, kind: ChildKind, behavior: &'static str) -> Self {
        ChildRules {
            id,
            kind,
            restart: RestartType::default(),
            shutdown: None,
            significant: false,
            name: None,
            behavior,
            back_off: None,
            in_place: false,
            mailbox: None,
        }
    }

    pub(crate) fn shutdown(&self) -> Shutdown {
        self.shutdown.unwrap_or(Shutdown::default_for(self.kind))
    }
}

/// The settings of a supervisor (OTP's supervisor flags).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SupervisorFlags {
    pub(crate) strategy: Strategy,
    pub(crate) intensity: u32,
    pub(crate) period: Duration,
    pub(crate) auto_shutdown: AutoShutdown,
    /// How long a killed child has to end before it is abandoned (rule S11).
    pub(crate) kill_grace: Duration,
    /// The most dynamic children (rule S13).
    pub(crate) max_children: Option<usize>,
}

impl SupervisorFlags {
    /// Returns OTP's defaults (rule S5): at most 1 restart in 5 s.
    pub(crate) fn new(strategy: Strategy) -> Self {
        let period = Duration::from_secs(5);
        let auto_shutdown = AutoShutdown::default();
        SupervisorFlags {
            strategy,
            intensity: 1,
            period,
            auto_shutdown,
            kill_grace: KILL_GRACE,
            max_children: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(id: &str) -> ChildRules {
        ChildRules::new(id.into(), ChildKind::Worker, "test")
    }

    #[test]
    fn s5_the_default_is_one_restart_in_five_seconds() {
        let flags = SupervisorFlags::new(Strategy::OneForOne);
        assert_eq!((flags.intensity, flags.period), (1, Duration::from_secs(5)));
        assert_eq!(flags.auto_shutdown, AutoShutdown::Never);
    }

    #[test]
    fn values_are_shown_as_otp_writes_them() {
        use AutoShutdown::{AllSignificant, AnySignificant, Never};
        use RestartType::{Permanent, Temporary, Transient};
        use Strategy::{OneForAll, OneForOne, RestForOne, SimpleOneForOne};
        let shown = |values: &[&dyn fmt::Display]| {
            values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&[&Permanent, &Transient, &Temporary]), "permanent transient temporary");
        let limit = Shutdown::from(Duration::from_millis(1500));
        let shutdowns = shown(&[&Shutdown::BrutalKill, &limit, &Shutdown::Infinity]);
        assert_eq!(shutdowns, "brutal_kill 1.5s infinity");
        assert_eq!(shown(&[&ChildKind::Worker, &ChildKind::Supervisor]), "worker supervisor");
        let strategies = shown(&[&OneForOne, &OneForAll, &RestForOne, &SimpleOneForOne]);
        assert_eq!(strategies, "one_for_one one_for_all rest_for_one simple_one_for_one");
        let ends = shown(&[&Never, &AnySignificant, &AllSignificant]);
        assert_eq!(ends, "never any_significant all_significant");
    }

    #[test]
    fn an_id_is_its_text() {
        let id = ChildId::from("a".to_owned());
        assert_eq!((id.as_str(), id.as_ref(), Borrow::<str>::borrow(&id)), ("a", "a", "a"));
        assert_eq!((id.to_string(), format!("{id:?}")), ("a".to_owned(), "\"a\"".to_owned()));
        assert!(id == "a" && id == *"a" && id != "b" && id != *"b");
        assert_eq!(ChildId::from(&id), id);
        let next = ChildId::from("b");
        assert!(id < next);
    }

    #[test]
    fn s7_a_worker_has_five_seconds_and_a_supervisor_all_the_time_it_needs() {
        assert_eq!(rules("a").shutdown(), Shutdown::Timeout(Duration::from_secs(5)));
        for time in [Duration::ZERO, Duration::MAX] {
            assert_eq!(Shutdown::from(time), Shutdown::Timeout(time));
        }
        let supervisor = ChildRules::new("s".into(), ChildKind::Supervisor, "test");
        assert_eq!(supervisor.shutdown(), Shutdown::Infinity);
    }
}
