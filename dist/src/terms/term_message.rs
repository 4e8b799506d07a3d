//! Letters: messages of any terms, for processes that are not typed.

use krarup_act::{CarriedTokens, MessageKind, Reply, claim, lend};
use krarup_wire::etf::Term;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};

/// A message of any term, as it came or as it is to be sent.
///
/// An actor whose message type is `TermMessage` receives whatever other nodes send to it, and a
/// [`Recipient`](krarup_act::Recipient) of letters calls and casts with any term.
#[derive(Debug)]
pub enum TermMessage {
    /// `gen_server:call`: the request, and the token to answer it.
    Call(Term, Reply<Term>),
    /// `gen_server:cast`.
    Cast(Term),
    /// `Pid ! Term`.
    Info(Term),
}

impl Serialize for TermMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            TermMessage::Call(request, reply) => {
                lend(reply).map_err(S::Error::custom)?;
                request.serialize(serializer)
            }
            TermMessage::Cast(term) => term.serialize(serializer),
            TermMessage::Info(term) => {
                let _ = CarriedTokens::with(|tokens| tokens.kind = MessageKind::Plain);
                term.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for TermMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let term = Term::deserialize(deserializer)?;
        match CarriedTokens::with(|tokens| tokens.kind) {
            Some(MessageKind::Call) => {
                claim(0).map(|reply| TermMessage::Call(term, reply)).map_err(D::Error::custom)
            }
            Some(MessageKind::Cast) => Ok(TermMessage::Cast(term)),
            Some(_) => Ok(TermMessage::Info(term)),
            None => Err(D::Error::custom("a letter exists within a cluster only")),
        }
    }
}
