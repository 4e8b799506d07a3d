//! Pids, references, recipients and reply tokens in messages that are read.

use crate::calls::caller::{AnswerWay, RemoteCaller};
use crate::core::ClusterCore;
use crate::terms::writing::{ALIAS, PID, RECIPIENT, REF, REPLY};
use krarup_act::CarriedTokens;
use krarup_wire::codec::{Extension, ExtensionValue};
use krarup_wire::etf::{Atom, Term};
use std::cell::Cell;
use std::sync::Arc;

/// Reads a message.
pub(crate) struct Reading<'a> {
    pub(crate) core: &'a Arc<ClusterCore>,
    /// The number of the process that reads it.
    pub(crate) by: u64,
    /// Whether the message is a call whose token was not taken yet.
    pub(crate) has_caller: bool,
    /// A token wanted the caller of a message that has none.
    pub(crate) missed_caller: Cell<bool>,
    /// The node that has sent it, if it is known.
    pub(crate) from: Option<&'a Atom>,
}

impl Extension for Reading<'_> {
    fn write(
        &mut self,
        _: &'static str,
        _: &ExtensionValue,
        _: &mut Vec<u8>,
    ) -> Result<bool, String> {
        Err("this message is read".to_owned())
    }

    fn has_term(&self, name: &'static str) -> bool {
        let is_in_term = name != REPLY || !self.has_caller;
        self.missed_caller.set(self.missed_caller.get() || (name == REPLY && is_in_term));
        is_in_term
    }

    fn is_field_without_term(&self, field: &str) -> bool {
        self.has_caller && field == "reply"
    }

    fn read(&mut self, name: &'static str, term: Option<Term>) -> Result<ExtensionValue, String> {
        match (name, term) {
            (PID | RECIPIENT, Some(Term::Pid(external))) => {
                let pid = self.core.pid_of(&external).ok_or("the table of nodes is full")?;
                Ok(ExtensionValue::Text(pid.to_string()))
            }
            (REF | ALIAS, Some(Term::Reference(reference))) => {
                let number = self.core.number_of(&reference);
                number.map(ExtensionValue::Number).ok_or_else(|| {
                    format!("{} is a reference of another node", Term::Reference(reference))
                })
            }
            (REPLY, None) => {
                self.has_caller = false;
                Ok(ExtensionValue::Number(0))
            }
            (REPLY, Some(from)) => {
                let mut caller =
                    RemoteCaller::from_term(&from).ok_or_else(|| format!("{from} is no caller"))?;
                // A caller on the node that has sent this may hear of the loss of the connection. One on a third node,
                // which has called that node, does not.
                if self.from == Some(&caller.pid.node) {
                    caller.way = AnswerWay::IfConnected;
                }
                let answerer = caller.answerer(self.core, self.by);
                let number = CarriedTokens::with(|tokens| tokens.offer(answerer));
                number.map(ExtensionValue::Number).ok_or_else(|| "no message is read".to_owned())
            }
            (name, Some(term)) => Err(format!("{term} is not a {name}")),
            (name, None) => Err(format!("there is no {name}")),
        }
    }
}
