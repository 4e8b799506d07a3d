//! Messages, calls, answers, arguments and reasons that are larger than a node reads: nothing of them
//! is sent, and the connection stands.

use crate::sim_support::{Member, Order, Seen, Watching, members};
use krarup_act::{Actor, Context, Recipient, Reply};
use krarup_dist::etf::Term;
use krarup_dist::{
    ClusterCalls, HasCluster, RemoteSpawnError, RpcError, SimNetwork, TermException, TermMessage,
};
use krarup_gen::{CallError, Reason, Result, SendError};
use krarup_node::Simulation;
use serde::{Deserialize, Serialize};

/// More than 128 MiB.
const LONG: usize = (128 << 20) + 1;
const BYTES: &str = "bytes is over the limit of 134213632 bytes";
const TERMS: &str = "a message of at least 3999937 terms is over the limit of 3999936 terms";

fn long() -> String {
    String::from_utf8(vec![b'x'; LONG]).unwrap()
}

/// Its elements are terms of two bytes.
fn many() -> Vec<u8> {
    vec![7; 4_000_000]
}

#[derive(Debug, Serialize, Deserialize)]
enum Letter {
    Text(String),
    Ask(String, Reply<usize>),
    AskBytes(Vec<u8>, Reply<usize>),
    Send(bool, Reply<(String, Vec<u8>)>),
}

#[derive(Default)]
struct Office {
    letters: usize,
}

impl Actor for Office {
    type Message = Letter;

    async fn handle_message(&mut self, _: &mut Context<Letter>, letter: Letter) -> Result {
        self.letters += 1;
        match letter {
            Letter::Text(_) => {}
            Letter::Ask(_, reply) | Letter::AskBytes(_, reply) => reply.send(self.letters),
            Letter::Send(true, reply) => reply.send((long(), Vec::new())),
            Letter::Send(false, reply) => reply.send((String::new(), many())),
        }
        Ok(())
    }
}

/// Two members with a connection. The first has an office, the second what is to reach it.
fn connected(sim: &Simulation, net: &SimNetwork) -> Result<([Member; 2], Recipient<Letter>)> {
    let [a, b] = members(sim, net)?;
    a.node.spawn(Office::default).name("office").wait()?;
    a.cluster.export::<Letter>("office")?;
    let office = b.cluster.remote("office", "a@sim")?;
    assert_eq!(office.call(|reply| Letter::Ask(String::new(), reply)).wait(), Ok(1));
    Ok(([a, b], office))
}

/// The connection is the first one, and the office has had this many letters.
fn stands(net: &SimNetwork, [a, b]: &[Member; 2], office: &Recipient<Letter>, letters: usize) {
    assert_eq!(office.call(|reply| Letter::Ask(String::new(), reply)).wait(), Ok(letters + 1));
    assert_eq!((net.connections().len(), a.peers().len(), b.peers().len()), (1, 1, 1));
    assert_eq!((a.calls(), b.calls()), (0, 0));
}

#[test]
fn zterm11_a_message_that_is_too_large_comes_back_and_the_connection_stands() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let (members, office) = connected(&sim, &net)?;
    let [a, b] = &members;
    let on_b = b.observer()?;
    let worker = b.pid_of(a.worker("stock")?, a);
    on_b.does(Watching::Link(worker));
    sim.run_until_idle();
    let SendError::Unserializable { message: Letter::Text(text), why, .. } =
        office.send(Letter::Text(long())).unwrap_err()
    else {
        panic!("it is sent")
    };
    assert_eq!(text.len(), LONG);
    assert_eq!(why.to_string(), format!("a message of at least 134217737 {BYTES}"));
    // A term is checked as a message is, whichever way it is sent.
    let terms = b.cluster.remote::<TermMessage>("office", "a@sim")?;
    let term = || Term::binary(text.as_bytes());
    for message in [TermMessage::Cast(term()), TermMessage::Info(term())] {
        let error = terms.send(message).unwrap_err();
        assert!(error.to_string().ends_with(BYTES), "{error}");
    }
    let to = Term::tuple([Term::atom("office"), Term::atom("a@sim")]);
    let deep = (0..2_045).fold(Term::nil(), |term, _| Term::tuple([term]));
    for (message, why) in [(term(), BYTES), (deep, "nested deeper than 2044 is over the limit")] {
        let error = b.cluster.cluster()?.send(&to, &message).unwrap_err();
        assert!(error.to_string().ends_with(why), "{error}");
    }
    sim.run_until_idle();
    assert_eq!((on_b.take(), b.links_with("a@sim")), (vec![], Some(1)));
    stands(&net, &members, &office, 1);
    Ok(())
}

#[test]
fn zterm11_a_call_that_is_too_large_was_not_begun_and_the_connection_stands() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let (members, office) = connected(&sim, &net)?;
    let not_begun = |error: CallError| {
        assert!(!error.was_begun(), "{error}");
        error.to_string()
    };
    let error = office.call(|reply| Letter::Ask(long(), reply)).wait().unwrap_err();
    let begin = "the request did not reach \"office\" at a@sim: it cannot be written: ";
    assert_eq!(not_begun(error), format!("{begin}a message of at least 134217736 {BYTES}"));
    let error = office.call(|reply| Letter::AskBytes(many(), reply)).wait().unwrap_err();
    assert_eq!(not_begun(error), format!("{begin}{TERMS}"));
    stands(&net, &members, &office, 1);
    Ok(())
}

#[test]
fn zterm11_an_answer_that_is_too_large_fails_its_call_and_the_connection_stands() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let (members, office) = connected(&sim, &net)?;
    let cannot = |why: &str| {
        let reason = Reason::error(format!("the answer cannot be written: {why}"));
        Err(CallError::Terminated { to: office.pid(), reason })
    };
    let answer = |is_long| office.call(move |reply| Letter::Send(is_long, reply)).wait();
    assert_eq!(answer(true), cannot(&format!("a message of at least 134217731 {BYTES}")));
    assert_eq!(answer(false), cannot(TERMS));
    stands(&net, &members, &office, 3);
    Ok(())
}

#[test]
fn zterm11_arguments_that_are_too_large_are_not_sent_and_neither_is_a_value() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let (members, office) = connected(&sim, &net)?;
    let [a, b] = &members;
    a.cluster.serve("text", "length", |(text,): (String,)| async move {
        Ok::<_, TermException>(text.len())
    })?;
    a.cluster.serve("text", "make", |(): ()| async move { Ok::<_, TermException>(long()) })?;
    let length = |text| b.cluster.rpc::<usize>("a@sim", "text", "length", (text,)).wait();
    assert_eq!(length("four".to_owned()), Ok(4));
    let RpcError::Arguments { why, .. } = length(long()).unwrap_err() else { panic!() };
    assert!(why.ends_with(BYTES), "{why}");
    let many = b.cluster.rpc::<usize>("a@sim", "text", "length", (many(),)).wait();
    let RpcError::Arguments { why, .. } = many.unwrap_err() else { panic!() };
    assert_eq!(why, TERMS);
    let spawn = b.cluster.remote_spawn::<Order>("a@sim", "text", "worker", (long(),)).wait();
    let RemoteSpawnError::Arguments { why, .. } = spawn.unwrap_err() else { panic!() };
    assert!(why.ends_with(BYTES), "{why}");
    let made = b.cluster.rpc::<String>("a@sim", "text", "make", ()).wait();
    let RpcError::Raised { exception, .. } = made.unwrap_err() else { panic!() };
    let said = format!("error: {{unserializable,<<\"a message of at least 134217729 {BYTES}\">>}}");
    assert_eq!(exception.to_string(), said);
    stands(&net, &members, &office, 1);
    Ok(())
}

#[test]
fn zterm11_a_reason_that_is_too_large_is_replaced_and_the_end_is_told() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let (members, office) = connected(&sim, &net)?;
    let [a, b] = &members;
    let worker = b.pid_of(a.worker("stock")?, a);
    let on_b = b.observer()?;
    on_b.does(Watching::Link(worker));
    let monitor = on_b.monitor(worker);
    sim.run_until_idle();
    let local = a.node.whereis("stock").unwrap();
    a.node.exit(local, Reason::error(long()));
    sim.run_until_idle();
    let why = |reason: &Reason| reason.to_string();
    let [Seen::Exit(from, exit), Seen::Down(of, _, down)] = &on_b.take()[..] else { panic!() };
    assert_eq!((*from, *of), (worker, monitor));
    let said = format!("the reason cannot be written: a message of at least 134217743 {BYTES}");
    assert!(why(exit).contains(&said) && why(down).contains(&said), "{exit} {down}");
    stands(&net, &members, &office, 1);
    Ok(())
}
