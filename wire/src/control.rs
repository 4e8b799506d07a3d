//! Control messages: what one node asks of another, and what the numbers 1 to 37 stand for.
//!
//! Messages with a sequential trace token (12, 13, 16, 18, 23, 25, 27, 30, 32, 34) are read as those without: the token
//! is skipped. 4 and 5 are obsolete, and nobody who speaks this handshake sends them; they are unknown, as is
//! every number that is not below. Arities and types are exact: anything else is an error, and ends the connection
//! (rule Zmsg9). What is not used is written as `''`.

use crate::etf::encode::{
    write_atom, write_int, write_pid, write_reference, write_tuple_head, write_u64,
};
use crate::etf::token::{TermToken, Tokens};
use crate::etf::{Atom, DecodeError, Decoder, EncodeError, ExternalPid, Reference, Term, tag};
use std::num::NonZeroU64;

/// A control message. `from` and `to` are processes of the sending and of the receiving node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlMessage {
    /// 1: `from` links to `to`.
    Link {
        /// Who links.
        from: ExternalPid,
        /// To whom.
        to: ExternalPid,
    },
    /// 2: a message, which is the payload.
    Send {
        /// The receiver.
        to: ExternalPid,
    },
    /// 3: `from`, linked to `to`, has ended. Without `EXIT_PAYLOAD`.
    Exit {
        /// Who has ended.
        from: ExternalPid,
        /// Who is linked to it.
        to: ExternalPid,
        /// Why.
        reason: Term,
    },
    /// 6: a message to a name, which is the payload.
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
        /// Whose it becomes.
        to: ExternalPid,
    },
    /// 8: `from` asks `to` to end. Without `EXIT_PAYLOAD`.
    Exit2 {
        /// Who asks.
        from: ExternalPid,
        /// Whom.
        to: ExternalPid,
        /// The reason.
        reason: Term,
    },
    /// 19: `from` monitors a process.
    Monitor {
        /// Who monitors.
        from: ExternalPid,
        /// What.
        target: Monitored,
        /// The monitor.
        reference: Reference,
    },
    /// 20: `from` monitors no longer.
    Demonitor {
        /// Who monitored.
        from: ExternalPid,
        /// What.
        target: Monitored,
        /// The monitor.
        reference: Reference,
    },
    /// 21: what `to` monitors has ended. Without `EXIT_PAYLOAD`.
    MonitorExit {
        /// What has ended, as it was named by the monitor.
        target: Monitored,
        /// Who monitors it.
        to: ExternalPid,
        /// The monitor.
        reference: Reference,
        /// Why.
        reason: Term,
    },
    /// 22: a message, which is the payload. With `SEND_SENDER`.
    SendSender {
        /// The sender.
        from: ExternalPid,
        /// The receiver.
        to: ExternalPid,
    },
    /// 24: `from`, linked to `to`, has ended. The payload is the reason.
    PayloadExit {
        /// Who has ended.
        from: ExternalPid,
        /// Who is linked to it.
        to: ExternalPid,
    },
    /// 26: `from` asks `to` to end. The payload is the reason.
    PayloadExit2 {
        /// Who asks.
        from: ExternalPid,
        /// Whom.
        to: ExternalPid,
    },
    /// 28: what `to` monitors has ended. The payload is the reason.
    PayloadMonitorExit {
        /// What has ended, as it was named by the monitor.
        target: Monitored,
        /// Who monitors it.
        to: ExternalPid,
        /// The monitor.
        reference: Reference,
    },
    /// 29: `from` asks for a process that runs a function. The payload is the list of arguments.
    SpawnRequest {
        /// The request.
        reference: Reference,
        /// Who asks.
        from: ExternalPid,
        /// The group leader of the new process.
        group_leader: ExternalPid,
        /// The module of the function.
        module: Atom,
        /// The function.
        function: Atom,
        /// How many arguments it takes.
        arity: u8,
        /// The options, as they came: a list.
        options: Term,
    },
    /// 31: the answer to a request for a process.
    SpawnReply {
        /// The request.
        reference: Reference,
        /// Who asked.
        to: ExternalPid,
        /// Whether `to` is linked to the new process.
        linked: bool,
        /// Whether `to` monitors it, by the reference of the request.
        monitored: bool,
        /// The process, or why there is none.
        result: Result<ExternalPid, Atom>,
    },
    /// 33: a message to an alias, which is the payload. With ALIAS.
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
        /// Who unlinks.
        from: ExternalPid,
        /// From whom.
        to: ExternalPid,
    },
    /// 36: `from` acknowledges an unlink of `to`.
    UnlinkIdAck {
        /// The number of the unlink.
        id: NonZeroU64,
        /// Who acknowledges.
        from: ExternalPid,
        /// Who has unlinked.
        to: ExternalPid,
    },
    /// 37: a message or, if `exit`, a request to end; the payload is the message or the reason. With `ALTACT_SIG`.
    AltactSend {
        /// The sender.
        from: ExternalPid,
        /// The receiver.
        to: AliasRecipient,
        /// Whether it goes before ordinary messages.
        priority: bool,
        /// Whether it asks the receiver to end.
        exit: bool,
    },
}

/// What is monitored: a process by its pid, or whoever has a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Monitored {
    /// A process.
    Pid(ExternalPid),
    /// Who has this name.
    Name(Atom),
}

/// Who receives a message of [`ControlMessage::AltactSend`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AliasRecipient {
    /// A process.
    Pid(ExternalPid),
    /// Who has this name.
    Name(Atom),
    /// Whose alias this is.
    Alias(Reference),
}

/// A control message cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// A term in it cannot be read, or is of another type than the message has.
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
    /// The tuple has another size than the message has.
    #[error("control message {number} is a tuple of {expected}, not of {found}")]
    Arity {
        /// The number of the message.
        number: i64,
        /// The size it has.
        expected: usize,
        /// The size of the tuple.
        found: usize,
    },
    /// A field has a value that it cannot have: the number of an unlink, or flags.
    #[error("control message {number} has the impossible value {value} as its {field}")]
    Value {
        /// The number of the message.
        number: i64,
        /// The field.
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
    /// Whether a payload follows: a message, a reason, or arguments.
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

    /// Reads the next term as a control message. What follows is the payload.
    ///
    /// # Errors
    /// [`ControlError`]; the decoder is of no use then.
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

    /// Appends the message as a term, without a version.
    ///
    /// # Errors
    /// [`EncodeError`] if a reason or an option cannot be written.
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

    /// The messages about monitors.
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
            // The others are written above.
            _ => {}
        }
        Ok(())
    }
}

/// The tuple and its number.
fn head(number: u8, arity: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    write_tuple_head(arity, out)?;
    write_int(number.into(), out);
    Ok(())
}

/// A message that is its number and two pids.
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

/// The fields of a control message behind its number.
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

    /// The token stands before the reason.
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
        // How many fields there are is known from the flags.
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

    /// Checks the size of the tuple, one more if the message is the one with a token. Whether it is.
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
