//! Factories over many seeds of a simulation. The requests are written by hand, since this node
//! makes none with a link and a monitor; what comes of them is seen by traces of control messages.

use crate::core::ClusterCore;
use crate::one_shot::one_shot;
use crate::peer::signal::{Signal, SignalPayload};
use crate::requests::pending_requests::RequestKind;
use crate::{Cluster, ClusterAddress, ClusterCalls, HasCluster, SimNetwork};
use krarup_act::{Actor, Context};
use krarup_gen::{Exit, Pid, Reason, Result};
use krarup_node::{Node, Simulation};
use krarup_wire::ControlMessage;
use krarup_wire::etf::{Atom, Reference, Term};
use krarup_wire::handshake::Cookie;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// A process of the factory.
struct Made;

impl Actor for Made {
    type Message = String;

    async fn handle_message(&mut self, ctx: &mut Context<String>, text: String) -> Result {
        if text == "end" {
            ctx.stop();
        }
        Ok(())
    }
}

fn node(sim: &Simulation, net: &SimNetwork, name: &str) -> Result<(Node, ClusterAddress)> {
    let node = sim.beside(name)?;
    let (net, cookie) = (net.clone(), Cookie::new("secret")?);
    let cluster = move || Cluster::new(cookie).network(&net).spawn_limit(6);
    let cluster = node.spawn_system(cluster).wait()?;
    cluster.carry::<String>()?;
    Ok((node, cluster))
}

/// What has come of the requests, in order.
#[derive(Debug, PartialEq)]
enum Came {
    /// The reply to a request: the process, or why not.
    Reply(Reference, std::result::Result<u32, String>),
    /// The end of a monitored process.
    Down(Reference),
    /// The end of a linked one.
    Exit(u32),
}

/// Asks for processes, and outlives them.
struct Requester;

impl Actor for Requester {
    type Message = String;

    async fn init(&mut self, ctx: &mut Context<String>) -> Result {
        ctx.trap_exits(true);
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<String>, _: String) -> Result {
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Context<String>, _: Exit) -> Result {
        Ok(())
    }
}

/// Requests a process of the factory, with a link and a monitor.
fn request(core: &Arc<ClusterCore>, by: Pid, (arity, arguments): (u8, Term)) -> Reference {
    let number = core.host.next_ref();
    let reference = core.reference(number);
    let (from, group_leader) = (core.ours(by), core.ours(by));
    // Nobody waits for the process, but it has been asked for, and is linked.
    let (asked, kind) = ((Atom::fixed("a@sim"), from.clone()), RequestKind::Process { link: true });
    core.requests.insert(number.number(), asked, kind, one_shot().0);
    let (module, function) = (Atom::fixed("calc"), Atom::fixed("worker"));
    let options = Term::list([Term::atom("link"), Term::atom("monitor")]);
    let control = ControlMessage::SpawnRequest {
        reference: reference.clone(),
        from,
        group_leader,
        module,
        function,
        arity,
        options,
    };
    let mut payload = Vec::new();
    arguments.write(&mut payload).unwrap();
    let peer = core.peer(&Atom::fixed("a@sim")).unwrap();
    let signal = Signal::new(by.id(), control, None);
    assert!(peer.push(signal.with_payload(SignalPayload::Bytes(payload))).is_none());
    peer.flush(core);
    reference
}

#[test]
fn zcall9_each_request_for_a_process_is_replied_to_once_and_before_anything_of_the_process() {
    Simulation::explore(0..300, |sim| {
        let net = SimNetwork::new();
        let ((a, at_a), (b, at_b)) = (node(sim, &net, "a@sim")?, node(sim, &net, "b@sim")?);
        at_a.factory("calc", "worker", |(_,): (String,)| Made)?;
        let core = at_b.cluster()?.0;
        let asker = b.spawn(|| Requester).wait()?;
        let came = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&came);
        let trace = at_b.trace_control("a@sim", move |traced| {
            let seen = match traced.control {
                ControlMessage::SpawnReply { reference, result, .. } => {
                    let result = result.as_ref().map(|process| process.id);
                    Came::Reply(reference.clone(), result.map_err(|why| why.as_str().to_owned()))
                }
                ControlMessage::PayloadMonitorExit { reference, .. } => {
                    Came::Down(reference.clone())
                }
                ControlMessage::PayloadExit { from, .. } if !traced.is_sent => Came::Exit(from.id),
                _ => return,
            };
            told.lock().push(seen);
        })?;
        let name = || Term::list([Term::binary("ann")]);
        let mut requests = Vec::new();
        for number in 0..8 {
            // Some with an argument of another type: they are made, and end at once.
            let is_odd = sim.choose(4) == 0;
            let arguments = if is_odd { Term::list([Term::Int(number)]) } else { name() };
            requests.push(request(&core, asker.pid(), (1, arguments)));
            for _ in 0..sim.choose(30) {
                sim.step();
            }
        }
        let unknown = request(&core, asker.pid(), (2, Term::list([Term::Int(1), Term::Int(2)])));
        requests.push(unknown.clone());
        let is_cut = sim.choose(3) == 0;
        if is_cut {
            for _ in 0..sim.choose(60) {
                sim.step();
            }
            net.reset("a@sim", "b@sim");
        }
        sim.run_until_idle();
        // Some end by themselves, some are killed.
        let below: Vec<Pid> = a.processes();
        for pid in below.into_iter().filter(|pid| {
            a.process_info(*pid).is_some_and(|info| info.root == krarup_gen::Root::User)
        }) {
            match sim.choose(2) {
                0 => a.kill(pid),
                _ => a.exit(pid, Reason::Shutdown),
            }
            for _ in 0..sim.choose(20) {
                sim.step();
            }
        }
        sim.advance(Duration::from_secs(1));
        sim.run_until_idle();
        let came = came.lock();
        for reference in &requests {
            let of: Vec<_> = came
                .iter()
                .enumerate()
                .filter(|(_, came)| match came {
                    Came::Reply(of, _) | Came::Down(of) => of == reference,
                    Came::Exit(_) => false,
                })
                .collect();
            let process = match &of[..] {
                // The connection was lost before.
                [] | [(_, Came::Reply(_, Ok(_)))] if is_cut => continue,
                [(_, Came::Reply(of, Err(why)))] => {
                    let expected = if *of == unknown { "notsup" } else { "system_limit" };
                    assert_eq!(why, expected);
                    continue;
                }
                [(at, Came::Reply(_, Ok(process))), (_, Came::Down(_))] => (*at, *process),
                other => panic!("{other:?} of {came:?}"),
            };
            let exits: Vec<usize> = came
                .iter()
                .enumerate()
                .filter_map(|(at, came)| (*came == Came::Exit(process.1)).then_some(at))
                .collect();
            assert_eq!(exits.len(), 1, "{came:?}");
            assert!(exits[0] > process.0, "{came:?}");
        }
        drop(trace);
        for connection in at_a.connections()? {
            let left = (connection.spawned, connection.links, connection.foreign_monitors);
            assert_eq!(left, (0, 0, 0));
        }
        Ok(())
    });
}
