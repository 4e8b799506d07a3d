//! How a supervisor describes itself, and counts its children.

use crate::children::ChildKey;
use crate::info::{ChildCounts, ChildInfo, ChildState};
use crate::plan_executor::PlanExecutor;
use crate::spec::{ChildKind, Strategy, SupervisorFlags};
use krarup_act::ManageRequest;
use krarup_gen::{Inspection, Managed, ManagedChild, Management, Pid, Value};

impl<T: Send + 'static> PlanExecutor<T> {
    /// As in OTP: under `simple_one_for_one` a child is active if the supervisor knows of no end
    /// of it; otherwise, if it is alive at this moment.
    pub(crate) fn count_children(&self) -> ChildCounts {
        let children = self.plan.children();
        let is_simple = self.plan.flags().strategy == Strategy::SimpleOneForOne;
        let is_active = |pid: Pid| is_simple || self.is_alive(pid);
        let all = children.len();
        let is_supervisor = |kind| kind == ChildKind::Supervisor;
        let supervisors =
            children.iter().filter(|(_, child)| is_supervisor(child.rules.kind)).count();
        let active = children.iter().filter_map(|(_, child)| child.pid()).filter(|&p| is_active(p));
        ChildCounts {
            specs: if is_simple { 1 } else { all },
            active: active.count(),
            supervisors,
            workers: all - supervisors,
        }
    }

    /// What an operator reads of a child. While the supervisor waits for the `init` of one it handles no
    /// end, so the pids that it knows may be of processes that have ended.
    fn state_text(&self, key: ChildKey, state: ChildState) -> String {
        let is_simple = self.plan.flags().strategy == Strategy::SimpleOneForOne;
        match (self.starting, state) {
            (Some((pid, starts)), _) if starts == key => format!("{pid} in init"),
            (_, ChildState::Running(pid)) if !is_simple && !self.is_alive(pid) => {
                format!("{pid} has ended")
            }
            (_, state) => state.to_string(),
        }
    }

    /// Answers what only reads (rule X12). Returns the request if it is another.
    pub(crate) fn answer_manage(&self, request: ManageRequest) -> Option<ManageRequest> {
        let Management::WhichChild { pid } = *request.request() else { return Some(request) };
        match self.which_child(pid) {
            Some(child) => request.done(Managed::Child(child)),
            None => request.refuse(format_args!("{pid} is no child")),
        }
        None
    }

    /// The child that runs as a process, or whose `init` runs in it.
    fn which_child(&self, pid: Pid) -> Option<ManagedChild> {
        let starts = self.starting.filter(|&(of, _)| of == pid).map(|(_, key)| key);
        let children = self.plan.children();
        let child = children.get(children.running(pid).or(starts)?)?;
        let mut managed = ManagedChild::from(child.info());
        (managed.pid, managed.restarting) = (Some(pid), false);
        Some(managed)
    }

    /// Describes the supervisor. Also while an action is running (rule S15).
    pub(crate) fn inspection(&self) -> Inspection {
        let SupervisorFlags {
            strategy,
            intensity,
            period,
            auto_shutdown,
            kill_grace,
            max_children,
        } = *self.plan.flags();
        let counts = self.count_children();
        let children = self.plan.children().iter().map(|(key, child)| {
            let ChildInfo { id, state, kind, restarts, .. } = child.info();
            let record = Inspection::new()
                .with("id", id.as_str())
                .with("state", self.state_text(key, state))
                .with("kind", kind.to_string())
                .with("restarts", restarts);
            Value::Record(record)
        });
        let inspection = Inspection::new()
            .with("strategy", strategy.to_string())
            .with("intensity", intensity)
            .with("period", period)
            .with("auto_shutdown", auto_shutdown.to_string())
            .with("kill_grace", kill_grace);
        let inspection = match max_children {
            Some(limit) => inspection.with("max_children", limit),
            None => inspection,
        };
        inspection
            .with("specs", counts.specs)
            .with("active", counts.active)
            .with("restarts", self.plan.restarts())
            .with("children", children.collect::<Vec<_>>())
    }
}
