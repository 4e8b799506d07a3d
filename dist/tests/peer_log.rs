//! What is logged of peers that do nothing hostile. It is the only test, because all tests of a
//! process share the log.

mod support;

use krarup_dist::ClusterCalls;
use std::io::{Read, Write};
use support::log::Lines;
use support::raw::until;
use support::served::works;
use support::{Member, Order};

#[test]
fn zobs2_a_line_says_who_the_peer_is_and_why_it_is_down_refused_or_not_understood() {
    let lines = Lines::record("krarup::cluster");
    let a = Member::start("log_a@127.0.0.1", "secret", &[]);
    let b = Member::start("log_b@127.0.0.1", "secret", &[&a]);
    let wrong = Member::start("log_wrong@127.0.0.1", "other", &[&a]);
    a.worker("stock");

    // The side that dials does not know more than that the other one closes.
    let stock = wrong.cluster.remote::<Order>("stock", &a.name).unwrap();
    assert!(stock.call(Order::Total).wait().is_err());
    let line = lines.wait_for("as it does if the cookies differ");
    assert!(line.contains("peer=log_a@127.0.0.1;"), "{line}");
    // The name comes before the proof.
    let line = lines.wait_for("peer=log_wrong@127.0.0.1;");
    assert!(line.contains("closed a connection") && line.contains("cookie"), "{line}");

    // A cast that is not of the type of its receiver.
    assert!(works(&a, &b));
    let text = b.cluster.remote::<String>("stock", &a.name).unwrap();
    text.send("no order".to_owned()).unwrap();
    let line = lines.wait_for("could not read a message");
    for part in
        ["peer=log_b@127.0.0.1;", "to=stock;", "::Order;", "why=expected a variant of Order"]
    {
        assert!(line.contains(part), "{part}: {line}");
    }

    // A registration that is lost, and cannot be made again at once. A reason is logged once.
    let epmd = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = epmd.local_addr().unwrap().port();
    let answered = std::thread::spawn(move || {
        let answer = |result: u8| {
            let (mut stream, _) = epmd.accept().unwrap();
            let mut length = [0; 2];
            stream.read_exact(&mut length).unwrap();
            stream.read_exact(&mut vec![0; u16::from_be_bytes(length).into()]).unwrap();
            stream.write_all(&[118, result, 0, 0, 0, 7]).unwrap();
            stream
        };
        drop(answer(0));
        drop((answer(1), answer(1)));
        answer(0)
    });
    let mapped =
        Member::with("log_mapped@127.0.0.1", "secret", move |cluster| cluster.epmd_at(port));
    lines.wait_for("registered at epmd again");
    let refused = lines.wait_for("the name is taken by another node");
    assert!(refused.contains("not registered at epmd"), "{refused}");
    let logged = lines.all.lock().unwrap().clone();
    let said: Vec<_> = logged.iter().filter(|line| line.contains("registered at epmd")).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].contains("the connection to it is lost"), "{said:?}");
    drop((mapped, answered.join().unwrap()));

    // A node that stops in order.
    a.node.stop().wait().unwrap();
    until("it is down", || b.cluster.nodes().unwrap().is_empty());
    let line = lines.wait_for("peer=log_a@127.0.0.1;why=closed by the peer");
    assert!(line.contains("disconnected"), "{line}");
}
