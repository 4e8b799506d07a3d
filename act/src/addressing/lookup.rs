//! Reaching a process by its pid, its name or an alias.

use crate::addressing::address::Address;
use crate::addressing::dynamic::Dynamic;
use crate::host::host::Host;
use crate::process::bonds::is_foreign;
use crate::process::current;
use crate::process::process::Process;
use krarup_gen::{
    DeadLetter, DeadLetterCause, Destination, LookupError, Name, NodeName, Pid, SendError, Target,
};
use std::sync::Arc;

/// Sends a value to a process identified by its pid, its name or an alias. The receiver's
/// message type must be the value's, unless it accepts others (rule M7).
///
/// # Errors
/// [`SendError::WrongType`], [`SendError::NoName`], [`SendError::Revoked`], and those of
/// [`Address::send`]; all return the value.
pub fn send_dynamic<T: Send + 'static>(
    host: &dyn Host,
    to: Destination<'_>,
    message: T,
) -> Result<(), SendError<Dynamic>> {
    let message = Dynamic::new(message);
    let (process, alias) = match to {
        Destination::Pid(pid) => (host.process(pid), None),
        Destination::Name(name) => (host.whereis(name), None),
        Destination::Alias(alias) => (host.by_alias(alias), Some(alias)),
        Destination::Remote { name, node } => (remote_process(host, name, node), None),
    };
    if let Some(process) = process {
        let is_remote = process.remote().is_some();
        let sent = process.send_dynamic(message, alias);
        if is_remote && sent.is_ok() {
            // A process of this node counts what it accepts itself.
            current::count_sent();
        }
        return sent;
    }
    let (target, cause) = match to {
        Destination::Pid(pid) => (Some(Target::Pid(pid)), DeadLetterCause::NoProcess),
        // A string that is not a valid name belongs to no process.
        Destination::Name(name) => {
            (Name::new(name).ok().map(|name| Target::Name(name, None)), DeadLetterCause::NoProcess)
        }
        Destination::Alias(alias) => (Some(Target::Alias(alias, None)), DeadLetterCause::Revoked),
        Destination::Remote { name, node } => {
            let target = Name::new(name).ok().zip(NodeName::new(node).ok());
            (target.map(|(name, node)| Target::Remote(name, node)), DeadLetterCause::NoProcess)
        }
    };
    let target = target.unwrap_or(Target::Pid(host.node_pid()));
    let from = current::pid().filter(|pid| pid.creation() == host.node_pid().creation());
    host.dead_letter(DeadLetter::new(target, from, message.type_name(), cause));
    Err(match to {
        Destination::Pid(to) if is_foreign(host.node_pid(), to) => {
            SendError::NoConnection { message, to }
        }
        Destination::Pid(to) => SendError::NoProcess { message, to },
        Destination::Name(name) => SendError::NoName { message, name: name.to_owned() },
        Destination::Alias(alias) => SendError::Revoked { message, alias },
        Destination::Remote { node, .. } if host.network().is_none() => {
            SendError::NoNode { message, node: node.to_owned() }
        }
        Destination::Remote { name, node } => {
            SendError::NoName { message, name: format!("{name}@{node}") }
        }
    })
}

/// The process with this name on the node with that name, which may be this one.
fn remote_process(host: &dyn Host, name: &str, node: &str) -> Option<Arc<dyn Process>> {
    if node == host.node_name() {
        return host.whereis(name);
    }
    host.network()?.named(&Name::new(name).ok()?, &NodeName::new(node).ok()?)
}

/// Returns the typed address of the process with this name.
///
/// # Errors
/// [`LookupError`] if no process has the name, or if the process has other message types.
pub fn lookup<M, C>(host: &dyn Host, name: &str) -> Result<Address<M, C>, LookupError>
where
    M: Send + 'static,
    C: Send + 'static,
{
    let process = host.whereis(name);
    Address::of(&process.ok_or_else(|| LookupError::NoName(name.to_owned()))?)
}

/// Returns the typed address of the process with this pid.
///
/// # Errors
/// As [`lookup`].
pub fn address_of<M, C>(host: &dyn Host, pid: Pid) -> Result<Address<M, C>, LookupError>
where
    M: Send + 'static,
    C: Send + 'static,
{
    if is_foreign(host.node_pid(), pid) {
        return Err(LookupError::NoConnection(pid));
    }
    Address::of(&host.process(pid).ok_or(LookupError::NoProcess(pid))?)
}
