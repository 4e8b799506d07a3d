//! The requests of a node that have no outcome yet.

use crate::functions::options::RequestedBonds;
use crate::one_shot::OneShotSender;
use krarup_wire::etf::{Atom, ExternalPid, Term};
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The most requests to one node that were given up and that it has not answered.
const MOST_ABANDONED: usize = if cfg!(test) { 4 } else { 65_536 };

/// How a request has ended.
#[derive(Debug, PartialEq)]
pub(crate) enum RequestEnd {
    /// The process of the function has ended with this reason.
    Ended(Term),
    /// The process is made.
    Made(ExternalPid),
    /// The request was refused.
    Refused(Atom),
    /// The peer does not know such requests.
    NotSupported,
    /// The connection is lost, or could not be made.
    Lost,
}

/// What the process of a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// It runs a function, and is monitored: its end is the outcome.
    Function,
    /// It goes on, and is linked if that is asked for: its pid is the outcome.
    Process { link: bool },
}

/// A request without an outcome.
struct PendingRequest {
    node: Atom,
    /// The process that asks.
    from: ExternalPid,
    kind: RequestKind,
    phase: RequestPhase,
}

enum RequestPhase {
    Requested(OneShotSender<RequestEnd>),
    Running(OneShotSender<RequestEnd>, ExternalPid),
    Abandoned,
}

/// What a reply to a request means.
pub(crate) enum SpawnReplied {
    /// There is no such request.
    Unasked,
    /// The function runs, or the request has failed.
    Expected,
    /// The call was given up: the monitor of `from` on `process` is to be removed.
    Demonitor { from: ExternalPid, process: ExternalPid },
    /// The process is made, and is to be linked to `link`. After that the one who waits is to be told.
    Made { process: ExternalPid, link: Option<ExternalPid>, waits: OneShotSender<RequestEnd> },
    /// The request was given up: the process, which is linked to `from`, is to end.
    Abandoned { from: ExternalPid, process: ExternalPid },
    /// The process is made and was not linked to `from`, which was asked for. The one who waits has been told, and the
    /// process is to end.
    Unlinked { from: ExternalPid, process: ExternalPid },
}

/// What is left of a request that was given up.
#[derive(Debug, PartialEq)]
pub(crate) enum GivenUp {
    /// Nothing: it had its outcome.
    Settled,
    /// Nothing until it is replied to.
    Abandoned,
    /// Its monitor.
    Demonitor { node: Atom, from: ExternalPid, process: ExternalPid },
    /// Too many requests that the node does not answer.
    TooMany(Atom),
}

/// The requests of a node, by the numbers of their references.
#[derive(Default)]
pub(crate) struct PendingRequests {
    pending: Mutex<BTreeMap<u64, PendingRequest>>,
}

impl PendingRequests {
    pub(crate) fn insert(
        &self,
        number: u64,
        (node, from): (Atom, ExternalPid),
        kind: RequestKind,
        waits: OneShotSender<RequestEnd>,
    ) {
        let phase = RequestPhase::Requested(waits);
        self.pending.lock().insert(number, PendingRequest { node, from, kind, phase });
    }

    /// Handles the reply of a node to a request. `bonds` are those that the reply says stand.
    pub(crate) fn replied(
        &self,
        node: &Atom,
        number: u64,
        bonds: RequestedBonds,
        result: Result<ExternalPid, Atom>,
    ) -> SpawnReplied {
        let PendingRequest { from, kind, phase, .. } = {
            let mut pending = self.pending.lock();
            let Some(request) = pending.get_mut(&number).filter(|request| request.node == *node)
            else {
                return SpawnReplied::Unasked;
            };
            match (request.kind, &mut request.phase, &result) {
                (_, RequestPhase::Running(..), _) => return SpawnReplied::Unasked,
                (RequestKind::Function, phase, Ok(process)) if bonds.monitor => {
                    if let RequestPhase::Requested(waits) =
                        std::mem::replace(phase, RequestPhase::Abandoned)
                    {
                        *phase = RequestPhase::Running(waits, process.clone());
                        return SpawnReplied::Expected;
                    }
                }
                _ => {}
            }
            match pending.remove(&number) {
                Some(request) => request,
                None => return SpawnReplied::Unasked,
            }
        };
        let (waits, why) = match (phase, result, kind) {
            (RequestPhase::Requested(waits), Err(why), _) => (waits, why),
            // Its outcome would never come.
            (RequestPhase::Requested(waits), Ok(_), RequestKind::Function) => {
                (waits, Atom::fixed("unmonitored"))
            }
            (RequestPhase::Requested(waits), Ok(process), RequestKind::Process { link: true })
                if !bonds.link =>
            {
                drop(waits.send(RequestEnd::Refused(Atom::fixed("unlinked"))));
                return SpawnReplied::Unlinked { from, process };
            }
            (RequestPhase::Requested(waits), Ok(process), RequestKind::Process { link }) => {
                let link = link.then_some(from);
                return SpawnReplied::Made { process, link, waits };
            }
            (_, Ok(process), RequestKind::Function) if bonds.monitor => {
                return SpawnReplied::Demonitor { from, process };
            }
            (_, Ok(process), RequestKind::Process { .. }) if bonds.link => {
                return SpawnReplied::Abandoned { from, process };
            }
            _ => return SpawnReplied::Expected,
        };
        drop(waits.send(RequestEnd::Refused(why)));
        SpawnReplied::Expected
    }

    /// Handles the end of the process of a function. Returns whether it was one.
    pub(crate) fn ended(&self, node: &Atom, number: u64, reason: &Term) -> bool {
        let waits = {
            let mut pending = self.pending.lock();
            let Some(call) = pending.get(&number).filter(|call| call.node == *node) else {
                return false;
            };
            if !matches!(call.phase, RequestPhase::Running(..)) {
                return true;
            }
            pending.remove(&number)
        };
        if let Some(PendingRequest { phase: RequestPhase::Running(waits, _), .. }) = waits {
            drop(waits.send(RequestEnd::Ended(reason.clone())));
        }
        true
    }

    /// The request could not be sent.
    pub(crate) fn not_sent(&self, number: u64, end: RequestEnd) {
        let call = self.pending.lock().remove(&number);
        if let Some(call) = call {
            call.fail(end);
        }
    }

    /// The one who asks does not wait any more.
    pub(crate) fn give_up(&self, number: u64) -> GivenUp {
        let mut pending = self.pending.lock();
        let Some(mut call) = pending.remove(&number) else { return GivenUp::Settled };
        // Its sender wakes the one who waited, which is user code: it is dropped without the lock.
        let phase = std::mem::replace(&mut call.phase, RequestPhase::Abandoned);
        let given_up = match &phase {
            RequestPhase::Running(_, process) => {
                let process = process.clone();
                GivenUp::Demonitor { node: call.node, from: call.from, process }
            }
            _ => {
                let is_same = |other: &&PendingRequest| {
                    other.node == call.node && matches!(other.phase, RequestPhase::Abandoned)
                };
                let is_many = pending.len() >= MOST_ABANDONED;
                let too_many =
                    is_many && pending.values().filter(is_same).count() >= MOST_ABANDONED;
                let node = call.node.clone();
                pending.insert(number, call);
                if too_many { GivenUp::TooMany(node) } else { GivenUp::Abandoned }
            }
        };
        drop(pending);
        drop(phase);
        given_up
    }

    /// Fails all requests to this node.
    pub(crate) fn lost(&self, node: &Atom) {
        let lost: Vec<PendingRequest> = {
            let mut pending = self.pending.lock();
            let numbers: Vec<u64> =
                pending.iter().filter(|(_, call)| call.node == *node).map(|(n, _)| *n).collect();
            numbers.iter().filter_map(|number| pending.remove(number)).collect()
        };
        for call in lost {
            call.fail(RequestEnd::Lost);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.pending.lock().len()
    }
}

impl PendingRequest {
    fn fail(self, end: RequestEnd) {
        match self.phase {
            RequestPhase::Requested(waits) | RequestPhase::Running(waits, _) => {
                drop(waits.send(end));
            }
            RequestPhase::Abandoned => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::one_shot::{OneShotReceiver, one_shot};
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn end(waits: &mut OneShotReceiver<RequestEnd>) -> Option<RequestEnd> {
        match pin!(waits).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(end) => end,
            Poll::Pending => None,
        }
    }

    fn pid(id: u32) -> ExternalPid {
        ExternalPid { node: Atom::fixed("b@sim"), id, serial: 0, creation: 4 }
    }

    fn asked(requests: &PendingRequests, number: u64) -> OneShotReceiver<RequestEnd> {
        asked_for(requests, number, RequestKind::Function)
    }

    fn asked_for(
        requests: &PendingRequests,
        number: u64,
        kind: RequestKind,
    ) -> OneShotReceiver<RequestEnd> {
        let (sender, waits) = one_shot();
        requests.insert(number, (Atom::fixed("b@sim"), pid(1)), kind, sender);
        waits
    }

    /// A reply, as a text.
    fn reply(
        requests: &PendingRequests,
        number: u64,
        bonds: &str,
        result: Result<ExternalPid, Atom>,
    ) -> String {
        let bonds = RequestedBonds { link: bonds.contains('l'), monitor: bonds.contains('m') };
        match requests.replied(&Atom::fixed("b@sim"), number, bonds, result) {
            SpawnReplied::Unasked => "unasked".to_owned(),
            SpawnReplied::Expected => "expected".to_owned(),
            SpawnReplied::Demonitor { from, process } => {
                format!("demonitor {} {}", from.id, process.id)
            }
            SpawnReplied::Made { process, link, waits } => {
                let made = format!("made {} {:?}", process.id, link.map(|from| from.id));
                drop(waits.send(RequestEnd::Made(process)));
                made
            }
            SpawnReplied::Abandoned { from, process } => {
                format!("abandoned {} {}", from.id, process.id)
            }
            SpawnReplied::Unlinked { from, process } => {
                format!("unlinked {} {}", from.id, process.id)
            }
        }
    }

    #[test]
    fn zcall10_a_call_ends_once_with_what_comes_first() {
        let (rpcs, there) = (PendingRequests::default(), Atom::fixed("b@sim"));
        let mut waits = asked(&rpcs, 1);
        // A monitor exists only behind the reply.
        assert!(rpcs.ended(&there, 1, &Term::Int(1)));
        assert_eq!(reply(&rpcs, 1, "m", Ok(pid(7))), "expected");
        assert_eq!(reply(&rpcs, 1, "m", Ok(pid(8))), "unasked");
        assert!(rpcs.ended(&there, 1, &Term::Int(2)));
        assert!(!rpcs.ended(&there, 1, &Term::Int(3)));
        assert_eq!(end(&mut waits), Some(RequestEnd::Ended(Term::Int(2))));
        for (bonds, result, why) in
            [("m", Err(Atom::fixed("notsup")), "notsup"), ("l", Ok(pid(7)), "unmonitored")]
        {
            let mut waits = asked(&rpcs, 2);
            assert_eq!(reply(&rpcs, 2, bonds, result), "expected");
            assert_eq!(end(&mut waits), Some(RequestEnd::Refused(Atom::fixed(why))));
        }
        let mut waits = asked(&rpcs, 3);
        rpcs.lost(&there);
        assert_eq!(end(&mut waits), Some(RequestEnd::Lost));
        let mut waits = asked(&rpcs, 4);
        rpcs.not_sent(4, RequestEnd::NotSupported);
        assert_eq!((end(&mut waits), rpcs.len()), (Some(RequestEnd::NotSupported), 0));
    }

    #[test]
    fn zcall10_a_call_that_was_given_up_leaves_no_monitor_and_no_entry() {
        let (rpcs, there) = (PendingRequests::default(), Atom::fixed("b@sim"));
        drop(asked(&rpcs, 1));
        reply(&rpcs, 1, "m", Ok(pid(7)));
        let demonitor = GivenUp::Demonitor { node: there.clone(), from: pid(1), process: pid(7) };
        assert_eq!(rpcs.give_up(1), demonitor);
        assert_eq!(rpcs.give_up(1), GivenUp::Settled);
        // Before the reply.
        drop(asked(&rpcs, 2));
        assert_eq!((rpcs.give_up(2), rpcs.len()), (GivenUp::Abandoned, 1));
        assert_eq!(reply(&rpcs, 2, "m", Ok(pid(7))), "demonitor 1 7");
        drop(asked(&rpcs, 3));
        rpcs.give_up(3);
        assert_eq!(reply(&rpcs, 3, "", Err(Atom::fixed("notsup"))), "expected");
        drop(asked(&rpcs, 4));
        rpcs.give_up(4);
        rpcs.lost(&there);
        assert_eq!(rpcs.len(), 0);
    }

    #[test]
    fn zcall15_a_process_that_was_asked_for_is_linked_or_told_once() {
        let requests = PendingRequests::default();
        let (alone, linked) =
            (RequestKind::Process { link: false }, RequestKind::Process { link: true });
        let made = Some(RequestEnd::Made(pid(7)));
        let refused = |why| Some(RequestEnd::Refused(Atom::fixed(why)));
        for (kind, bonds, result, replied, outcome) in [
            (alone, "", Ok(pid(7)), "made 7 None", made),
            (linked, "l", Ok(pid(7)), "made 7 Some(1)", Some(RequestEnd::Made(pid(7)))),
            (linked, "m", Ok(pid(7)), "unlinked 1 7", refused("unlinked")),
            (linked, "l", Err(Atom::fixed("notsup")), "expected", refused("notsup")),
        ] {
            let mut waits = asked_for(&requests, 1, kind);
            // It has no monitor whose end would be its outcome.
            assert!(requests.ended(&Atom::fixed("b@sim"), 1, &Term::Int(1)));
            assert_eq!(reply(&requests, 1, bonds, result), replied);
            assert_eq!((end(&mut waits), requests.len()), (outcome, 0));
            assert_eq!(reply(&requests, 1, bonds, Ok(pid(8))), "unasked");
            assert_eq!(requests.give_up(1), GivenUp::Settled);
        }
        // Given up before the reply: one that is linked is to end, another one goes on.
        for (kind, bonds, replied) in [(linked, "l", "abandoned 1 7"), (alone, "", "expected")] {
            drop(asked_for(&requests, 2, kind));
            assert_eq!(requests.give_up(2), GivenUp::Abandoned);
            assert_eq!(reply(&requests, 2, bonds, Ok(pid(7))), replied);
        }
        let mut waits = asked_for(&requests, 3, linked);
        requests.lost(&Atom::fixed("b@sim"));
        assert_eq!((end(&mut waits), requests.len()), (Some(RequestEnd::Lost), 0));
    }

    #[test]
    fn zsec5_only_the_node_that_was_asked_replies() {
        let (rpcs, other) = (PendingRequests::default(), Atom::fixed("c@sim"));
        let mut waits = asked(&rpcs, 1);
        let monitored = RequestedBonds { link: false, monitor: true };
        let replied = rpcs.replied(&other, 1, monitored, Ok(pid(7)));
        assert!(matches!(replied, SpawnReplied::Unasked));
        assert!(!rpcs.ended(&other, 1, &Term::Int(1)));
        rpcs.lost(&other);
        assert_eq!((end(&mut waits), rpcs.len()), (None, 1));
        assert!(matches!(rpcs.replied(&other, 9, monitored, Ok(pid(7))), SpawnReplied::Unasked));
    }

    #[test]
    fn zsec7_requests_that_are_given_up_and_never_answered_are_bounded() {
        let rpcs = PendingRequests::default();
        let give_up = |number| {
            drop(asked(&rpcs, number));
            rpcs.give_up(number)
        };
        for number in 0..MOST_ABANDONED as u64 {
            assert_eq!(give_up(number), GivenUp::Abandoned);
        }
        assert_eq!(give_up(99), GivenUp::TooMany(Atom::fixed("b@sim")));
    }
}
