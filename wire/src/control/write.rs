//! Encoding of control messages.

use super::message::{
    ALIAS, AliasRecipient, ControlMessage, EXIT, LINKED, MONITORED, Monitored, NAME, PRIORITY,
};
use crate::etf::encode::{
    write_atom, write_int, write_pid, write_reference, write_tuple_head, write_u64,
};
use crate::etf::{EncodeError, ExternalPid};

impl ControlMessage {
    /// Appends the message as a term, without a version byte.
    ///
    /// # Errors
    /// [`EncodeError`] if a reason or an option cannot be encoded.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            ControlMessage::Link { from, to } => two(1, from, to, out)?,
            ControlMessage::Send { to } => {
                head(2, 3, out)?;
                write_atom("", out);
                write_pid(to, out);
            }
            ControlMessage::Exit { from, to, reason }
            | ControlMessage::Exit2 { from, to, reason } => {
                head(if matches!(self, ControlMessage::Exit { .. }) { 3 } else { 8 }, 4, out)?;
                write_pid(from, out);
                write_pid(to, out);
                reason.write(out)?;
            }
            ControlMessage::RegSend { from, name } => {
                head(6, 4, out)?;
                write_pid(from, out);
                write_atom("", out);
                write_atom(name.as_str(), out);
            }
            ControlMessage::GroupLeader { from, to } => two(7, from, to, out)?,
            ControlMessage::SendSender { from, to } => two(22, from, to, out)?,
            ControlMessage::PayloadExit { from, to } => two(24, from, to, out)?,
            ControlMessage::PayloadExit2 { from, to } => two(26, from, to, out)?,
            ControlMessage::Monitor { .. }
            | ControlMessage::Demonitor { .. }
            | ControlMessage::MonitorExit { .. }
            | ControlMessage::PayloadMonitorExit { .. } => self.write_monitor(out)?,
            ControlMessage::SpawnRequest {
                reference,
                from,
                group_leader,
                module,
                function,
                arity,
                options,
            } => {
                head(29, 6, out)?;
                write_reference(reference, out);
                write_pid(from, out);
                write_pid(group_leader, out);
                write_tuple_head(3, out)?;
                write_atom(module.as_str(), out);
                write_atom(function.as_str(), out);
                write_int((*arity).into(), out);
                options.write(out)?;
            }
            ControlMessage::SpawnReply { reference, to, linked, monitored, result } => {
                head(31, 5, out)?;
                write_reference(reference, out);
                write_pid(to, out);
                write_int(i64::from(*linked) * LINKED + i64::from(*monitored) * MONITORED, out);
                match result {
                    Ok(pid) => write_pid(pid, out),
                    Err(error) => write_atom(error.as_str(), out),
                }
            }
            ControlMessage::AliasSend { from, alias } => {
                head(33, 3, out)?;
                write_pid(from, out);
                write_reference(alias, out);
            }
            ControlMessage::UnlinkId { id, from, to }
            | ControlMessage::UnlinkIdAck { id, from, to } => {
                head(
                    if matches!(self, ControlMessage::UnlinkId { .. }) { 35 } else { 36 },
                    4,
                    out,
                )?;
                write_u64(id.get(), out);
                write_pid(from, out);
                write_pid(to, out);
            }
            ControlMessage::AltactSend { from, to, priority, exit } => {
                head(37, 4, out)?;
                let kind = match to {
                    AliasRecipient::Pid(_) => 0,
                    AliasRecipient::Name(_) => NAME,
                    AliasRecipient::Alias(_) => ALIAS,
                };
                write_int(kind + i64::from(*priority) * PRIORITY + i64::from(*exit) * EXIT, out);
                write_pid(from, out);
                match to {
                    AliasRecipient::Pid(pid) => write_pid(pid, out),
                    AliasRecipient::Name(name) => write_atom(name.as_str(), out),
                    AliasRecipient::Alias(alias) => write_reference(alias, out),
                }
            }
        }
        Ok(())
    }

    /// Writes the messages about monitors.
    fn write_monitor(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            ControlMessage::Monitor { from, target, reference }
            | ControlMessage::Demonitor { from, target, reference } => {
                head(if matches!(self, ControlMessage::Monitor { .. }) { 19 } else { 20 }, 4, out)?;
                write_pid(from, out);
                write_monitored(target, out);
                write_reference(reference, out);
            }
            ControlMessage::MonitorExit { target, to, reference, reason } => {
                head(21, 5, out)?;
                write_monitored(target, out);
                write_pid(to, out);
                write_reference(reference, out);
                reason.write(out)?;
            }
            ControlMessage::PayloadMonitorExit { target, to, reference } => {
                head(28, 4, out)?;
                write_monitored(target, out);
                write_pid(to, out);
                write_reference(reference, out);
            }
            // The other messages are written in `write`.
            _ => {}
        }
        Ok(())
    }
}

/// Writes the start of a tuple and the number of the message.
fn head(number: u8, arity: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    write_tuple_head(arity, out)?;
    write_int(number.into(), out);
    Ok(())
}

/// Writes a message that consists of its number and two pids.
fn two(
    number: u8,
    one: &ExternalPid,
    other: &ExternalPid,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    head(number, 3, out)?;
    write_pid(one, out);
    write_pid(other, out);
    Ok(())
}

fn write_monitored(target: &Monitored, out: &mut Vec<u8>) {
    match target {
        Monitored::Pid(pid) => write_pid(pid, out),
        Monitored::Name(name) => write_atom(name.as_str(), out),
    }
}
