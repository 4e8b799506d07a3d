//! Decoding of control messages.

use super::error::ControlError;
use super::message::{
    ALIAS, AliasRecipient, ControlMessage, EXIT, LINKED, MONITORED, Monitored, NAME, PRIORITY,
    TOKEN,
};
use crate::etf::token::TermToken;
use crate::etf::tokens::Tokens;
use crate::etf::{DecodeError, Decoder, ExternalPid, Term, tag};
use std::num::NonZeroU64;

impl ControlMessage {
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
        let arity = u8::try_from(value).map_err(|_| ControlError::Value {
            number,
            field,
            value: value.into(),
        })?;
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
                return Err(ControlError::Value {
                    number: self.number,
                    field: "flags",
                    value: value.into(),
                });
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
        let expected = DecodeError::Expected { offset, expected: "an integer of 64 bits", tag };
        let value = match self.decoder.tokens.next()? {
            TermToken::Int(value) => value.into(),
            TermToken::Big(number) => number.to_i128().ok_or(expected)?,
            _ => return Err(expected.into()),
        };
        let (number, field) = (self.number, "id");
        let id = u64::try_from(value).ok().and_then(NonZeroU64::new);
        id.ok_or(ControlError::Value { number, field, value })
    }

    fn flags(&mut self, known: i64) -> Result<i64, ControlError> {
        let value = self.decoder.tokens.small()?;
        if value & !known == 0 {
            return Ok(value);
        }
        Err(ControlError::Value { number: self.number, field: "flags", value: value.into() })
    }

    fn skip(&mut self, token: bool) -> Result<(), DecodeError> {
        if token {
            self.decoder.term()?;
        }
        Ok(())
    }
}
