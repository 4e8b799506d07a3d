//! What the routes say.

use super::client::{get, observed, start, until};
use crate::{Observer, ObserverError};
use krarup_act::{Actor, Context};
use krarup_gen::{Reason, Result, Root};
use krarup_node::Node;

#[test]
fn v2_what_cannot_be_started_is_a_typed_error_and_nothing_is_left() {
    let node = Node::start("v2@localhost").unwrap();
    let before = node.processes();
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap();
    let start = |observer: Observer| observer.start(&node).wait().unwrap_err();
    let error = start(Observer::new().listen(taken.to_string()));
    assert!(matches!(error, ObserverError::Bind { address, .. } if address == taken), "{error}");
    let error = start(Observer::new().listen("nowhere"));
    assert!(matches!(&error, ObserverError::Address { address, .. } if address == "nowhere"));
    let error = start(Observer::new().listen("0.0.0.0:0"));
    assert!(matches!(error, ObserverError::OpenToTheWorld(_)), "{error}");
    let error = start(Observer::new().listen("127.0.0.1:0").allow_host("a:1"));
    assert!(matches!(&error, ObserverError::Host(host) if host == "a:1"), "{error}");
    let check = crate::Check::inspect("x").timeout(std::time::Duration::ZERO);
    let error = start(Observer::new().listen("127.0.0.1:0").check(check));
    assert!(
        error.to_string().contains("process:x") && error.to_string().contains("0ns"),
        "{error}"
    );
    assert_eq!(node.processes(), before);
    drop(held);
    node.stop().wait().unwrap();
}

#[test]
fn v3_each_of_its_processes_may_be_killed_and_is_back_on_the_same_port() {
    let (node, observer) = observed(|it| it);
    for name in ["observer.http", "observer.sampler"] {
        let killed = node.whereis(name).unwrap();
        assert_eq!(node.process_info(killed).unwrap().root, Root::System);
        node.kill(killed);
        let end = node.watch(killed).wait().unwrap();
        assert!(matches!(end.reason, Reason::Killed | Reason::NoProcess), "{}", end.reason);
        // A client that connects meanwhile waits.
        super::client::until(observer.address(), "/api/v1/node", |reply| reply.status == 200);
        assert_ne!(node.whereis(name), Some(killed));
    }
    node.stop().wait().unwrap();
}

#[test]
fn v4_a_node_with_an_observer_stops_and_leaves_no_socket() {
    let (node, observer) = observed(|it| it);
    assert_eq!(get(observer.address(), "/").status, 200);
    node.stop().wait().unwrap();
    assert!(std::net::TcpStream::connect(observer.address()).is_err());
}

#[test]
fn v5_the_last_handle_stops_the_node_and_each_node_shows_itself() {
    let (one, first) = observed(|it| it);
    let other = Node::start("other@localhost").unwrap();
    let second = start(&other, |it| it);
    let names =
        [&first, &second].map(|it| get(it.address(), "/api/v1/node").json()["node"].clone());
    assert_eq!(
        names.map(|name| name.as_str().unwrap().to_owned()),
        ["observed@localhost", "other@localhost"]
    );
    drop(one);
    while std::net::TcpStream::connect(first.address()).is_ok() {}
    assert_eq!(get(second.address(), "/api/v1/node").status, 200);
    other.stop().wait().unwrap();
}

#[test]
fn v4_the_stop_of_an_observer_is_no_dead_letter() {
    let (node, observer) = observed(|it| it);
    assert_eq!(get(observer.address(), "/livez").status, 200);
    node.stop().wait().unwrap();
    assert_eq!(node.stats().dead_letters, 0);
}

/// Stashes what it is sent.
struct StashesAll;

impl Actor for StashesAll {
    type Message = u32;
    async fn handle_message(&mut self, ctx: &mut Context<u32>, number: u32) -> Result {
        ctx.stash(number)?;
        Ok(())
    }
}

#[test]
fn m9_the_details_of_a_process_tell_how_many_messages_it_has_stashed() {
    let (node, observer) = observed(|it| it);
    let stashes = node.spawn(|| StashesAll).wait().unwrap();
    let route = format!("/api/v1/processes/{}", stashes.pid().id());
    assert_eq!(get(observer.address(), &route).json()["stashed"], 0);
    stashes.send(1).unwrap();
    stashes.send(2).unwrap();
    let seen = until(observer.address(), &route, |reply| reply.json()["stashed"] == 2).json();
    assert_eq!((&seen["main"], &seen["handled"]), (&0.into(), &2.into()));
    node.stop().wait().unwrap();
}
