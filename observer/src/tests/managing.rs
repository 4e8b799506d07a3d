//! Pools and supervisors are managed through the API.

use super::client::{HttpReply, TOKEN, get, observed, post};
use krarup_act::{Actor, Context, Pool};
use krarup_gen::{Pid, Reason, Result};
use krarup_supervisor::{ChildSpec, ChildTemplate, Supervisor, SupervisorCalls};
use std::net::SocketAddr;

struct JoblessProcess;

impl Actor for JoblessProcess {
    type Message = ();
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

fn act(address: SocketAddr, pid: Pid, action: &str, body: &str) -> HttpReply {
    post(address, &format!("/api/v1/processes/{}/{action}", pid.id()), body)
}

fn assert_done(reply: &HttpReply, action: &str, pid: Pid) {
    let body = format!("{{\"done\":true,\"action\":\"{action}\",\"pid\":\"{pid}\"}}");
    assert_eq!((reply.status, reply.body.as_str()), (200, body.as_str()));
}

/// The attempts, as `action outcome code`.
fn attempts(address: SocketAddr) -> Vec<String> {
    let actions = get(address, "/api/v1/actions").json();
    assert!(!actions.to_string().contains(TOKEN));
    let items = actions["items"].as_array().unwrap();
    let text = |item: &serde_json::Value, name: &str| item[name].as_str().unwrap_or("-").to_owned();
    items
        .iter()
        .map(|it| ["action", "outcome", "code"].map(|name| text(it, name)).join(" "))
        .collect()
}

#[test]
fn v47_a_pool_is_resized_drained_and_reopened() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    let pool = node.spawn(|| Pool::new(2, || JoblessProcess)).wait().unwrap();
    let size = || pool.workers().wait().unwrap().len();
    for workers in [5, 1] {
        let body = format!("{{\"workers\":{workers}}}");
        assert_done(&act(address, pool.pid(), "resize", &body), "resize", pool.pid());
        assert_eq!(size(), workers);
    }
    assert_done(&act(address, pool.pid(), "drain", "{}"), "drain", pool.pid());
    assert!(pool.send(()).is_err());
    let reply = act(address, pool.pid(), "resize", "{\"workers\":3}");
    assert_eq!((reply.status, reply.code().as_str()), (409, "not_offered"));
    assert!(reply.body.contains("it is drained"), "{}", reply.body);
    assert_done(&act(address, pool.pid(), "reopen", "{}"), "reopen", pool.pid());
    pool.send(()).unwrap();
    for (action, body) in [
        ("resize", "{}"),
        ("resize", "{\"workers\":1025}"),
        ("resize", "{\"workers\":-1}"),
        ("drain", "{\"workers\":1}"),
        ("reopen", "[]"),
    ] {
        let reply = act(address, pool.pid(), action, body);
        assert_eq!((reply.status, reply.code().as_str()), (400, "bad_body"), "{action} {body}");
    }
    assert_eq!(size(), 1);
    let seen = attempts(address);
    assert_eq!(
        seen[..4],
        ["resize done -", "resize done -", "drain done -", "resize failed not_offered"]
    );
    assert!(seen[5..].iter().all(|it| it.ends_with("refused bad_body")), "{seen:?}");
    node.stop().wait().unwrap();
}

#[test]
fn v47_a_child_is_terminated_and_restarted() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    let child = |id: &'static str| ChildSpec::worker(id, || JoblessProcess).name(id);
    let tree = move || Supervisor::one_for_one().child(child("one")).child(child("other"));
    let tree = node.spawn(tree).wait().unwrap().pid();
    let other = node.whereis("other").unwrap();
    let first = node.whereis("one").unwrap();
    let one = "{\"child\":\"one\"}";
    assert_done(&act(address, tree, "terminate_child", one), "terminate_child", tree);
    assert!(!node.is_alive(first) && node.whereis("one").is_none());
    assert_done(&act(address, tree, "restart_child", one), "restart_child", tree);
    assert!(node.whereis("one").is_some_and(|pid| pid != first));
    for (action, body, told) in [
        ("restart_child", one, "is running as"),
        ("terminate_child", "{\"child\":\"none\"}", "no child"),
    ] {
        let reply = act(address, tree, action, body);
        assert_eq!((reply.status, reply.code().as_str()), (409, "not_offered"));
        assert!(reply.body.contains(told), "{}", reply.body);
    }
    let reply = act(address, tree, "terminate_child", "{\"child\":\"\"}");
    assert_eq!((reply.status, reply.code().as_str()), (400, "bad_body"));
    assert_eq!(node.whereis("other"), Some(other));
    node.stop().wait().unwrap();
}

#[test]
fn v18_a_process_is_shown_as_the_child_that_its_supervisor_knows() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    let template = ChildTemplate::worker("session", |()| JoblessProcess);
    let sessions = move || Supervisor::simple_one_for_one(template);
    let sessions = node.spawn(sessions).name("sessions").wait().unwrap();
    let shown = |pid: Pid| {
        let process = get(address, &format!("/api/v1/processes/{}", pid.id())).json();
        let supervised = &process["supervised_by"];
        assert_eq!(
            (&supervised["name"], &supervised["kind"]),
            (&"sessions".into(), &"supervisor".into())
        );
        (supervised["child"].clone(), supervised["restarts"].clone())
    };
    // Started on request, which is no decision: the ring does not know it.
    let first = sessions.start_child(()).wait().unwrap().unwrap();
    let other = sessions.start_child(()).wait().unwrap().unwrap();
    assert_eq!(shown(first), ("session".into(), 0.into()));
    node.exit(first, Reason::error("boom"));
    let second = loop {
        let children = sessions.which_children().wait().unwrap();
        match children.last().and_then(|child| child.state.pid()) {
            Some(pid) if pid != first => break pid,
            _ => std::thread::yield_now(),
        }
    };
    assert_eq!(shown(second), ("session".into(), 1.into()));
    assert_eq!(shown(other), ("session".into(), 0.into()));
    let snapshot = get(address, "/api/v1/snapshot").json();
    let details = snapshot["process_details"].as_array().unwrap();
    let of = |pid: Pid| details.iter().find(|it| it["pid"] == pid.to_string()).unwrap();
    assert_eq!(of(other)["supervised_by"]["child"], "session");
    node.stop().wait().unwrap();
}

#[test]
fn v18_of_a_supervisor_that_does_not_answer_the_newest_decisions_tell_the_child() {
    let (node, observer) = observed(|it| it);
    let child = ChildSpec::worker("one", || JoblessProcess).name("till");
    let tree = node.spawn(move || Supervisor::one_for_one().child(child)).wait().unwrap();
    node.suspend(tree.pid()).wait().unwrap();
    let till = node.whereis("till").unwrap();
    let process = get(observer.address(), &format!("/api/v1/processes/{}", till.id())).json();
    assert_eq!(process["supervised_by"]["child"], "one");
    node.resume(tree.pid());
    node.stop().wait().unwrap();
}

#[test]
fn v47_who_is_no_pool_and_no_supervisor_offers_nothing_and_the_observer_is_protected() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    let process = node.spawn(|| JoblessProcess).wait().unwrap().pid();
    let tree = node.spawn(Supervisor::one_for_one).wait().unwrap().pid();
    let pool = node.spawn(|| Pool::new(1, || JoblessProcess)).wait().unwrap().pid();
    let of_pools = [("resize", "{\"workers\":1}"), ("drain", "{}"), ("reopen", "{}")];
    let of_supervisors =
        [("terminate_child", "{\"child\":\"http\"}"), ("restart_child", "{\"child\":\"http\"}")];
    let offers = |pid: Pid, actions: &[(&str, &str)], code: (u16, &str)| {
        for (action, body) in actions {
            let reply = act(address, pid, action, body);
            assert_eq!((reply.status, reply.code().as_str()), code, "{action}: {}", reply.body);
        }
    };
    for pid in [process, tree] {
        offers(pid, &of_pools, (409, "not_offered"));
    }
    for pid in [process, pool] {
        offers(pid, &of_supervisors, (409, "not_offered"));
    }
    offers(node.whereis("observer").unwrap(), &of_supervisors, (409, "protected"));
    node.kill(process);
    while node.is_alive(process) {}
    offers(process, &of_pools, (404, "no_process"));
    offers(process, &of_supervisors, (404, "no_process"));
    node.stop().wait().unwrap();
}
