//! Reaching a process by its pid, its name or an alias.

use crate::addressing::address::Address;
use crate::addressing::dynamic::Dynamic;
use crate::host::host::Host;
use crate::process::bonds::is_foreign;
use crate::process::current;
use krarup_gen::{
    DeadLetter, DeadLetterCause, Destination, LookupError, Name, Pid, SendError, Target,
};

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
    };
    if let Some(process) = process {
        return process.send_dynamic(message, alias);
    }
    let (target, cause) = match to {
        Destination::Pid(pid) => (Some(Target::Pid(pid)), DeadLetterCause::NoProcess),
        // A string that is not a valid name belongs to no process.
        Destination::Name(name) => {
            (Name::new(name).ok().map(|name| Target::Name(name, None)), DeadLetterCause::NoProcess)
        }
        Destination::Alias(alias) => (Some(Target::Alias(alias, None)), DeadLetterCause::Revoked),
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
    })
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
