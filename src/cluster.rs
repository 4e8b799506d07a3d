//! Clusters of Erlang and Krarup nodes (feature `cluster`).
//!
//! [`Cluster`] is a behaviour: a node joins a cluster when it spawns one. What can be done with
//! it are the methods of [`ClusterCalls`].

mod serve_applications;

pub use krarup_dist::*;
pub use serve_applications::ServeApplications;

use crate::supervisor::{
    ChildCounts, ChildInfo, ChildKind, ChildSpec, ChildState, SupervisorAddress, SupervisorCommand,
};
use crate::{Address, CallError, Pid, Reply};
use krarup_dist::etf::Term;

/// Exports of supervisors.
pub trait ExportSupervisor: ClusterCalls {
    /// Makes the supervisor that has this name answer `which_children` and `count_children` of
    /// OTP's `supervisor` module, and nothing else (rule Zcall13). The ids of the children are
    /// binaries: a program can choose any number of them at run time, and the table of atoms of an
    /// Erlang node is finite (rule Zterm12). See [`ExportSupervisor::export_supervisor_of`] for
    /// ids that are atoms.
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid, or the cluster does not run.
    fn export_supervisor(&self, name: &str) -> Result<(), ClusterError> {
        self.export_supervisor_of(name, &[])
    }

    /// As [`ExportSupervisor::export_supervisor`]. The ids that stand in `atoms`, which the program
    /// has fixed, are atoms.
    ///
    /// ```no_run
    /// # use krarup::cluster::{ClusterAddress, ClusterError, ExportSupervisor};
    /// # fn export(cluster: &ClusterAddress) -> Result<(), ClusterError> {
    /// // supervisor:which_children({tree, 'calc@host'}) names them `stock` and `desk`.
    /// cluster.export_supervisor_of("tree", &["stock", "desk"])
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ClusterError`] if the name is not valid, or the cluster does not run.
    fn export_supervisor_of(
        &self,
        name: &str,
        atoms: &'static [&'static str],
    ) -> Result<(), ClusterError> {
        let cluster = self.cluster()?;
        self.export_served(name, move |served| serve(&cluster, atoms, served))
    }
}

impl<T: ClusterCalls> ExportSupervisor for T {}

fn serve(
    cluster: &ClusterHandle,
    atoms: &'static [&'static str],
    Served { process, request, reply }: Served,
) {
    let address: Result<SupervisorAddress<ChildSpec>, _> = Address::of(&process);
    let to = process.pid();
    let (Ok(address), Term::Atom(request)) = (address, request) else { return };
    let command = match request.as_str() {
        "which_children" => {
            let cluster = cluster.clone();
            SupervisorCommand::which_children(answering(to, reply, move |children: Vec<_>| {
                Term::list(children.into_iter().map(|child| which(&cluster, atoms, &child)))
            }))
        }
        "count_children" => SupervisorCommand::count_children(answering(to, reply, counts)),
        _ => return,
    };
    // A supervisor that has ended fails the call by the token.
    let _ = address.send_max(command);
}

/// Returns a token for the process `to` whose answer is passed on as a term.
fn answering<T: Send + 'static>(
    to: Pid,
    reply: Reply<Term>,
    term: impl FnOnce(T) -> Term + Send + 'static,
) -> Reply<Result<T, CallError>> {
    Reply::to(to, move |answer: Result<Result<T, CallError>, CallError>| match answer {
        Ok(Ok(value)) => reply.send(term(value)),
        Ok(Err(error)) | Err(error) => reply.fail(error),
    })
}

/// `{Id, Pid, Type, [Module]}`.
fn which(cluster: &ClusterHandle, atoms: &'static [&'static str], child: &ChildInfo) -> Term {
    let id = atoms.iter().find(|atom| **atom == child.id.as_str());
    let id = id.map_or_else(|| Term::binary(child.id.as_str()), |atom| Term::atom(atom));
    let pid = match child.state {
        ChildState::Running(pid) => cluster.pid_term(pid),
        ChildState::Restarting => Some(Term::atom("restarting")),
        ChildState::Undefined => None,
    };
    let kind = match child.kind {
        ChildKind::Worker => "worker",
        ChildKind::Supervisor => "supervisor",
    };
    let pid = pid.unwrap_or_else(|| Term::atom("undefined"));
    Term::tuple([id, pid, Term::atom(kind), Term::list([Term::atom("krarup")])])
}

/// `[{specs, N}, {active, N}, {supervisors, N}, {workers, N}]`.
fn counts(counts: ChildCounts) -> Term {
    let pairs = [
        ("specs", counts.specs),
        ("active", counts.active),
        ("supervisors", counts.supervisors),
        ("workers", counts.workers),
    ];
    Term::list(pairs.map(|(name, count)| {
        Term::tuple([Term::atom(name), Term::Int(i64::try_from(count).unwrap_or(i64::MAX))])
    }))
}
