//! The API calls of a scenario, and their results as text.

use crate::record::{Handle, RecordedTree};
use crate::terms::{self, word};
use crate::workers::Tree;
use krarup::supervisor::{
    ChildInfo, ChildState, DeleteChildError, RestartChildError, StartChildError, SupervisorAddress,
    SupervisorCalls, TerminateChildError,
};
use krarup::{CallError, Pid, Reason};

/// Makes the call that these words describe, and returns its result as text.
pub(crate) async fn ask(tree: Tree, words: Vec<String>, supervisor: Handle) -> String {
    let result = match supervisor {
        Handle::Supervisor(address) => {
            let id = words.get(2).map_or("", String::as_str);
            if words[0] == "start_child" {
                let spec = tree.spec(tree.node(id));
                start_result(&tree, address.start_child(spec).await)
            } else {
                common(&tree, &words, &address, false).await
            }
        }
        Handle::Simple(address) if words[0] == "start_child" => {
            start_result(&tree, address.start_child(()).await)
        }
        Handle::Simple(address) => common(&tree, &words, &address, true).await,
        Handle::Worker(_) => Ok("not a supervisor".to_owned()),
    };
    result.unwrap_or_else(|error| match error {
        CallError::Terminated { reason, .. } | CallError::NotBegun { reason, .. } => {
            format!("exit({})", word(&reason))
        }
        CallError::NoProcess { .. } => "exit(noproc)".to_owned(),
        other => format!("call {other}"),
    })
}

/// The calls that every supervisor supports.
async fn common<T: Send + 'static>(
    tree: &Tree,
    words: &[String],
    address: &SupervisorAddress<T>,
    is_simple: bool,
) -> Result<String, CallError> {
    let target = words.get(2).map_or("", String::as_str);
    Ok(match words[0].as_str() {
        "which_children" => children_text(tree, &address.which_children().await?, is_simple),
        "count_children" => counts(address).await?,
        "terminate_child" => {
            let result = match instance(tree, target) {
                Some(pid) => address.terminate_child(pid).await,
                None => address.terminate_child(target).await,
            };
            match result {
                Ok(()) => "ok".to_owned(),
                Err(TerminateChildError::NotFound { .. }) => "error not_found".to_owned(),
                Err(TerminateChildError::SimpleOneForOne { .. }) => {
                    "error simple_one_for_one".to_owned()
                }
                Err(TerminateChildError::Call(error)) => return Err(error),
                Err(other) => format!("error {other}"),
            }
        }
        "restart_child" => match address.restart_child(target).await {
            Ok(pid) => format!("ok {}", name_or_undefined(tree, pid)),
            Err(RestartChildError::NotFound { .. }) => "error not_found".to_owned(),
            Err(RestartChildError::Running { .. }) => "error running".to_owned(),
            Err(RestartChildError::Restarting { .. }) => "error restarting".to_owned(),
            Err(RestartChildError::SimpleOneForOne { .. }) => "error simple_one_for_one".to_owned(),
            Err(RestartChildError::Failed { reason, .. }) => failed(&reason),
            Err(RestartChildError::Call(error)) => return Err(error),
            Err(other) => format!("error {other}"),
        },
        "delete_child" => match address.delete_child(target).await {
            Ok(()) => "ok".to_owned(),
            Err(DeleteChildError::NotFound { .. }) => "error not_found".to_owned(),
            Err(DeleteChildError::Running { .. }) => "error running".to_owned(),
            Err(DeleteChildError::Restarting { .. }) => "error restarting".to_owned(),
            Err(DeleteChildError::SimpleOneForOne { .. }) => "error simple_one_for_one".to_owned(),
            Err(DeleteChildError::Call(error)) => return Err(error),
            Err(other) => format!("error {other}"),
        },
        other => format!("unknown call {other}"),
    })
}

fn start_result(
    tree: &Tree,
    result: Result<Option<Pid>, StartChildError>,
) -> Result<String, CallError> {
    Ok(match result {
        Ok(pid) => format!("ok {}", name_or_undefined(tree, pid)),
        Err(StartChildError::AlreadyPresent { .. }) => "error already_present".to_owned(),
        Err(StartChildError::AlreadyStarted { pid, .. }) => {
            format!("error already_started {}", name(&tree.record.state(), pid))
        }
        Err(StartChildError::BadSpec(_)) => "error bad_spec".to_owned(),
        Err(StartChildError::Failed { reason, .. }) => failed(&reason),
        Err(StartChildError::Call(error)) => return Err(error),
        Err(other) => format!("error {other}"),
    })
}

/// Returns the text of a failed start.
pub(crate) fn failed(reason: &Reason) -> String {
    format!("error start({})", terms::word(reason))
}

/// Returns the text of `count_children`.
pub(crate) async fn counts<T: Send + 'static>(
    address: &SupervisorAddress<T>,
) -> Result<String, CallError> {
    let counts = address.count_children().await?;
    Ok(format!(
        "count specs={} active={} sups={} workers={}",
        counts.specs, counts.active, counts.supervisors, counts.workers
    ))
}

/// Returns the text of `which_children`.
pub(crate) fn children_text(tree: &Tree, children_text: &[ChildInfo], is_simple: bool) -> String {
    let state = tree.record.state();
    let mut words: Vec<(u32, String)> = Vec::new();
    for child in children_text {
        words.push(match child.state {
            ChildState::Running(pid) => (number(&state, pid), name(&state, pid)),
            state if is_simple => (u32::MAX, format!("dyn:{state}")),
            state => (0, format!("{}:{state}", child.id)),
        });
    }
    if is_simple {
        words.sort();
    }
    let words: Vec<String> = words.into_iter().map(|(_, word)| word).collect();
    if words.is_empty() { "kids -".to_owned() } else { format!("kids {}", words.join(" ")) }
}

fn name_or_undefined(tree: &Tree, pid: Option<Pid>) -> String {
    pid.map_or("undefined".to_owned(), |pid| name(&tree.record.state(), pid))
}

/// Returns the `ID#N` of a process.
pub(crate) fn name(state: &RecordedTree, pid: Pid) -> String {
    let found = state.instances.iter().find(|instance| instance.pid == Some(pid));
    found.map_or_else(|| pid.to_string(), |one| format!("{}#{}", one.id, one.number))
}

fn number(state: &RecordedTree, pid: Pid) -> u32 {
    let found = state.instances.iter().find(|instance| instance.pid == Some(pid));
    found.map_or(0, |instance| instance.number)
}

/// Returns the pid of `ID#N`, alive or not; `None` if the name does not exist.
fn instance(tree: &Tree, name: &str) -> Option<Pid> {
    let (id, number) = name.split_once('#')?;
    let number: u32 = number.parse().ok()?;
    let state = tree.record.state();
    let found = state.instances.iter().find(|one| one.id == id && one.number == number);
    found.and_then(|instance| instance.pid)
}
