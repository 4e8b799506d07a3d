//! Pids, references, recipients and reply tokens in messages that are written.

use crate::core::ClusterCore;
use krarup_gen::{Pid, Ref};
use krarup_wire::codec::{Extension, ExtensionValue};
use krarup_wire::etf::Term;
use std::sync::Arc;

/// The name of a type for the codec.
pub(crate) const PID: &str = "krarup.Pid";
/// The name of a type for the codec.
pub(crate) const REF: &str = "krarup.Ref";
/// The name of a type for the codec.
pub(crate) const ALIAS: &str = "krarup.Alias";
/// The name of a type for the codec.
pub(crate) const REPLY: &str = "krarup.Reply";
/// The name of a type for the codec.
pub(crate) const RECIPIENT: &str = "krarup.Recipient";

/// Writes a message.
pub(crate) struct Writing<'a> {
    pub(crate) core: &'a Arc<ClusterCore>,
    /// The process whose calls the tokens inside the message are.
    pub(crate) by: Pid,
    /// Whether the first token is that of the call that the message makes.
    pub(crate) is_call: bool,
    /// The tokens inside the message: their numbers, and the references of their calls.
    pub(crate) nested: Vec<(u64, Ref)>,
}

impl<'a> Writing<'a> {
    pub(crate) fn new(core: &'a Arc<ClusterCore>, by: Pid, is_call: bool) -> Self {
        Writing { core, by, is_call, nested: Vec::new() }
    }

    fn pid(&self, text: &str) -> Result<Term, String> {
        let pid: Pid =
            text.parse().map_err(|error: krarup_gen::ParsePidError| error.to_string())?;
        let pid = self.core.external(pid).ok_or_else(|| format!("{pid} is of an unknown node"))?;
        Ok(pid.into())
    }
}

impl Extension for Writing<'_> {
    fn write(
        &mut self,
        name: &'static str,
        held: &ExtensionValue,
        out: &mut Vec<u8>,
    ) -> Result<bool, String> {
        let term = match (name, held) {
            (PID | RECIPIENT, ExtensionValue::Text(text)) => self.pid(text)?,
            (REF | ALIAS, ExtensionValue::Number(number)) => {
                self.core.alias(Ref::new(*number)).into()
            }
            (REPLY, ExtensionValue::Number(0)) if self.is_call => return Ok(false),
            (REPLY, ExtensionValue::Number(number)) => {
                let reference = self.core.host.next_ref();
                self.nested.push((*number, reference));
                self.core.caller_term(self.by, reference)
            }
            _ => return Err("the cluster does not know this type".to_owned()),
        };
        term.write(out).map_err(|error| error.to_string())?;
        Ok(true)
    }

    fn has_term(&self, _: &'static str) -> bool {
        true
    }

    fn read(&mut self, _: &'static str, _: Option<Term>) -> Result<ExtensionValue, String> {
        Err("this message is written".to_owned())
    }
}
