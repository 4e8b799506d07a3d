//! Who asks for a function, and how the outcome reaches it.

use crate::calls::caller::RemoteCaller;
use crate::functions::outcome::{FunctionOutcome, ending};
use crate::peer::signal::{Signal, SignalPayload};
use krarup_wire::etf::{ExternalPid, Reference, Term};
use krarup_wire::{ControlMessage, Monitored};

/// Who asks for a function.
#[derive(Debug)]
pub(crate) enum Asker {
    /// A spawn request of `erpc:execute_call/4`, with its result's mark, or of
    /// `erpc:execute_cast/3`.
    Spawn { reference: Reference, from: ExternalPid, monitors: bool, result: Option<Term> },
    /// An old `rpc`, `{Pid, {call, ..}}`.
    Rex(ExternalPid),
    /// A call of `rex` as a `gen_server`.
    RexCall(RemoteCaller),
    /// A cast to `rex`.
    Nobody,
}

impl Asker {
    /// The reference by which it gives up, if it can.
    pub(crate) fn reference(&self) -> Option<&Reference> {
        match self {
            Asker::Spawn { reference, .. } => Some(reference),
            Asker::RexCall(caller) => caller.monitor(),
            Asker::Rex(_) | Asker::Nobody => None,
        }
    }

    /// Writes an outcome for it. It may run the `Display` of a reason.
    pub(crate) fn payload(&self, outcome: FunctionOutcome) -> SignalPayload {
        match self {
            Asker::Spawn { result: Some(result), .. } => outcome.of_call(result.clone()),
            Asker::Spawn { result: None, .. } | Asker::Nobody => outcome.of_cast(),
            Asker::Rex(_) => SignalPayload::Bytes(ending([Term::atom("rex")], outcome.of_rex())),
            Asker::RexCall(caller) => {
                SignalPayload::Bytes(ending([caller.tag.clone()], outcome.of_rex()))
            }
        }
    }

    /// The signal that says the outcome, from the process with this number; `None` if nobody
    /// hears it.
    pub(crate) fn signal(
        self,
        (by, process): (u64, ExternalPid),
        payload: SignalPayload,
    ) -> Option<Signal> {
        let control = match self {
            Asker::Spawn { reference, from, monitors: true, .. } => {
                let target = Monitored::Pid(process);
                ControlMessage::PayloadMonitorExit { target, to: from, reference }
            }
            Asker::Rex(to) => ControlMessage::SendSender { from: process, to },
            Asker::RexCall(caller) => match caller.alias() {
                Some(alias) => {
                    ControlMessage::AliasSend { from: process, alias: Reference::clone(alias) }
                }
                None => ControlMessage::SendSender { from: process, to: caller.pid },
            },
            Asker::Spawn { monitors: false, .. } | Asker::Nobody => return None,
        };
        Some(Signal::new(by, control, None).with_payload(payload))
    }
}
