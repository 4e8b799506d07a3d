//! What peers can do with the requests of this node for processes of theirs.

use crate::support::Member;
use crate::support::raw::until;
use crate::support::scripted::ScriptedPeer;
use krarup_act::{Actor, Context};
use krarup_dist::etf::{Atom, ExternalPid, Reference, Term};
use krarup_dist::{ClusterCalls, RemoteSpawnError};
use krarup_gen::{Exit, Result};
use krarup_wire::ControlMessage;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Outcomes = Arc<Mutex<Vec<std::result::Result<(), RemoteSpawnError>>>>;

/// Spawns a linked process of the peer for each message, with this limit.
struct Spawner(&'static str, Outcomes, Arc<Mutex<Vec<String>>>);

impl Actor for Spawner {
    type Message = Duration;

    async fn init(&mut self, ctx: &mut Context<Duration>) -> Result {
        ctx.trap_exits(true);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Duration>, limit: Duration) -> Result {
        let spawn = ctx.remote_spawn::<u64>(self.0, "m", "f", (1,));
        let outcome = spawn.link().timeout(limit).await;
        self.1.lock().unwrap().push(outcome.map(drop));
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Context<Duration>, exit: Exit) -> Result {
        self.2.lock().unwrap().push(exit.reason.to_string());
        Ok(())
    }
}

/// The next request of the member: its reference, and who asks.
fn request(peer: &mut ScriptedPeer) -> (Reference, ExternalPid) {
    match peer.read() {
        Some((ControlMessage::SpawnRequest { reference, from, arity, options, .. }, arguments)) => {
            assert_eq!((arity, options.to_string().as_str()), (1, "[link]"));
            assert_eq!(arguments, Some(Term::list([Term::Int(1)])));
            (reference, from)
        }
        other => panic!("{other:?}"),
    }
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn zcall15_zsec5_a_peer_links_only_what_was_asked_for_and_answers_once() {
    let member = Member::with("spawns_a@127.0.0.1", "secret", |cluster| cluster);
    let mut peer = ScriptedPeer::dial(&member, "spawns_b@127.0.0.1", 10);
    let (outcomes, exits) = (Outcomes::default(), Arc::default());
    let spawner = {
        let (outcomes, exits) = (Arc::clone(&outcomes), Arc::clone(&exits));
        member.node.spawn(move || Spawner("spawns_b@127.0.0.1", outcomes, exits)).wait().unwrap()
    };
    let next = || {
        until("it has an outcome", || !outcomes.lock().unwrap().is_empty());
        outcomes.lock().unwrap().remove(0)
    };
    let unasked = || member.cluster.stats().unwrap().unasked_replies;
    let links = || member.cluster.connections().unwrap()[0].links;
    let reply = |to: (Reference, ExternalPid), linked, result| {
        let (reference, to) = to;
        ControlMessage::SpawnReply { reference, to, linked, monitored: false, result }
    };
    // Linked, and ended in the next moment.
    spawner.send(LONG).unwrap();
    let asked = request(&mut peer);
    peer.say(&reply(asked.clone(), true, Ok(peer.pid(5))), None);
    let exit = ControlMessage::PayloadExit { from: peer.pid(5), to: asked.1.clone() };
    peer.say(&exit, Some(&Term::atom("over")));
    assert_eq!(next(), Ok(()));
    until("it is told", || *exits.lock().unwrap() == ["over"]);
    // A second answer to the same request makes no link.
    peer.say(&reply(asked, true, Ok(peer.pid(6))), None);
    until("it is counted", || unasked() == 1);
    assert_eq!(links(), 0);
    // Nobody knows that process, which is linked over there: it is told to end.
    match peer.read() {
        Some((ControlMessage::PayloadExit { to, .. }, Some(reason))) => {
            assert_eq!((to, reason), (peer.pid(6), Term::atom("abandoned")));
        }
        other => panic!("{other:?}"),
    }
    // One that is not linked is no answer, and a refusal has its word.
    for (linked, result, why) in
        [(false, Ok(peer.pid(7)), "unlinked"), (false, Err(Atom::fixed("eaccess")), "eaccess")]
    {
        spawner.send(LONG).unwrap();
        let asked = request(&mut peer);
        peer.say(&reply(asked, linked, result), None);
        let refused = next().unwrap_err().to_string();
        assert!(refused.ends_with(&format!("m:f/1 on spawns_b@127.0.0.1: {why}")), "{refused}");
        if why == "unlinked" {
            // Nobody here knows it: it is told to end.
            match peer.read() {
                Some((ControlMessage::PayloadExit2 { to, .. }, Some(reason))) => {
                    assert_eq!((to, reason), (peer.pid(7), Term::atom("abandoned")));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    // Who gives up before the answer ends what is made.
    spawner.send(Duration::from_millis(1)).unwrap();
    let asked = request(&mut peer);
    assert!(matches!(next(), Err(RemoteSpawnError::Timeout { .. })));
    peer.say(&reply(asked.clone(), true, Ok(peer.pid(8))), None);
    match peer.read() {
        Some((ControlMessage::PayloadExit { from, to }, Some(reason))) => {
            assert_eq!((from, to, reason), (asked.1, peer.pid(8), Term::atom("abandoned")));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!((links(), unasked()), (0, 1));
    // The loss of the connection fails what is under way; a process of another node ends the connection.
    spawner.send(LONG).unwrap();
    let asked = request(&mut peer);
    let foreign = ExternalPid { node: Atom::fixed("other@127.0.0.1"), ..peer.pid(9) };
    peer.say(&reply(asked, true, Ok(foreign)), None);
    assert!(matches!(next(), Err(RemoteSpawnError::NoConnection { .. })));
    assert!(peer.read().is_none());
}
