//! The applications of a node and their states, under one lock.
//!
//! Each change of a state is one step here: check and change. What follows from it is done by
//! the jobs, without the lock.

use crate::applications::application::{Application, ApplicationParts};
use crate::applications::error::{ApplicationError, StopApplicationError};
use crate::applications::info::{ApplicationInfo, ApplicationState};
use crate::applications::job_processes::JobProcesses;
use crate::applications::plan::{self, Declared, dependents};
use crate::applications::run::ApplicationRun;
use krarup_gen::{ApplicationPicture, Name, Pid, Reason, Root, Timestamp};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The applications of a node.
#[derive(Default)]
pub(crate) struct ApplicationTable {
    table: Mutex<TableState>,
    /// The processes that start, keep and stop applications.
    pub(crate) jobs: JobProcesses,
    /// When the node kills what is left below a root, and how long after the begin of its stop: for the roots that it stops
    /// already.
    node_stops: Mutex<BTreeMap<Root, (Timestamp, Duration)>>,
}

#[derive(Default)]
struct TableState {
    /// In the order in which they were given; `entries` has the same order.
    declared: Vec<Declared>,
    entries: Vec<ApplicationEntry>,
    /// The number of the last run.
    runs: u64,
}

struct ApplicationEntry {
    parts: Arc<ApplicationParts>,
    state: ApplicationState,
    since: Timestamp,
    /// The last run, or the one that is alive.
    run: Option<Arc<ApplicationRun>>,
    /// How it was lost, until it runs again: its top process has ended by itself, and not normally.
    lost: Option<(Pid, Reason)>,
}

impl ApplicationEntry {
    fn loaded(application: Application, now: Timestamp) -> Self {
        let parts = Arc::new(application.parts);
        ApplicationEntry {
            parts,
            state: ApplicationState::Loaded,
            since: now,
            run: None,
            lost: None,
        }
    }
}

/// What a start finds.
pub(crate) enum StartStep {
    /// This start began the run, and must have it kept.
    Begun(Arc<ApplicationRun>, Arc<ApplicationParts>),
    Runs,
    /// Another start has begun the run.
    Starting(Arc<ApplicationRun>),
    /// It must end first.
    Stopping(Arc<ApplicationRun>),
    /// One that it needs does not run.
    NeedEnded(Name),
}

/// Which applications may be left without one that they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needed {
    /// None: a stop is refused.
    Refuse,
    /// All.
    Ignore,
}

impl ApplicationTable {
    /// The node stops what is below this root, and kills what is left then.
    pub(crate) fn node_stops(&self, root: Root, until: Timestamp, timeout: Duration) {
        self.node_stops.lock().insert(root, (until, timeout));
    }

    /// When the node kills what is left below this root, if it stops it, and the time that it gives.
    pub(crate) fn node_stops_until(&self, root: Root) -> Option<(Timestamp, Duration)> {
        self.node_stops.lock().get(&root).copied()
    }

    /// Adds all applications of the node, if they are valid together.
    pub(crate) fn declare(
        &self,
        applications: Vec<Application>,
        now: Timestamp,
    ) -> Result<(), ApplicationError> {
        let declared = declared(&applications)?;
        let mut table = self.table.lock();
        let alive = table.declared.iter().zip(&table.entries).find(|(_, it)| it.state.is_alive());
        if let Some((one, _)) = alive {
            return Err(ApplicationError::Twice(one.name.clone()));
        }
        let entries = applications.into_iter().map(|one| ApplicationEntry::loaded(one, now));
        let entries = TableState { declared, entries: entries.collect(), runs: table.runs };
        let before = std::mem::replace(&mut *table, entries);
        drop(table);
        // The closures in it are the user's.
        drop(before);
        Ok(())
    }

    /// Adds one to the applications of the node, if it is valid together with them (rule A1).
    pub(crate) fn add(
        &self,
        application: Application,
        now: Timestamp,
    ) -> Result<(), ApplicationError> {
        let one = application.declared()?;
        let mut table = self.table.lock();
        table.declared.push(one);
        if let Err(error) = plan::check(&table.declared) {
            table.declared.pop();
            return Err(error);
        }
        table.entries.push(ApplicationEntry::loaded(application, now));
        Ok(())
    }

    /// Those that start with the node.
    pub(crate) fn started_with_node(&self) -> Vec<Name> {
        let table = self.table.lock();
        let with = table.declared.iter().zip(&table.entries);
        with.filter(|(_, entry)| !entry.parts.on_request).map(|(it, _)| it.name.clone()).collect()
    }

    /// Returns the name if there is such an application.
    pub(crate) fn named(&self, name: &str) -> Option<Name> {
        let table = self.table.lock();
        table.declared.iter().map(|one| &one.name).find(|one| one.as_str() == name).cloned()
    }

    /// These and all that they need, in the order of their start.
    pub(crate) fn start_order(&self, wanted: &[Name]) -> Vec<Name> {
        let table = self.table.lock();
        let order = plan::start_order(&table.declared, wanted);
        order.into_iter().map(|at| table.declared[at].name.clone()).collect()
    }

    /// The parts of an application.
    pub(crate) fn parts(&self, name: &Name) -> Option<Arc<ApplicationParts>> {
        let table = self.table.lock();
        Some(Arc::clone(&table.entries[table.place(name)?].parts))
    }

    /// Begins to start an application, unless it is alive.
    pub(crate) fn begin_start(&self, name: &Name, now: Timestamp) -> Option<StartStep> {
        let mut table = self.table.lock();
        let place = table.place(name)?;
        let entry = &table.entries[place];
        if let (true, Some(run)) = (entry.state.is_alive(), entry.run.clone()) {
            return Some(match entry.state {
                ApplicationState::Running => StartStep::Runs,
                ApplicationState::Starting => StartStep::Starting(run),
                _ => StartStep::Stopping(run),
            });
        }
        let ended = table.declared[place].needs.iter().find(|need| !table.runs(need));
        if let Some(need) = ended.cloned() {
            return Some(StartStep::NeedEnded(need));
        }
        table.runs += 1;
        let run = ApplicationRun::new(name.clone(), table.runs);
        let entry = &mut table.entries[place];
        let before = std::mem::replace(&mut entry.state, ApplicationState::Starting);
        let run_before = entry.run.replace(Arc::clone(&run));
        entry.since = now;
        let parts = Arc::clone(&entry.parts);
        drop(table);
        // Both hold the reason of the last end, which is an error of the user.
        drop((before, run_before));
        Some(StartStep::Begun(run, parts))
    }

    /// Moves a run from `Starting` to `Running`. False if it was asked to stop meanwhile.
    pub(crate) fn is_running(&self, run: &ApplicationRun, now: Timestamp) -> bool {
        let mut table = self.table.lock();
        let Some(entry) = table.entry_of(run) else { return false };
        if entry.state != ApplicationState::Starting {
            return false;
        }
        entry.state = ApplicationState::Running;
        entry.since = now;
        let lost = entry.lost.take();
        drop(table);
        // It holds an error of the user.
        drop(lost);
        true
    }

    /// Notes that the top process of a run, which was running, has ended by itself and not normally
    /// (rule V96).
    pub(crate) fn is_lost(&self, run: &ApplicationRun, reason: &Reason) {
        let Some(top) = run.top() else { return };
        let lost = Some((top, reason.clone()));
        let mut table = self.table.lock();
        let before = table.entry_of(run).map(|entry| std::mem::replace(&mut entry.lost, lost));
        drop(table);
        drop(before);
    }

    /// Notes that a run takes its processes down.
    pub(crate) fn is_stopping(&self, run: &ApplicationRun, now: Timestamp) {
        let mut table = self.table.lock();
        if let Some(entry) = table.entry_of(run) {
            if entry.state != ApplicationState::Stopping {
                entry.since = now;
            }
            entry.state = ApplicationState::Stopping;
        }
    }

    /// Notes that a run is over.
    pub(crate) fn has_ended(&self, run: &ApplicationRun, reason: Reason, now: Timestamp) {
        let mut table = self.table.lock();
        let before = table.entry_of(run).map(|entry| {
            entry.since = now;
            std::mem::replace(&mut entry.state, ApplicationState::Ended(reason))
        });
        drop(table);
        // A reason holds an error of the user.
        drop(before);
    }

    /// Asks an application to stop. Returns its run, whose end is to be awaited.
    pub(crate) fn ask(
        &self,
        name: &Name,
        needed: Needed,
        now: Timestamp,
    ) -> Result<Arc<ApplicationRun>, StopApplicationError> {
        let mut table = self.table.lock();
        let application = name.clone();
        let Some(place) = table.place(name) else {
            return Err(StopApplicationError::Unknown(name.to_string()));
        };
        let entry = &table.entries[place];
        let (true, Some(run)) = (entry.state.is_alive(), entry.run.clone()) else {
            return Err(StopApplicationError::NotRunning(application));
        };
        let by = dependents(&table.declared, name, |one| table.is_alive(one), false);
        if needed == Needed::Refuse && !by.is_empty() {
            return Err(StopApplicationError::NeededBy { application, by });
        }
        // One whose top process has ended by itself is not asked: its mode counts (rule A7).
        if run.top_end.value().is_none() {
            let entry = &mut table.entries[place];
            if entry.state != ApplicationState::Stopping {
                entry.state = ApplicationState::Stopping;
                entry.since = now;
            }
            drop(table);
            run.asked.set(());
        }
        Ok(run)
    }

    /// Those that are alive and need this one, also through others, the last started first.
    pub(crate) fn dependents_alive(&self, name: &Name) -> Vec<Name> {
        let table = self.table.lock();
        let mut found = dependents(&table.declared, name, |one| table.is_alive(one), true);
        let number = |one: &Name| {
            let run = table.place(one).and_then(|at| table.entries[at].run.as_ref());
            run.map_or(0, |run| run.number)
        };
        found.sort_by_key(|one| std::cmp::Reverse(number(one)));
        found
    }

    /// The run with this number, while it is alive.
    pub(crate) fn run(&self, number: u64) -> Option<Arc<ApplicationRun>> {
        let table = self.table.lock();
        let alive = table.entries.iter().filter(|entry| entry.state.is_alive());
        alive.filter_map(|entry| entry.run.as_ref()).find(|run| run.number == number).cloned()
    }

    /// The run of this application, while it is alive.
    pub(crate) fn run_of(&self, name: &Name) -> Option<Arc<ApplicationRun>> {
        let table = self.table.lock();
        let entry = &table.entries[table.place(name)?];
        entry.run.clone().filter(|_| entry.state.is_alive())
    }

    /// Which applications run and which are lost (rule V96).
    pub(crate) fn pictures(&self) -> Vec<ApplicationPicture> {
        let table = self.table.lock();
        let all = table.declared.iter().zip(&table.entries);
        all.map(|(one, entry)| {
            ApplicationPicture::new(one.name.clone()).with(|picture| {
                picture.runs = entry.state == ApplicationState::Running;
                picture.lost.clone_from(&entry.lost);
            })
        })
        .collect()
    }

    /// All applications, in the order in which they were given (rule A12).
    pub(crate) fn infos(&self) -> Vec<ApplicationInfo> {
        let table = self.table.lock();
        let all = table.declared.iter().zip(&table.entries);
        all.map(|(one, entry)| {
            let run = entry.run.as_ref().filter(|_| entry.state.is_alive());
            ApplicationInfo {
                name: one.name.clone(),
                mode: entry.parts.mode,
                state: entry.state.clone(),
                since: entry.since,
                top: run.filter(|run| run.top_end.value().is_none()).and_then(|run| run.top()),
                processes: run.map_or(0, |run| run.living()),
                needs: one.needs.clone(),
                needed_by: dependents(&table.declared, &one.name, |_| true, false),
            }
        })
        .collect()
    }
}

impl TableState {
    fn place(&self, name: &Name) -> Option<usize> {
        self.declared.iter().position(|one| one.name == *name)
    }

    fn entry_of(&mut self, run: &ApplicationRun) -> Option<&mut ApplicationEntry> {
        let is_its = |entry: &&mut ApplicationEntry| {
            entry.run.as_ref().is_some_and(|its| its.number == run.number)
        };
        self.entries.iter_mut().find(is_its)
    }

    fn runs(&self, name: &Name) -> bool {
        let entry = self.place(name).map(|at| &self.entries[at]);
        entry.is_some_and(|entry| entry.state == ApplicationState::Running)
    }

    fn is_alive(&self, name: &Name) -> bool {
        self.place(name).is_some_and(|at| self.entries[at].state.is_alive())
    }
}

/// The declarations of these applications, if they are valid together (rule A1).
pub(crate) fn declared(applications: &[Application]) -> Result<Vec<Declared>, ApplicationError> {
    let declared: Vec<Declared> =
        applications.iter().map(Application::declared).collect::<Result<_, _>>()?;
    plan::check(&declared)?;
    Ok(declared)
}
