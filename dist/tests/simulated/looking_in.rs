//! What a node tells of its cluster: its processes, what crosses a connection, what got lost.

use crate::sim_support::{Choices, Member, Order, Watching, members, some_turns};
use krarup_act::Reply;
use krarup_dist::{ClusterCalls, ClusterError, SimNetwork};
use krarup_gen::{DeadLetterCause, Memory, NodeName, Root};
use krarup_node::Simulation;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn zobs3_the_tree_shows_the_cluster_and_its_connections_and_each_answers_an_inspection() {
    Simulation::explore(0..50, |sim| {
        let net = SimNetwork::new();
        let [a, b] = members(sim, &net)?;
        let worker = a.worker("stock")?;
        let observer = b.observer()?;
        observer.does(Watching::Link(b.pid_of(worker, &a)));
        sim.run_until_idle();
        for (member, other) in [(&a, "b@sim"), (&b, "a@sim")] {
            let below: Vec<_> = member
                .node
                .processes()
                .into_iter()
                .filter_map(|pid| member.node.process_info(pid))
                .filter(|info| info.root == Root::System)
                .collect();
            let mut shown = Vec::new();
            for info in &below {
                let inspection = member.node.inspect(info.pid).wait()?;
                shown.push((info.pid, info.label.as_ref().map(ToString::to_string), inspection));
            }
            let cluster = member.cluster.pid();
            assert!(
                shown.iter().any(|(pid, _, seen)| {
                    *pid == cluster && seen.number("connected") == Some(1)
                })
            );
            let connection: Vec<_> =
                shown.iter().filter(|(_, label, _)| label.as_deref() == Some(other)).collect();
            let [(pid, _, inspection)] = &connection[..] else { panic!("{shown:?}") };
            assert_eq!(
                (inspection.text("node"), inspection.number("links")),
                (Some(other), Some(1))
            );
            let info = &member.cluster.connections()?[0];
            assert!(inspection.number("bytes_in") > Some(info.bytes_in), "with the handshake");
            assert_eq!(inspection.number("messages_out"), Some(info.messages_out));
            let tree = member.node.tree();
            let below = tree.iter().find(|tree| tree.process.pid == cluster).unwrap();
            assert!(below.walk().any(|(_, below)| below.process.pid == *pid), "{below}");
        }
        Ok(())
    });
}

type Lines = Arc<Mutex<Vec<(bool, String)>>>;

/// Records what crosses between a member and another one.
fn record(on: &Member, of: &str) -> (krarup_dist::ControlTrace, Lines) {
    let lines = Lines::default();
    let told = Arc::clone(&lines);
    let of_node = of.to_owned();
    let trace = on.cluster.trace_control(of, move |traced| {
        assert_eq!(traced.node.as_str(), of_node);
        let text = format!("{:?} {}", traced.control, traced.payload_bytes);
        told.lock().unwrap().push((traced.is_sent, text));
    });
    (trace.unwrap(), lines)
}

fn split(lines: &Lines) -> (Vec<String>, Vec<String>) {
    let (sent, received): (Vec<_>, Vec<_>) =
        lines.lock().unwrap().iter().cloned().partition(|(is_sent, _)| *is_sent);
    let texts = |lines: Vec<(bool, String)>| lines.into_iter().map(|(_, text)| text).collect();
    (texts(sent), texts(received))
}

#[test]
fn zobs4_what_one_end_traces_as_sent_the_other_traces_as_received() {
    Simulation::explore(0..200, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let [a, b] = members(sim, &net)?;
        let (x, y) = (a.observer()?, b.observer()?);
        let worker = a.worker("stock")?;
        let (here, at_a) = record(&a, "b@sim");
        let (there, at_b) = record(&b, "a@sim");
        for _ in 0..8 {
            let (one, other) = (b.pid_of(worker, &a), a.pid_of(y.pid(), &b));
            match choices.below(6) {
                0 => y.does(Watching::Link(one)),
                1 => x.does(Watching::Link(other)),
                2 => y.does(Watching::Unlink(one)),
                3 => drop(y.try_monitor(one)),
                4 => y.does(Watching::Add(b.remote("stock", "a@sim"), Duration::from_secs(60))),
                _ => y.does(Watching::Tell(b.remote("stock", "a@sim"), 1)),
            }
            some_turns(sim, choices.below(20));
        }
        a.node.kill(worker);
        sim.run_until_idle();
        let (sent, received) = split(&at_a);
        assert!(sent.len() + received.len() > 2, "{sent:?} {received:?}");
        assert_eq!((received, sent), split(&at_b));
        let [info] = &a.cluster.connections()?[..] else { panic!() };
        let both = at_a.lock().unwrap().len() as u64;
        assert_eq!(both, info.messages_in + info.messages_out);
        // After its end, nothing is shown.
        drop((here, there));
        y.does(Watching::Tell(b.remote("stock", "a@sim"), 1));
        sim.run_until_idle();
        assert_eq!(at_a.lock().unwrap().len() as u64, both);
        Ok(())
    });
}

#[test]
fn zobs4_a_trace_replaces_the_one_before_and_one_that_panics_ends_alone() {
    Simulation::explore(0..20, |sim| {
        let net = SimNetwork::new();
        let [a, b] = members(sim, &net)?;
        a.worker("stock")?;
        let tell = || {
            b.remote("stock", "a@sim").send(Order::Note(1)).unwrap();
            sim.run_until_idle();
        };
        let (first, at_first) = record(&a, "b@sim");
        let (second, at_second) = record(&a, "b@sim");
        // The end of the first is not that of the second.
        drop(first);
        tell();
        assert_eq!((at_first.lock().unwrap().len(), at_second.lock().unwrap().len()), (0, 1));
        drop(second);
        let calls = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&calls);
        let panics = a.cluster.trace_control("b@sim", move |traced| {
            *counted.lock().unwrap() += 1;
            assert!(traced.is_sent, "it panics at what is received");
        })?;
        tell();
        tell();
        assert_eq!(*calls.lock().unwrap(), 1);
        drop(panics);
        let stock = b.remote("stock", "a@sim");
        assert_eq!(stock.call(Order::Notes).wait(), Ok(vec![1, 1, 1]));
        for odd in ["a@sim", "nobody"] {
            let error = a.cluster.trace_control(odd, |_| {}).unwrap_err();
            assert!(matches!(error, ClusterError::ThisNode(_) | ClusterError::Node(_)), "{error}");
        }
        Ok(())
    });
}

#[test]
fn zobs4_dead_letters_and_late_replies_of_other_nodes_are_counted_and_offered_as_local_ones() {
    Simulation::explore(0..50, |sim| {
        let net = SimNetwork::new();
        let [a, b] = members(sim, &net)?;
        let (stock, gone) = (a.worker("stock")?, a.worker("gone")?);
        let gone_there = b.cluster.remote_pid::<Order>(b.pid_of(gone, &a))?;
        a.node.kill(gone);
        a.node.remember(Memory { dead_letters: 10, ..Memory::default() });
        let before = a.node.stats().dead_letters;
        // To nobody: a name, a pid; and to a process that takes other messages.
        b.remote("nobody", "a@sim").send(Order::Note(1)).unwrap();
        gone_there.send(Order::Note(2)).unwrap();
        let wrong = b.cluster.remote::<String>("stock", "a@sim")?;
        wrong.send("no order".to_owned()).unwrap();
        sim.run_until_idle();
        assert_eq!(a.node.stats().dead_letters, before + 3);
        let letters = a.node.view().dead_letters(0, 10).items;
        let seen: Vec<_> = letters
            .iter()
            .map(|letter| {
                let letter = &letter.item;
                assert_eq!(letter.node.as_ref().map(NodeName::as_str), Some("b@sim"));
                (letter.to.to_string(), letter.cause)
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("\"nobody\"".to_owned(), DeadLetterCause::NoProcess),
                (gone.to_string(), DeadLetterCause::NoProcess),
                (stock.to_string(), DeadLetterCause::Undecodable),
            ]
        );
        let [info] = &a.cluster.connections()?[..] else { panic!() };
        assert_eq!((info.dead_letters, info.late_replies), (3, 0));
        // A late reply: the caller waits for a moment, and the answer takes longer.
        net.partition(&["a@sim"], &["b@sim"]);
        let late = b.remote("stock", "a@sim");
        let call = late.call(|reply: Reply<_>| Order::Add(1, 2, reply));
        assert!(call.timeout(Duration::from_millis(60)).wait().is_err());
        net.heal();
        sim.advance(Duration::from_secs(1));
        sim.run_until_idle();
        assert_eq!((b.node.stats().late_replies, b.cluster.stats()?.late), (1, 1));
        let [info] = &b.cluster.connections()?[..] else { panic!() };
        assert_eq!((info.dead_letters, info.late_replies), (0, 1));
        Ok(())
    });
}
