//! The calls of functions of other nodes that have no outcome yet.

use crate::one_shot::OneShotSender;
use krarup_wire::etf::{Atom, ExternalPid, Term};
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The most calls to one node that were given up and whose requests it has not answered.
const MOST_ABANDONED: usize = if cfg!(test) { 4 } else { 65_536 };

/// How a call has ended.
#[derive(Debug, PartialEq)]
pub(crate) enum RpcEnd {
    /// The process of the function has ended with this reason.
    Ended(Term),
    /// The request was refused.
    Refused(Atom),
    /// The peer does not know such requests.
    NotSupported,
    /// The connection is lost, or could not be made.
    Lost,
}

/// A call without an outcome.
struct PendingRpc {
    node: Atom,
    /// The process that calls.
    from: ExternalPid,
    phase: RpcPhase,
}

enum RpcPhase {
    Requested(OneShotSender<RpcEnd>),
    Running(OneShotSender<RpcEnd>, ExternalPid),
    Abandoned,
}

/// What a reply to a request means.
#[derive(Debug, PartialEq)]
pub(crate) enum SpawnReplied {
    /// There is no such request.
    Unasked,
    /// The function runs, or its call has failed.
    Expected,
    /// The call was given up: the monitor of `from` on `process` is to be removed.
    Demonitor { from: ExternalPid, process: ExternalPid },
}

/// What is left of a call that was given up.
#[derive(Debug, PartialEq)]
pub(crate) enum GivenUp {
    /// Nothing.
    Over,
    /// Its monitor.
    Demonitor { node: Atom, from: ExternalPid, process: ExternalPid },
    /// Too many requests that the node does not answer.
    TooMany(Atom),
}

/// The calls of a node, by the numbers of the references of their requests.
#[derive(Default)]
pub(crate) struct Rpcs {
    pending: Mutex<BTreeMap<u64, PendingRpc>>,
}

impl Rpcs {
    pub(crate) fn insert(
        &self,
        number: u64,
        (node, from): (Atom, ExternalPid),
        waits: OneShotSender<RpcEnd>,
    ) {
        let call = PendingRpc { node, from, phase: RpcPhase::Requested(waits) };
        self.pending.lock().insert(number, call);
    }

    /// Handles the reply of a node to a request.
    pub(crate) fn replied(
        &self,
        node: &Atom,
        number: u64,
        is_monitored: bool,
        result: Result<ExternalPid, Atom>,
    ) -> SpawnReplied {
        let (waits, why) = {
            let mut pending = self.pending.lock();
            let Some(call) = pending.get_mut(&number).filter(|call| call.node == *node) else {
                return SpawnReplied::Unasked;
            };
            if let RpcPhase::Running(..) = call.phase {
                return SpawnReplied::Unasked;
            }
            let phase = std::mem::replace(&mut call.phase, RpcPhase::Abandoned);
            match (phase, result) {
                (RpcPhase::Requested(waits), Ok(process)) if is_monitored => {
                    call.phase = RpcPhase::Running(waits, process);
                    return SpawnReplied::Expected;
                }
                (phase, result) => {
                    let removed = pending.remove(&number);
                    match (phase, result) {
                        // Its outcome would never come.
                        (RpcPhase::Requested(waits), Ok(_)) => (waits, Atom::fixed("unmonitored")),
                        (RpcPhase::Requested(waits), Err(why)) => (waits, why),
                        (_, Ok(process)) if is_monitored => {
                            let from = removed.map(|call| call.from);
                            return from.map_or(SpawnReplied::Expected, |from| {
                                SpawnReplied::Demonitor { from, process }
                            });
                        }
                        _ => return SpawnReplied::Expected,
                    }
                }
            }
        };
        waits.send(RpcEnd::Refused(why));
        SpawnReplied::Expected
    }

    /// Handles the end of the process of a function. Returns whether it was one.
    pub(crate) fn ended(&self, node: &Atom, number: u64, reason: &Term) -> bool {
        let waits = {
            let mut pending = self.pending.lock();
            let Some(call) = pending.get(&number).filter(|call| call.node == *node) else {
                return false;
            };
            if !matches!(call.phase, RpcPhase::Running(..)) {
                return true;
            }
            pending.remove(&number)
        };
        if let Some(PendingRpc { phase: RpcPhase::Running(waits, _), .. }) = waits {
            waits.send(RpcEnd::Ended(reason.clone()));
        }
        true
    }

    /// The request could not be sent.
    pub(crate) fn not_sent(&self, number: u64, end: RpcEnd) {
        let call = self.pending.lock().remove(&number);
        if let Some(call) = call {
            call.fail(end);
        }
    }

    /// The caller does not wait any more.
    pub(crate) fn give_up(&self, number: u64) -> GivenUp {
        let mut pending = self.pending.lock();
        let Some(mut call) = pending.remove(&number) else { return GivenUp::Over };
        let given_up = match std::mem::replace(&mut call.phase, RpcPhase::Abandoned) {
            RpcPhase::Running(_, process) => {
                GivenUp::Demonitor { node: call.node, from: call.from, process }
            }
            _ => {
                let is_same = |other: &&PendingRpc| {
                    other.node == call.node && matches!(other.phase, RpcPhase::Abandoned)
                };
                let is_many = pending.len() >= MOST_ABANDONED;
                let too_many =
                    is_many && pending.values().filter(is_same).count() >= MOST_ABANDONED;
                let node = call.node.clone();
                pending.insert(number, call);
                if too_many { GivenUp::TooMany(node) } else { GivenUp::Over }
            }
        };
        drop(pending);
        given_up
    }

    /// Fails all calls to this node.
    pub(crate) fn lost(&self, node: &Atom) {
        let lost: Vec<PendingRpc> = {
            let mut pending = self.pending.lock();
            let numbers: Vec<u64> =
                pending.iter().filter(|(_, call)| call.node == *node).map(|(n, _)| *n).collect();
            numbers.iter().filter_map(|number| pending.remove(number)).collect()
        };
        for call in lost {
            call.fail(RpcEnd::Lost);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.pending.lock().len()
    }
}

impl PendingRpc {
    fn fail(self, end: RpcEnd) {
        match self.phase {
            RpcPhase::Requested(waits) | RpcPhase::Running(waits, _) => waits.send(end),
            RpcPhase::Abandoned => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::one_shot::{OneShotReceiver, one_shot};
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn end(waits: &mut OneShotReceiver<RpcEnd>) -> Option<RpcEnd> {
        match pin!(waits).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(end) => end,
            Poll::Pending => None,
        }
    }

    fn pid(id: u32) -> ExternalPid {
        ExternalPid { node: Atom::fixed("b@sim"), id, serial: 0, creation: 4 }
    }

    fn asked(rpcs: &Rpcs, number: u64) -> OneShotReceiver<RpcEnd> {
        let (sender, waits) = one_shot();
        rpcs.insert(number, (Atom::fixed("b@sim"), pid(1)), sender);
        waits
    }

    #[test]
    fn zcall10_a_call_ends_once_with_what_comes_first() {
        let (rpcs, there) = (Rpcs::default(), Atom::fixed("b@sim"));
        let mut waits = asked(&rpcs, 1);
        // A monitor exists only behind the reply.
        assert!(rpcs.ended(&there, 1, &Term::Int(1)));
        assert_eq!(rpcs.replied(&there, 1, true, Ok(pid(7))), SpawnReplied::Expected);
        assert_eq!(rpcs.replied(&there, 1, true, Ok(pid(8))), SpawnReplied::Unasked);
        assert!(rpcs.ended(&there, 1, &Term::Int(2)));
        assert!(!rpcs.ended(&there, 1, &Term::Int(3)));
        assert_eq!(end(&mut waits), Some(RpcEnd::Ended(Term::Int(2))));
        for (is_monitored, result, why) in
            [(true, Err(Atom::fixed("notsup")), "notsup"), (false, Ok(pid(7)), "unmonitored")]
        {
            let mut waits = asked(&rpcs, 2);
            assert_eq!(rpcs.replied(&there, 2, is_monitored, result), SpawnReplied::Expected);
            assert_eq!(end(&mut waits), Some(RpcEnd::Refused(Atom::fixed(why))));
        }
        let mut waits = asked(&rpcs, 3);
        rpcs.lost(&there);
        assert_eq!(end(&mut waits), Some(RpcEnd::Lost));
        let mut waits = asked(&rpcs, 4);
        rpcs.not_sent(4, RpcEnd::NotSupported);
        assert_eq!((end(&mut waits), rpcs.len()), (Some(RpcEnd::NotSupported), 0));
    }

    #[test]
    fn zcall10_a_call_that_was_given_up_leaves_no_monitor_and_no_entry() {
        let (rpcs, there) = (Rpcs::default(), Atom::fixed("b@sim"));
        drop(asked(&rpcs, 1));
        rpcs.replied(&there, 1, true, Ok(pid(7)));
        let demonitor = GivenUp::Demonitor { node: there.clone(), from: pid(1), process: pid(7) };
        assert_eq!(rpcs.give_up(1), demonitor);
        // Before the reply.
        drop(asked(&rpcs, 2));
        assert_eq!((rpcs.give_up(2), rpcs.len()), (GivenUp::Over, 1));
        let demonitor = SpawnReplied::Demonitor { from: pid(1), process: pid(7) };
        assert_eq!(rpcs.replied(&there, 2, true, Ok(pid(7))), demonitor);
        drop(asked(&rpcs, 3));
        rpcs.give_up(3);
        let refused = Err(Atom::fixed("notsup"));
        assert_eq!(rpcs.replied(&there, 3, false, refused), SpawnReplied::Expected);
        drop(asked(&rpcs, 4));
        rpcs.give_up(4);
        rpcs.lost(&there);
        assert_eq!(rpcs.len(), 0);
    }

    #[test]
    fn zsec5_only_the_node_that_was_asked_replies() {
        let (rpcs, other) = (Rpcs::default(), Atom::fixed("c@sim"));
        let mut waits = asked(&rpcs, 1);
        assert_eq!(rpcs.replied(&other, 1, true, Ok(pid(7))), SpawnReplied::Unasked);
        assert!(!rpcs.ended(&other, 1, &Term::Int(1)));
        rpcs.lost(&other);
        assert_eq!((end(&mut waits), rpcs.len()), (None, 1));
        assert_eq!(rpcs.replied(&other, 9, true, Ok(pid(7))), SpawnReplied::Unasked);
    }

    #[test]
    fn zsec7_requests_that_are_given_up_and_never_answered_are_bounded() {
        let rpcs = Rpcs::default();
        let give_up = |number| {
            drop(asked(&rpcs, number));
            rpcs.give_up(number)
        };
        for number in 0..MOST_ABANDONED as u64 {
            assert_eq!(give_up(number), GivenUp::Over);
        }
        assert_eq!(give_up(99), GivenUp::TooMany(Atom::fixed("b@sim")));
    }
}
