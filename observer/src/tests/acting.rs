//! Actions.

use super::client::{HttpReply, TOKEN, get, observed, post, until};
use krarup_act::{Actor, Address, Context};
use krarup_gen::{Reason, Result};
use krarup_node::Node;

struct IdleProcess;

impl Actor for IdleProcess {
    type Message = ();
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

fn idle(node: &Node) -> Address<()> {
    node.spawn(|| IdleProcess).wait().unwrap()
}

#[test]
fn v48_each_action_is_done_and_recorded_without_the_token() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    let act = |id: u64, action: &str, body: &str| {
        post(address, &format!("/api/v1/processes/{id}/{action}"), body)
    };
    let (one, other) = (idle(&node), idle(&node));
    let end = node.watch(one.pid());
    let done = act(one.pid().id(), "kill", "{}");
    assert_eq!(
        done.body,
        format!("{{\"done\":true,\"action\":\"kill\",\"pid\":\"{}\"}}", one.pid())
    );
    assert_eq!(end.wait().unwrap().reason, Reason::Killed);
    let end = node.watch(other.pid());
    assert_eq!(act(other.pid().id(), "exit", "{\"reason\":\"enough\"}").status, 200);
    assert_eq!(end.wait().unwrap().reason.to_string(), "enough");
    assert_eq!(act(other.pid().id(), "kill", "{}").code(), "no_process");
    assert_eq!(act(idle(&node).pid().id(), "kill", "{\"now\":1}").code(), "bad_body");
    let actions = get(address, "/api/v1/actions").json();
    let seen: Vec<_> = actions["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let text = |name: &str| it[name].as_str().unwrap_or("-").to_owned();
            [text("action"), text("outcome"), text("code"), text("peer")].join(" ")
        })
        .collect();
    assert_eq!(
        seen,
        [
            "kill done - 127.0.0.1",
            "exit done - 127.0.0.1",
            "kill failed no_process 127.0.0.1",
            "kill refused bad_body 127.0.0.1",
        ]
    );
    assert_eq!(actions["items"][1]["arguments"]["reason"], "enough");
    assert!(!actions.to_string().contains(TOKEN));
    node.stop().wait().unwrap();
}

#[test]
fn v47_actions_reach_nobody_but_the_process_that_is_named() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    for id in ["0", "18446744073709551616", "18446744073709551615", "999999"] {
        let reply = post(address, &format!("/api/v1/processes/{id}/kill"), "{}");
        assert_eq!((reply.status, reply.code().as_str()), (404, "no_process"), "{id}");
    }
    get(address, "/livez");
    let own = get(address, "/api/v1/processes?root=system").json();
    let own = own["processes"].as_array().unwrap();
    assert!(own.len() >= 5, "{own:?}");
    for row in own {
        let reply = post(address, &format!("/api/v1/processes/{}/kill", row["id"]), "{}");
        assert_eq!((reply.status, reply.code().as_str()), (409, "protected"), "{row}");
    }
    node.stop().wait().unwrap();
}

#[test]
fn v49_what_an_action_did_is_in_the_next_answer() {
    let (node, observer) = observed(|it| it);
    let process = idle(&node).pid().id();
    let state_in = |answer: &HttpReply| {
        let all = answer.json()["processes"].as_array().unwrap().clone();
        let found = all.into_iter().find(|it| it["id"] == process).unwrap();
        found["state"].as_str().unwrap().to_owned()
    };
    let rows = "/api/v1/processes?limit=500";
    let next = || state_in(&get(observer.address(), rows));
    let act = |action: &str, body: &str| {
        let path = format!("/api/v1/processes/{process}/{action}");
        assert_eq!(post(observer.address(), &path, body).status, 200);
    };
    // Its first turn may still be on its way.
    until(observer.address(), rows, |answer| state_in(answer) == "idle");
    act("suspend", "{\"seconds\":3600}");
    assert_eq!(next(), "suspended");
    act("resume", "{}");
    assert_ne!(next(), "suspended");
    until(observer.address(), rows, |answer| state_in(answer) == "idle");
}

#[test]
fn v49_a_suspension_ends_by_itself_though_the_observer_was_killed() {
    let (node, observer) = observed(|it| it);
    let process = idle(&node);
    let act = |action: &str, body: &str| {
        post(
            observer.address(),
            &format!("/api/v1/processes/{}/{action}", process.pid().id()),
            body,
        )
    };
    assert_eq!(act("resume", "{}").code(), "not_suspended");
    let reply = act("suspend", "{\"seconds\":3600}");
    assert!(reply.json()["resumes_at"].is_string(), "{reply:?}");
    assert_eq!(node.process_info(process.pid()).unwrap().suspensions, 1);
    // The program suspends it, too.
    node.suspend(process.pid()).wait().unwrap();
    assert_eq!(act("resume", "{}").status, 200);
    assert_eq!(node.process_info(process.pid()).unwrap().suspensions, 1);
    assert_eq!(act("suspend", "{\"seconds\":1}").status, 200);
    let supervisor = node.whereis("observer").unwrap();
    let end = node.watch(supervisor);
    node.kill(supervisor);
    end.wait().unwrap();
    while node.process_info(process.pid()).unwrap().suspensions > 1 {
        std::thread::yield_now();
    }
    assert_eq!(node.process_info(process.pid()).unwrap().suspensions, 1, "the program's own stays");
    node.stop().wait().unwrap();
}

#[test]
fn v15_a_crash_is_told_with_its_cause_and_its_successor() {
    use krarup_supervisor::{ChildSpec, Supervisor};
    struct Fragile;
    impl Actor for Fragile {
        type Message = u32;
        async fn handle_message(&mut self, _: &mut Context<u32>, n: u32) -> Result {
            assert!(n > 0, "zero came");
            Ok(())
        }
    }
    let (node, observer) = observed(|it| it);
    let tree =
        || Supervisor::one_for_one().child(ChildSpec::worker("shop", || Fragile).name("shop"));
    node.spawn(tree).name("root").wait().unwrap();
    let shop: Address<u32> = node.lookup("shop").unwrap();
    shop.send(0).unwrap();
    let told =
        |reply: &super::client::HttpReply| reply.json()["items"][0]["replaced_by"].is_string();
    let list = until(observer.address(), "/api/v1/crashes", told).json();
    let item = &list["items"][0];
    assert_eq!((&item["kind"], &item["name"]), (&"panic".into(), &"shop".into()));
    assert_eq!(
        (&item["watched_by"]["name"], &item["watched_by"]["kind"]),
        (&"root".into(), &"supervisor".into())
    );
    assert_eq!(
        item["replaced_by"].as_str(),
        node.whereis("shop").map(|it| it.to_string()).as_deref()
    );
    let crash = get(observer.address(), "/api/v1/crashes/1").json();
    assert_eq!(
        (&crash["cause"]["kind"], &crash["in_hand"]["type"]),
        (&"own".into(), &"u32".into())
    );
    assert_eq!(crash["decision"]["what"], "restarting", "{crash}");
    let explanation = crash["explanation"].as_str().unwrap();
    for part in ["shop", "zero came", "u32", "root", "restarting", "came in its place"] {
        assert!(explanation.contains(part), "{part}: {explanation}");
    }
    let (_, rest) = explanation.split_once("ended after ").unwrap();
    let (after, _) = rest.split_once(':').unwrap();
    let (number, unit) = after.rsplit_once(' ').unwrap();
    let rounded = number.split_once('.').is_none_or(|(_, tenth)| tenth.len() == 1);
    assert!(rounded && ["µs", "ms", "s"].contains(&unit), "{explanation}");
    assert!(explanation.contains(" in 5 s"), "{explanation}");
    assert_eq!(get(observer.address(), "/api/v1/crashes/2").code(), "no_entry");
    let restarts = get(observer.address(), "/api/v1/restarts?after=-1").json();
    assert!(
        restarts["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["what"] == "restarting" && it["crash"] == 1),
        "{restarts}"
    );
    node.stop().wait().unwrap();
}
