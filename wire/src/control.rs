//! Control messages: the requests of one node to another, numbered 1 to 37.
//!
//! Messages with a sequential trace token (12, 13, 16, 18, 23, 25, 27, 30, 32, 34) are
//! decoded like those without; the token is skipped. Messages 4 and 5 are obsolete, and no
//! node that implements this handshake sends them. They are unknown, as is every number
//! not listed below. Arities and types are exact: anything else is an error and ends the
//! connection (rule Zmsg9). Unused fields are written as `''`.

use crate::etf::encode::{
    write_atom, write_int, write_pid, write_reference, write_tuple_head, write_u64,
};
use crate::etf::token::{TermToken, Tokens};
use crate::etf::{Atom, DecodeError, Decoder, EncodeError, ExternalPid, Reference, Term, tag};
use std::num::NonZeroU64;

/// A control message. `from` is a process of the sending node, `to` one of the receiving node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlMessage {
    /// 1: `from` links to `to`.
    Link {
        /// The linking process.
        from: ExternalPid,
        /// The linked process.
        to: ExternalPid,
    },
    /// 2: a message, which is in the payload.
    Send {
        /// The receiver.
        to: ExternalPid,
    },
    /// 3: `from`, linked to `to`, has ended. Without `EXIT_PAYLOAD`.
    Exit {
        /// The ended process.
        from: ExternalPid,
        /// The process linked to it.
        to: ExternalPid,
        /// The exit reason.
        reason: Term,
    },
    /// 6: a message to a name. The message is in the payload.
    RegSend {
        /// The sender.
        from: ExternalPid,
        /// The name of the receiver.
        name: Atom,
    },
    /// 7: `from` becomes the group leader of `to`.
    GroupLeader {
        /// The group leader.
        from: ExternalPid,
        /// The process that gets the group leader.
        to: ExternalPid,
    },
    /// 8: `from` sends `to` an exit signal. Without `EXIT_PAYLOAD`.
    Exit2 {
        /// The sender.
        from: ExternalPid,
        /// The receiver.
        to: ExternalPid,
        /// The exit reason.
        reason: Term,
    },
    /// 19: `from` monitors a process.
    Monitor {
        /// The monitoring process.
        from: ExternalPid,
        /// The monitored process.
        target: Monitored,
        /// The reference of the monitor.
        reference: Reference,
    },
    /// 20: `from` removes a monitor.
    Demonitor {
        /// The monitoring process.
        from: ExternalPid,
        /// The monitored process.
        target: Monitored,
        /// The reference of the monitor.
        reference: Reference,
    },
    /// 21: the process that `to` monitors has ended. Without `EXIT_PAYLOAD`.
    MonitorExit {
        /// The ended process, as named by the monitor.
        target: Monitored,
        /// The monitoring process.
        to: ExternalPid,
        /// The reference of the monitor.
        reference: Reference,
        /// The exit reason.
        reason: Term,
    },
    /// 22: a message, which is in the payload. With `SEND_SENDER`.
    SendSender {
        /// The sender.
        from: ExternalPid,
        /// The receiver.
        to: ExternalPid,
    },
    /// 24: `from`, linked to `to`, has ended. The payload is the reason.
    PayloadExit {
        /// The ended process.
        from: ExternalPid,
        /// The process linked to it.
        to: ExternalPid,
    },
    /// 26: `from` sends `to` an exit signal. The payload is the reason.
    PayloadExit2 {
        /// The sender.
        from: ExternalPid,
        /// The receiver.
        to: ExternalPid,
    },
    /// 28: the process that `to` monitors has ended. The payload is the reason.
    PayloadMonitorExit {
        /// The ended process, as named by the monitor.
        target: Monitored,
        /// The monitoring process.
        to: ExternalPid,
        /// The reference of the monitor.
        reference: Reference,
    },
    /// 29: `from` requests a process that runs a function. The payload is the list of arguments.
    SpawnRequest {
        /// The reference of the request.
        reference: Reference,
        /// The requesting process.
        from: ExternalPid,
        /// The group leader of the new process.
        group_leader: ExternalPid,
        /// The module of the function.
        module: Atom,
        /// The name of the function.
        function: Atom,
        /// The number of arguments.
        arity: u8,
        /// The list of options, as received.
        options: Term,
    },
    /// 31: the answer to a spawn request.
    SpawnReply {
        /// The reference of the request.
        reference: Reference,
        /// The requesting process.
        to: ExternalPid,
        /// Whether `to` is linked to the new process.
        linked: bool,
        /// Whether `to` monitors it, by the reference of the request.
        monitored: bool,
        /// The new process, or the error.
        result: Result<ExternalPid, Atom>,
    },
    /// 33: a message to an alias. The message is in the payload. With `ALIAS`.
    AliasSend {
        /// The sender.
        from: ExternalPid,
        /// The alias.
        alias: Reference,
    },
    /// 35: `from` unlinks from `to`.
    UnlinkId {
        /// The number of the unlink.
        id: NonZeroU64,
        /// The unlinking process.
        from: ExternalPid,
        /// The process it unlinks from.
        to: ExternalPid,
    },
    /// 36: `from` acknowledges an unlink of `to`.
    UnlinkIdAck {
        /// The number of the unlink.
        id: NonZeroU64,
        /// The acknowledging process.
        from: ExternalPid,
        /// The process that has unlinked.
        to: ExternalPid,
    },
    /// 37: a message, or an exit signal if `exit` is set. The payload is the message or
    /// the reason. With `ALTACT_SIG`.
    AltactSend {
        /// The sender.
        from: ExternalPid,
        /// The receiver.
        to: AliasRecipient,
        /// Whether it precedes ordinary messages.
        priority: bool,
        /// Whether it is an exit signal.
        exit: bool,
    },
}

/// The target of a monitor: a process by its pid or by its registered name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Monitored {
    /// A process by its pid.
    Pid(ExternalPid),
    /// The process with this name.
    Name(Atom),
}

/// The receiver of a [`ControlMessage::AltactSend`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AliasRecipient {
    /// A process by its pid.
    Pid(ExternalPid),
    /// The process with this name.
    Name(Atom),
    /// The process with this alias.
    Alias(Reference),
}

/// Why a control message cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// A term in it cannot be decoded, or has another type than the message requires.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// It is not a tuple.
    #[error("a control message is a tuple, not a term of tag {tag}")]
    NoTuple {
        /// The tag of the term.
        tag: u8,
    },
    /// The number of the message is unknown or obsolete.
    #[error("control message {number} is unknown")]
    Unknown {
        /// The number.
        number: i64,
    },
    /// The tuple has another size than the message.
    #[error("control message {number} is a tuple of {expected}, not of {found}")]
    Arity {
        /// The number of the message.
        number: i64,
        /// The size of the message.
        expected: usize,
        /// The size of the tuple.
        found: usize,
    },
    /// A field has an invalid value: the number of an unlink, an arity, or flags.
    #[error("control message {number} has the impossible value {value} as its {field}")]
    Value {
        /// The number of the message.
        number: i64,
        /// The name of the field.
        field: &'static str,
        /// Its value.
        value: i64,
    },
}

const LINKED: i64 = 1;
const MONITORED: i64 = 2;
const PRIORITY: i64 = 1;
const TOKEN: i64 = 2;
const ALIAS: i64 = 4;
const NAME: i64 = 8;
const EXIT: i64 = 16;

impl ControlMessage {
    /// Whether a payload follows: a message, a reason or arguments.
    #[must_use]
    pub fn has_payload(&self) -> bool {
        match self {
            ControlMessage::Send { .. }
            | ControlMessage::RegSend { .. }
            | ControlMessage::SendSender { .. }
            | ControlMessage::PayloadExit { .. }
            | ControlMessage::PayloadExit2 { .. }
            | ControlMessage::PayloadMonitorExit { .. }
            | ControlMessage::SpawnRequest { .. }
            | ControlMessage::AliasSend { .. }
            | ControlMessage::AltactSend { .. } => true,
            ControlMessage::Link { .. }
            | ControlMessage::Exit { .. }
            | ControlMessage::GroupLeader { .. }
            | ControlMessage::Exit2 { .. }
            | ControlMessage::Monitor { .. }
            | ControlMessage::Demonitor { .. }
            | ControlMessage::MonitorExit { .. }
            | ControlMessage::SpawnReply { .. }
            | ControlMessage::UnlinkId { .. }
            | ControlMessage::UnlinkIdAck { .. } => false,
        }
    }

    /// Decodes the next term as a control message. The bytes after it are the payload.
    ///
    /// # Errors
    /// [`ControlError`]; the decoder must not be used any more.
    pub fn read(decoder: &mut Decoder<'_>) -> Result<Self, ControlError> {
        let tag = decoder.tokens.peek_tag()?;
        let TermToken::Tuple(found) = decoder.tokens.next()? else {
            return Err(ControlError::NoTuple { tag });
        };
        if found == 0 {
            return Err(ControlError::NoTuple { tag });
        }
        let number = decoder.tokens.small()?;
        let mut fields = Fields { decoder, number, found };
        fields.read()
    }

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

/// The fields of a control message after its number.
struct Fields<'d, 'a> {
    decoder: &'d mut Decoder<'a>,
    number: i64,
    found: usize,
}

impl<'a> Fields<'_, 'a> {
    fn read(&mut self) -> Result<ControlMessage, ControlError> {
        Ok(match self.number {
            1 => self.two(0, |from, to| ControlMessage::Link { from, to })?,
            2 | 12 => {
                let token = self.arity(3, 12)?;
                self.decoder.term()?;
                let to = self.pid()?;
                self.skip(token)?;
                ControlMessage::Send { to }
            }
            3 | 13 => {
                let (from, to, reason) = self.exit(13)?;
                ControlMessage::Exit { from, to, reason }
            }
            6 | 16 => {
                let token = self.arity(4, 16)?;
                let from = self.pid()?;
                self.decoder.term()?;
                let name = self.tokens().atom()?;
                self.skip(token)?;
                ControlMessage::RegSend { from, name }
            }
            7 => self.two(0, |from, to| ControlMessage::GroupLeader { from, to })?,
            8 | 18 => {
                let (from, to, reason) = self.exit(18)?;
                ControlMessage::Exit2 { from, to, reason }
            }
            19 | 20 => {
                self.arity(4, 0)?;
                let (from, target) = (self.pid()?, self.monitored()?);
                let reference = self.tokens().reference()?;
                if self.number == 19 {
                    ControlMessage::Monitor { from, target, reference }
                } else {
                    ControlMessage::Demonitor { from, target, reference }
                }
            }
            21 => {
                self.arity(5, 0)?;
                let (target, to) = (self.monitored()?, self.pid()?);
                let reference = self.tokens().reference()?;
                ControlMessage::MonitorExit { target, to, reference, reason: self.decoder.term()? }
            }
            22 | 23 => self.two(23, |from, to| ControlMessage::SendSender { from, to })?,
            24 | 25 => self.two(25, |from, to| ControlMessage::PayloadExit { from, to })?,
            26 | 27 => self.two(27, |from, to| ControlMessage::PayloadExit2 { from, to })?,
            28 => {
                self.arity(4, 0)?;
                let (target, to) = (self.monitored()?, self.pid()?);
                ControlMessage::PayloadMonitorExit {
                    target,
                    to,
                    reference: self.tokens().reference()?,
                }
            }
            29 | 30 => self.spawn_request()?,
            31 | 32 => self.spawn_reply()?,
            33 | 34 => {
                let token = self.arity(3, 34)?;
                let (from, alias) = (self.pid()?, self.tokens().reference()?);
                self.skip(token)?;
                ControlMessage::AliasSend { from, alias }
            }
            35 | 36 => {
                self.arity(4, 0)?;
                let (id, from, to) = (self.unlink_id()?, self.pid()?, self.pid()?);
                if self.number == 35 {
                    ControlMessage::UnlinkId { id, from, to }
                } else {
                    ControlMessage::UnlinkIdAck { id, from, to }
                }
            }
            37 => self.altact_send()?,
            number => return Err(ControlError::Unknown { number }),
        })
    }

    fn two(
        &mut self,
        with_token: i64,
        make: impl FnOnce(ExternalPid, ExternalPid) -> ControlMessage,
    ) -> Result<ControlMessage, ControlError> {
        let token = self.arity(3, with_token)?;
        let control = make(self.pid()?, self.pid()?);
        self.skip(token)?;
        Ok(control)
    }

    /// In exit messages the token precedes the reason.
    fn exit(&mut self, with_token: i64) -> Result<(ExternalPid, ExternalPid, Term), ControlError> {
        let token = self.arity(4, with_token)?;
        let (from, to) = (self.pid()?, self.pid()?);
        self.skip(token)?;
        Ok((from, to, self.decoder.term()?))
    }

    fn spawn_request(&mut self) -> Result<ControlMessage, ControlError> {
        let token = self.arity(6, 30)?;
        let reference = self.tokens().reference()?;
        let (from, group_leader) = (self.pid()?, self.pid()?);
        let (offset, tag) = (self.tokens().offset(), self.tokens().peek_tag()?);
        let TermToken::Tuple(3) = self.tokens().next()? else {
            let expected = "a module, a function and an arity";
            return Err(DecodeError::Expected { offset, expected, tag }.into());
        };
        let (module, function) = (self.tokens().atom()?, self.tokens().atom()?);
        let value = self.tokens().small()?;
        let (number, field) = (self.number, "arity");
        let arity =
            u8::try_from(value).map_err(|_| ControlError::Value { number, field, value })?;
        let options = self.decoder.term()?;
        self.skip(token)?;
        Ok(ControlMessage::SpawnRequest {
            reference,
            from,
            group_leader,
            module,
            function,
            arity,
            options,
        })
    }

    fn spawn_reply(&mut self) -> Result<ControlMessage, ControlError> {
        let token = self.arity(5, 32)?;
        let (reference, to) = (self.tokens().reference()?, self.pid()?);
        let flags = self.flags(LINKED | MONITORED)?;
        let result = match self.tokens().peek_tag()? {
            tag::NEW_PID => Ok(self.pid()?),
            _ => Err(self.tokens().atom()?),
        };
        self.skip(token)?;
        let (linked, monitored) = (flags & LINKED != 0, flags & MONITORED != 0);
        Ok(ControlMessage::SpawnReply { reference, to, linked, monitored, result })
    }

    fn altact_send(&mut self) -> Result<ControlMessage, ControlError> {
        // The flags determine the number of fields.
        if self.found < 4 {
            self.arity(4, 0)?;
        }
        let flags = self.flags(PRIORITY | TOKEN | ALIAS | NAME | EXIT)?;
        let token = flags & TOKEN != 0;
        self.arity(4 + usize::from(token), 0)?;
        let from = self.pid()?;
        let to = match flags & (ALIAS | NAME) {
            0 => AliasRecipient::Pid(self.pid()?),
            NAME => AliasRecipient::Name(self.tokens().atom()?),
            ALIAS => AliasRecipient::Alias(self.tokens().reference()?),
            value => {
                return Err(ControlError::Value { number: self.number, field: "flags", value });
            }
        };
        self.skip(token)?;
        let (priority, exit) = (flags & PRIORITY != 0, flags & EXIT != 0);
        Ok(ControlMessage::AltactSend { from, to, priority, exit })
    }

    /// Checks the size of the tuple, which is greater by one for the message with a token.
    /// Returns whether this is that message.
    fn arity(&self, without: usize, with_token: i64) -> Result<bool, ControlError> {
        let token = self.number == with_token;
        let expected = without + usize::from(token);
        let (number, found) = (self.number, self.found);
        if found == expected {
            Ok(token)
        } else {
            Err(ControlError::Arity { number, expected, found })
        }
    }

    fn tokens(&mut self) -> &mut Tokens<'a> {
        &mut self.decoder.tokens
    }

    fn pid(&mut self) -> Result<ExternalPid, DecodeError> {
        self.decoder.tokens.pid()
    }

    fn monitored(&mut self) -> Result<Monitored, DecodeError> {
        match self.decoder.tokens.peek_tag()? {
            tag::NEW_PID => self.pid().map(Monitored::Pid),
            _ => self.decoder.tokens.atom().map(Monitored::Name),
        }
    }

    fn unlink_id(&mut self) -> Result<NonZeroU64, ControlError> {
        let (offset, tag) = (self.decoder.offset(), self.decoder.tokens.peek_tag()?);
        let id = match self.decoder.tokens.next()? {
            TermToken::Int(value) => {
                u64::try_from(value).ok().and_then(NonZeroU64::new).ok_or(value)
            }
            TermToken::Big(number) => {
                let id = number.to_u128().and_then(|number| u64::try_from(number).ok());
                id.and_then(NonZeroU64::new).ok_or(i64::MAX)
            }
            _ => return Err(DecodeError::Expected { offset, expected: "an integer", tag }.into()),
        };
        let (number, field) = (self.number, "id");
        id.map_err(|value| ControlError::Value { number, field, value })
    }

    fn flags(&mut self, known: i64) -> Result<i64, ControlError> {
        let value = self.decoder.tokens.small()?;
        if value & !known == 0 {
            return Ok(value);
        }
        Err(ControlError::Value { number: self.number, field: "flags", value })
    }

    fn skip(&mut self, token: bool) -> Result<(), DecodeError> {
        if token {
            self.decoder.term()?;
        }
        Ok(())
    }
}
