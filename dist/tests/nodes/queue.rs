//! What waits to be sent to another node: its limits, who waits for room, and dials.

use crate::support::scripted::ScriptedPeer;
use crate::support::watching::{Seen, next, until, watcher};
use crate::support::{Member, Order, not_connected, undelivered};
use krarup_act::{Context, Received, behavior_fn};
use krarup_dist::etf::Term;
use krarup_dist::{Cluster, ClusterCalls, Cookie, HasCluster};
use krarup_gen::{Pid, Reason, SendError, Target, UndeliveredCause};
use krarup_node::Node;
use krarup_wire::ControlMessage;
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::time::Duration;

const SOFT: usize = 64 << 10;
const HARD: usize = 8 << 20;

/// A message of this many bytes, more or less.
fn big(bytes: usize) -> Order {
    Order::End(Some("x".repeat(bytes)))
}

fn limited(label: &str, soft: usize, hard: usize) -> Member {
    let settings = move |cluster: Cluster| cluster.queue_limits(soft, hard);
    let member = Member::with(&format!("{label}_a@127.0.0.1"), "secret", settings);
    member.worker("stock");
    member
}

fn pid(member: &Member, peer: &ScriptedPeer, id: u32) -> Pid {
    member.cluster.cluster().unwrap().pid(&peer.pid(id).into()).unwrap()
}

/// Sends until a message is refused.
fn fill(member: &Member, to: Pid) {
    let recipient = member.cluster.remote_pid::<Order>(to).unwrap();
    loop {
        match recipient.send(big(30_000)) {
            Ok(()) => {}
            Err(SendError::Full { message: Order::End(Some(text)), to: found }) => {
                assert_eq!((text.len(), found), (30_000, to));
                return;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn zmsg13_impossible_limits_of_the_queue_are_a_typed_error_of_the_spawn() {
    let node = Node::start("limits@127.0.0.1").unwrap();
    for (soft, hard, why) in [(0, 9, "a soft limit of 0 bytes"), (9, 9, "a hard limit of 9 bytes")]
    {
        let cluster = move || Cluster::new(Cookie::new("secret").unwrap()).queue_limits(soft, hard);
        let error = node.spawn_system(cluster).wait().unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    let cluster = || Cluster::new(Cookie::new("secret").unwrap()).queue_limits(1, 2);
    node.spawn_system(cluster).wait().unwrap();
}

#[test]
fn zmsg13_over_the_soft_limit_messages_and_calls_are_full_and_signals_pass() {
    let member = limited("soft", SOFT, HARD);
    let mut peer = ScriptedPeer::dial(&member, "soft_b@127.0.0.1", 10);
    let to = pid(&member, &peer, 5);
    let recipient = member.cluster.remote_pid::<Order>(to).unwrap();
    // Below the limit nothing is refused, in however many messages.
    for _ in 0..1_000 {
        recipient.send(Order::Note(1)).unwrap();
        until(|| member.connection().waiting == 0);
    }
    fill(&member, to);
    assert!(member.connection().waiting > SOFT);
    let full = Err(undelivered(to, UndeliveredCause::Full));
    assert_eq!(recipient.call(Order::Total).wait(), full);
    let cluster = member.cluster.cluster().unwrap();
    let term = cluster.pid_term(to).unwrap();
    assert!(matches!(cluster.send(&term, &Term::Int(1)), Err(SendError::Full { .. })));
    // A link, a monitor and an exit signal are not refused, nor is an answer.
    let seen = watcher(&member, Some(to), vec![Target::Pid(to)]);
    member.node.exit(to, Reason::Shutdown);
    let asked = peer.call("stock", Term::atom("total"));
    let mut came = Vec::new();
    while came.len() < 4 {
        match peer.read().unwrap() {
            (ControlMessage::SendSender { .. }, _) => {}
            (ControlMessage::Link { .. }, _) => came.push("link"),
            (ControlMessage::Monitor { .. }, _) => came.push("monitor"),
            (ControlMessage::PayloadExit2 { .. }, _) => came.push("exit"),
            (ControlMessage::AltactSend { .. }, Some(answer)) => {
                let expected = [crate::support::scripted::tag(&asked), Term::Int(0)];
                assert_eq!(answer, Term::tuple(expected));
                came.push("answer");
            }
            other => panic!("{other:?}"),
        }
    }
    came.sort_unstable();
    assert_eq!(came, ["answer", "exit", "link", "monitor"]);
    // There is room again.
    until(|| member.connection().waiting == 0);
    recipient.send(Order::Note(2)).unwrap();
    assert!(seen.try_recv().is_err());
}

#[test]
fn zmsg13_send_or_wait_waits_in_line_and_goes_on_when_there_is_room() {
    const SENDERS: usize = 40;
    let member = limited("line", SOFT, HARD);
    let mut peer = ScriptedPeer::dial(&member, "line_b@127.0.0.1", 10);
    let to = pid(&member, &peer, 5);
    fill(&member, to);
    let recipient = member.cluster.remote_pid::<Order>(to).unwrap();
    let (told, tells) = channel();
    // They join the line one after the other: each tells when it has been polled.
    for number in 0..SENDERS {
        let (recipient, told) = (recipient.clone(), told.clone());
        let (polled, is_polled) = channel();
        let process = behavior_fn(move |_: Context<()>| async move {
            let text = format!("{number:03}{}", "x".repeat(SOFT));
            let mut sent =
                std::pin::pin!(recipient.send_or_wait(Order::End(Some(text))).into_future());
            let sent = std::future::poll_fn(|cx| {
                let poll = sent.as_mut().poll(cx);
                let _ = polled.send(poll.is_ready());
                poll
            });
            let _ = told.send((number, sent.await.is_ok()));
            Ok(())
        });
        member.node.spawn(move || process).start().unwrap();
        assert!(!next(&is_polled), "it has room at once");
    }
    assert!(tells.try_recv().is_err());
    // Nobody overtakes those in line.
    assert!(matches!(recipient.send(Order::Note(1)), Err(SendError::Full { .. })));
    let short = Duration::from_millis(1);
    let late = recipient.send_or_wait(Order::Note(3)).timeout(short).wait().unwrap_err();
    assert!(matches!(late, SendError::Timeout { message: Order::Note(3), .. }), "{late}");
    let mut found = Vec::new();
    while found.len() < SENDERS {
        let (_, cast) = peer.read().unwrap();
        let Some(Term::Tuple(cast)) = cast else { panic!("{cast:?}") };
        let Term::Tuple(end) = &cast[1] else { panic!("{:?}", cast[1]) };
        let Term::Binary(text) = &end[1] else { panic!("{:?}", end[1]) };
        if text[0] != b'x' {
            found.push(std::str::from_utf8(&text[..3]).unwrap().parse::<usize>().unwrap());
        }
    }
    // Big ones of several senders take turns, so the last of two may be complete first.
    for (at, number) in found.iter().enumerate() {
        assert!(at.abs_diff(*number) <= 2, "{found:?}");
    }
    for _ in 0..SENDERS {
        assert!(next(&tells).1);
    }
    recipient.send(Order::Note(4)).unwrap();
}

#[test]
fn zmsg13_over_the_hard_limit_the_connection_ends_and_everybody_bound_is_told() {
    let member = limited("hard", SOFT, 1 << 20);
    let mut peer = ScriptedPeer::dial(&member, "hard_b@127.0.0.1", 10);
    let to = pid(&member, &peer, 5);
    let seen = watcher(&member, Some(to), vec![Target::Pid(to)]);
    let cluster = member.cluster.cluster().unwrap();
    let term = cluster.pid_term(to).unwrap();
    // Below the hard limit it stands, though messages are refused.
    fill(&member, to);
    assert!(matches!(cluster.send(&term, &Term::Int(1)), Err(SendError::Full { .. })));
    assert_eq!(member.cluster.nodes().unwrap().len(), 1);
    assert!(seen.try_recv().is_err());
    // Exits cannot be refused.
    let reason = Reason::error("x".repeat(1 << 10));
    let watched = member.node.watch(to);
    let mut exits = 0;
    while !member.cluster.nodes().unwrap().is_empty() {
        member.node.exit(to, reason.clone());
        exits += 1;
        assert!(exits < 1_000_000, "no limit");
    }
    for _ in 0..2 {
        match next(&seen) {
            Seen::Exit(_, reason) | Seen::Down(_, reason) => {
                assert_eq!(reason, Reason::NoConnection);
            }
        }
    }
    assert_eq!(watched.wait().unwrap().reason, Reason::NoConnection);
    peer.ends();
}

#[test]
fn zmsg11_the_reader_takes_what_comes_while_the_peer_reads_nothing() {
    let member = limited("reader", SOFT, 512 << 20);
    let mut peer = ScriptedPeer::dial(&member, "reader_b@127.0.0.1", 10);
    let to = pid(&member, &peer, 5);
    fill(&member, to);
    // The mailbox of this one is full.
    let (begun, begins) = channel();
    let (open, opened) = channel::<()>();
    let process = behavior_fn(move |mut ctx: Context<Order>| async move {
        while let Received::Message(_) = ctx.receive().await {
            let _ = begun.send(());
            let _ = opened.recv();
        }
        Ok(())
    });
    member.node.spawn(move || process).name("busy").mailbox(1).wait().unwrap();
    member.cluster.export::<Order>("busy").unwrap();
    let note = |at: i64| crate::support::scripted::tagged("note", [Term::Int(at)]);
    peer.send_to("busy", &note(0));
    next(&begins);
    // Far more than what the system buffers: it blocks if the other side does not read.
    let bulk = Term::binary(vec![7; 1 << 20]);
    for at in 0..40 {
        peer.send_to("busy", &note(at));
        peer.send_to("busy", &bulk);
        peer.send_to("stock", &note(1));
        // Ticks are seen, too.
        peer.write(&[0; 4]);
    }
    until(|| member.cluster.stats().unwrap().refused >= 39);
    let stock = member.node.lookup::<Order, Order>("stock").unwrap();
    until(|| stock.call(Order::Total).wait().unwrap() == 40);
    drop(open);
}

#[test]
fn zhs10_the_first_use_dials_once_and_what_is_sent_meanwhile_waits_in_order() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let member = Member::with("dial_a@127.0.0.1", "secret", move |cluster| {
        cluster.peer("dial_b@127.0.0.1", at).queue_limits(SOFT, HARD)
    });
    let stock = member.cluster.remote::<Order>("stock", "dial_b@127.0.0.1").unwrap();
    for number in 0..100 {
        stock.send(Order::Note(number)).unwrap();
    }
    let seen = watcher(
        &member,
        None,
        vec![Target::Remote(
            krarup_gen::Name::new("stock").unwrap(),
            "dial_b@127.0.0.1".parse().unwrap(),
        )],
    );
    // The queue is bounded before there is a connection, too.
    while stock.send(big(30_000)).is_ok() {}
    let mut peer = ScriptedPeer::accept(&listener, "dial_b@127.0.0.1", 10);
    for number in 0..100 {
        let (control, payload) = peer.read().unwrap();
        assert!(matches!(control, ControlMessage::RegSend { .. }), "{control:?}");
        let note = crate::support::scripted::tagged("note", [Term::Int(number)]);
        assert_eq!(payload, Some(crate::support::scripted::gen_cast(note)));
    }
    assert!(matches!(peer.read(), Some((ControlMessage::Monitor { .. }, None))));
    // One dial for all of them: nobody else knocks.
    listener.set_nonblocking(true).unwrap();
    let error = listener.accept().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    assert!(seen.try_recv().is_err());
}

#[test]
fn zhs10_if_the_dial_fails_all_that_waits_fails_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let name = "lost_b@127.0.0.1";
    let member = Member::with("lost_a@127.0.0.1", "secret", move |cluster| {
        cluster.peer(name, at).queue_limits(SOFT, HARD)
    });
    let stock = member.cluster.remote::<Order>("stock", name).unwrap();
    let asked = stock.clone();
    stock.send(Order::Note(1)).unwrap();
    let target = Target::Remote(krarup_gen::Name::new("stock").unwrap(), name.parse().unwrap());
    let seen = watcher(&member, None, vec![target.clone(), Target::Node(name.parse().unwrap())]);
    let call = std::thread::spawn(move || asked.call(Order::Total).no_timeout().wait());
    until(|| member.node.inspect(member.cluster.pid()).wait().unwrap().number("calls") == Some(1));
    while stock.send(big(30_000)).is_ok() {}
    // Whoever waits for room goes on.
    let waits = stock.clone();
    let waiting = std::thread::spawn(move || waits.send_or_wait(Order::Note(2)).wait());
    drop(listener.accept().unwrap());
    assert_eq!(call.join().unwrap(), Err(not_connected("stock", name)));
    for _ in 0..2 {
        assert!(matches!(next(&seen), Seen::Down(_, Reason::NoConnection)));
    }
    assert!(waiting.join().unwrap().is_ok());
    assert!(seen.try_recv().is_err());
}

#[test]
fn zhs10_too_much_that_waits_for_a_dial_fails_as_if_the_dial_had_failed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let name = "much_b@127.0.0.1";
    let member = Member::with("much_a@127.0.0.1", "secret", move |cluster| {
        cluster.peer(name, at).queue_limits(1, 64 << 10)
    });
    let target = Target::Remote(krarup_gen::Name::new("stock").unwrap(), name.parse().unwrap());
    let (done, is_done) = channel();
    let process = behavior_fn(move |mut ctx: Context<()>| async move {
        for _ in 0..2_000 {
            ctx.monitor(target.clone());
        }
        for _ in 0..1_000 {
            match ctx.receive().await {
                Received::Down(down) => assert_eq!(down.reason, Reason::NoConnection),
                other => panic!("{other:?}"),
            }
        }
        let _ = done.send(());
        Ok(())
    });
    member.node.spawn(move || process).start().unwrap();
    next(&is_done);
    drop(listener);
}

#[test]
fn zmsg5_an_answer_passes_the_big_messages_that_wait() {
    const BIG: usize = 8 << 20;
    let member = limited("pass", SOFT, 512 << 20);
    let mut peer = ScriptedPeer::dial(&member, "pass_b@127.0.0.1", 10);
    let to = pid(&member, &peer, 5);
    let recipient = member.cluster.remote_pid::<Order>(to).unwrap();
    recipient.send(big(BIG)).unwrap();
    for _ in 0..11 {
        let recipient = recipient.clone();
        let process = behavior_fn(move |_: Context<()>| async move {
            let sent = recipient.send_or_wait(big(BIG)).await;
            Ok(sent.map_err(SendError::without_message)?)
        });
        member.node.spawn(move || process).start().unwrap();
    }
    // The peer reads nothing until the answer has its place.
    let before = member.connection().messages_out;
    let asked = peer.call("stock", Term::atom("total"));
    until(|| member.connection().messages_out > before);
    assert!(member.connection().waiting > BIG / 2);
    let mut bytes = 0;
    loop {
        match peer.read_counted() {
            (count, Some((ControlMessage::AltactSend { .. }, Some(answer)))) => {
                let expected = [crate::support::scripted::tag(&asked), Term::Int(0)];
                assert_eq!(answer, Term::tuple(expected));
                bytes += count;
                break;
            }
            (count, _) => bytes += count,
        }
    }
    // What the system holds for the two sockets, and a batch.
    assert!(bytes < 3 << 20, "{bytes} bytes came before the answer");
}
