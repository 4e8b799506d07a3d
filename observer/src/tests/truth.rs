//! What the routes say agrees with what is.

use super::client::{get, observed, quick, until};
use crate::limits::DoorLimits;
use krarup_act::{Actor, Address, Context, Reply, behavior_fn};
use krarup_gen::{Reason, Result, SendError};
use krarup_node::{DispatcherOptions, Node};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::mpsc;
use std::time::Duration;

struct Sleeper;

impl Actor for Sleeper {
    type Message = ();
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

fn ids(body: &Value) -> Vec<u64> {
    let rows = body["processes"].as_array().unwrap();
    rows.iter().map(|row| row["id"].as_u64().unwrap()).collect()
}

#[test]
fn v7_tree_node_and_processes_agree_on_the_processes() {
    let (node, observer) = observed(|it| it);
    let parent = || {
        behavior_fn(|mut ctx: Context<()>| async move {
            for _ in 0..5 {
                ctx.spawn(|| Sleeper).start()?;
            }
            loop {
                ctx.receive().await;
            }
        })
    };
    node.spawn(parent).wait().unwrap();
    let all = node.processes().len();
    let same = |reply: &super::client::HttpReply| reply.json()["total"] == all;
    let tree = until(observer.address(), "/api/v1/tree", same).json();
    assert_eq!(tree["shown"], all);
    let mut seen = BTreeSet::new();
    let mut ahead: Vec<&Value> = tree["roots"].as_array().unwrap().iter().collect();
    while let Some(node) = ahead.pop() {
        assert!(seen.insert(node["id"].as_u64()), "twice: {node}");
        ahead.extend(node["children"].as_array().unwrap());
    }
    assert_eq!(seen.len(), all);
    let whole = get(observer.address(), "/api/v1/node").json();
    let counts = &whole["processes"];
    assert_eq!(counts["living"], all);
    assert_eq!(counts["user"].as_u64().unwrap() + counts["system"].as_u64().unwrap(), all as u64);
    let states = counts["by_state"].as_object().unwrap();
    assert_eq!(states.values().filter_map(Value::as_u64).sum::<u64>(), all as u64);
    assert_eq!(counts["spawned"].as_u64().unwrap() - counts["ended"].as_u64().unwrap(), all as u64);
    assert_eq!(get(observer.address(), "/api/v1/processes").json()["total"], all);
    node.stop().wait().unwrap();
}

#[test]
fn v8_pages_have_every_process_once_in_order() {
    let (node, observer) = observed(|it| it);
    for n in 0..23 {
        node.spawn(|| Sleeper).name(format!("name-{:02}", n * 7 % 23)).wait().unwrap();
    }
    for query in [
        "q=name-&sort=name",
        "q=name-&sort=id&order=desc",
        "q=name-&sort=main",
        "behavior=Sleeper&sort=behavior",
    ] {
        let mut all = Vec::new();
        for page in 0..5 {
            let body = get(
                observer.address(),
                &format!("/api/v1/processes?{query}&limit=5&offset={}", page * 5),
            )
            .json();
            assert_eq!(body["matched"], 23, "{query}");
            all.extend(ids(&body));
        }
        let whole = get(observer.address(), &format!("/api/v1/processes?{query}")).json();
        assert_eq!(all, ids(&whole), "{query}");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 23);
        let names: Vec<_> = whole["processes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["name"].as_str().unwrap())
            .collect();
        match query {
            "q=name-&sort=name" => assert!(names.is_sorted()),
            "q=name-&sort=id&order=desc" => assert!(all.iter().rev().is_sorted()),
            _ => assert!(all.is_sorted(), "ties by id: {all:?}"),
        }
    }
    node.stop().wait().unwrap();
}

#[test]
fn v9_filters_keep_what_they_say_and_q_is_no_pattern() {
    let (node, observer) = observed(|it| it);
    for name in ["stock", "Stock-2", "a.*b"] {
        node.spawn(|| Sleeper).name(name).wait().unwrap();
    }
    let matched = |query: &str| {
        get(observer.address(), &format!("/api/v1/processes?{query}")).json()["matched"].as_u64()
    };
    assert_eq!(matched("q=STOCK"), Some(2));
    assert_eq!(matched("q=.*"), Some(1));
    assert_eq!(matched("kind=actor&root=user"), Some(3));
    assert_eq!(matched("kind=actor&root=user&q=stock"), Some(2));
    assert_eq!(matched("kind=pool"), Some(0));
    assert_eq!(matched("min_main=1"), Some(0));
    assert_eq!(matched("dispatcher=observer&root=user"), Some(0));
    let code = |query: &str| get(observer.address(), &format!("/api/v1/processes?{query}")).code();
    for bad in [
        "sort=x",
        "order=up",
        "kind=x",
        "state=x",
        "root=x",
        "limit=501",
        "offset=-1",
        "q=",
        "parent=x",
    ] {
        assert_eq!(code(bad), "bad_parameter", "{bad}");
    }
    assert_eq!(code("page=1"), "unknown_parameter");
    node.stop().wait().unwrap();
}

#[test]
fn v12_a_chain_of_calls_is_one_chain_and_is_gone_after_the_answer() {
    struct Link(Option<Address<Ask>>, Option<mpsc::Sender<Reply<()>>>);
    struct Ask(Reply<()>);
    impl Actor for Link {
        type Message = Ask;
        async fn handle_message(&mut self, _: &mut Context<Ask>, Ask(reply): Ask) -> Result {
            match &self.0 {
                Some(next) => {
                    next.call(Ask).timeout(Duration::from_secs(60)).await?;
                    reply.send(());
                }
                None => drop(self.1.as_ref().map(|held| held.send(reply))),
            }
            Ok(())
        }
    }
    let (node, observer) = observed(|it| it);
    let (tell, told) = mpsc::channel();
    let mut next = node.spawn(move || Link(None, Some(tell))).wait().unwrap();
    let mut pids = vec![next.pid().to_string()];
    for _ in 0..9 {
        let after = next.clone();
        next = node.spawn(move || Link(Some(after), None)).wait().unwrap();
        pids.insert(0, next.pid().to_string());
    }
    let first = next;
    let asking =
        std::thread::spawn(move || first.call(Ask).timeout(Duration::from_secs(60)).wait());
    let held = told.recv().unwrap();
    let whole = |reply: &super::client::HttpReply| {
        reply.json()["edges"].as_array().map(Vec::len) == Some(9)
    };
    let waits = until(observer.address(), "/api/v1/waits", whole).json();
    assert_eq!(waits["chains"].as_array().map(Vec::len), Some(1));
    assert_eq!(waits["chains"][0]["pids"], serde_json::json!(pids));
    assert_eq!(
        (&waits["most_waited_for"][0]["pid"], &waits["most_waited_for"][0]["by"]),
        (&pids[9].clone().into(), &9.into())
    );
    held.send(());
    asking.join().unwrap().unwrap();
    until(observer.address(), "/api/v1/waits", |reply| {
        reply.json()["edges"] == serde_json::json!([])
    });
    node.stop().wait().unwrap();
}

#[test]
fn v22_an_inspection_has_a_time_limit_and_the_dead_have_none() {
    let (node, observer) = observed(|it| it);
    let (tell, told) = mpsc::channel::<()>();
    let (go, goes) = mpsc::channel::<()>();
    let goes = std::sync::Mutex::new(goes);
    let stuck = move || {
        behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.receive().await;
            let _ = tell.send(());
            let _ = goes.lock().map(|goes| goes.recv());
            Ok::<(), krarup_gen::Reason>(())
        })
    };
    let address = node.spawn(stuck).start().unwrap();
    address.send(()).unwrap();
    told.recv().unwrap();
    let target = format!("/api/v1/processes/{}/inspect", address.pid().id());
    let reply = get(observer.address(), &format!("{target}?timeout_ms=10"));
    assert_eq!((reply.status, reply.code().as_str()), (504, "timeout"));
    let end = node.watch(address.pid());
    go.send(()).unwrap();
    end.wait().unwrap();
    assert_eq!(get(observer.address(), &target).code(), "no_process");
    assert_eq!(get(observer.address(), &format!("{target}?timeout_ms=9")).code(), "bad_parameter");
    node.stop().wait().unwrap();
}

#[test]
fn v6_it_answers_while_every_worker_is_held() {
    let node = Node::builder("held@localhost")
        .options(DispatcherOptions::new().workers(2).spare_workers(0))
        .start()
        .unwrap();
    let observer = super::client::start(&node, |it| it);
    let (tell, told) = mpsc::channel::<()>();
    let (go, goes) = mpsc::channel::<()>();
    let goes = std::sync::Arc::new(std::sync::Mutex::new(goes));
    for _ in 0..2 {
        let (tell, goes) = (tell.clone(), std::sync::Arc::clone(&goes));
        let holds = move || {
            behavior_fn(move |_: Context<()>| async move {
                let _ = tell.send(());
                let _ = goes.lock().map(|goes| goes.recv());
                Ok::<(), krarup_gen::Reason>(())
            })
        };
        node.spawn(holds).start().unwrap();
    }
    told.recv().unwrap();
    told.recv().unwrap();
    for route in [
        "/livez",
        "/health",
        "/tree",
        "/api/v1/node",
        "/api/v1/processes",
        "/api/v1/waits",
        "/api/v1/pools",
        "/metrics",
        "/api/v1/snapshot",
    ] {
        assert!([200, 503].contains(&get(observer.address(), route).status), "{route}");
    }
    let blocked = |reply: &super::client::HttpReply| reply.body.contains("workers_blocked");
    until(observer.address(), "/api/v1/findings", blocked);
    go.send(()).unwrap();
    go.send(()).unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn v14_a_full_pool_is_shown_full() {
    struct Waiter;
    impl Actor for Waiter {
        type Message = std::sync::Arc<std::sync::Mutex<mpsc::Receiver<()>>>;
        async fn handle_message(
            &mut self,
            _: &mut Context<Self::Message>,
            go: Self::Message,
        ) -> Result {
            let _ = go.lock().map(|go| go.recv());
            Ok(())
        }
    }
    let (node, observer) = observed(|it| it);
    let pool =
        node.spawn(|| krarup_act::Pool::new(1, || Waiter).mailbox(3)).name("jobs").wait().unwrap();
    let (go, goes) = mpsc::channel::<()>();
    let goes = std::sync::Arc::new(std::sync::Mutex::new(goes));
    // The first one is in the hand of the worker, and not in its mailbox.
    pool.send(std::sync::Arc::clone(&goes)).map_err(|_| ()).unwrap();
    let taken =
        |reply: &super::client::HttpReply| reply.json()["pools"][0]["members"][0]["handled"] == 1;
    until(observer.address(), "/api/v1/pools", taken);
    let mut full = 0_u64;
    while full < 5 {
        match pool.send(std::sync::Arc::clone(&goes)) {
            Err(SendError::Full { .. }) => full += 1,
            other => other.map_err(|_| ()).unwrap(),
        }
    }
    let settled = |reply: &super::client::HttpReply| reply.json()["pools"][0]["fill"] == 1.0;
    let body = until(observer.address(), "/api/v1/pools", settled).json();
    let shown = &body["pools"][0];
    assert_eq!((&shown["capacity"], &shown["waiting"]), (&3.into(), &3.into()));
    let found = super::metrics::scrape(observer.address());
    let unhandled =
        super::metrics::value(&found, "krarup_pool_unhandled_total", &[("pool", "jobs")]);
    assert_eq!(shown["unhandled"].as_f64(), Some(unhandled));
    assert!(unhandled >= 5.0);
    assert!(get(observer.address(), "/api/v1/findings").body.contains("pool_full"));
    drop(go);
    node.stop().wait().unwrap();
}

#[test]
fn v27_each_check_says_why_it_is_down() {
    use crate::{Check, Health};
    let short = Duration::from_millis(50);
    let (tell, told) = mpsc::channel::<()>();
    let (go, goes) = mpsc::channel::<()>();
    let goes = std::sync::Mutex::new(goes);
    let limits = DoorLimits { check: Duration::ZERO, ..quick() };
    let (node, observer) = observed(|it| {
        it.limits(limits)
            .check(Check::inspect("nobody").ready())
            .check(Check::inspect("hangs").ready().timeout(short))
            .check(Check::inspect("panics").judge(|_| panic!("a judge")))
            .check(Check::inspect("weak").judge(|_| Health::Degraded("tired".to_owned())))
    });
    let stuck = move || {
        behavior_fn(move |_: Context<()>| async move {
            let _ = tell.send(());
            let _ = goes.lock().map(|goes| goes.recv());
            Ok::<(), krarup_gen::Reason>(())
        })
    };
    node.spawn(stuck).name("hangs").start().unwrap();
    told.recv().unwrap();
    for name in ["panics", "weak", "well"] {
        node.spawn(|| Sleeper).name(name).wait().unwrap();
    }
    let reply = get(observer.address(), "/health");
    assert_eq!(reply.status, 503);
    let body = reply.json();
    let check = |name: &str| {
        let all = body["checks"].as_array().unwrap().iter();
        let found = all.clone().find(|it| it["name"] == format!("process:{name}"));
        let found = found.unwrap_or_else(|| panic!("{name}: {body}"));
        (found["status"].as_str().unwrap(), found["message"].as_str().unwrap_or_default())
    };
    assert_eq!(check("nobody"), ("down", "there is no process nobody"));
    assert_eq!(check("hangs"), ("down", "hangs did not answer within 50 ms"));
    assert_eq!(check("panics"), ("down", "its judge panicked"));
    assert_eq!(check("weak"), ("degraded", "tired"));
    assert_eq!(check("well"), ("ok", ""));
    let ready = get(observer.address(), "/readyz?verbose=1");
    assert_eq!(ready.status, 503);
    assert!(
        ready.body.contains("[-] process:nobody down: there is no process nobody\n"),
        "{}",
        ready.body
    );
    assert!(ready.body.ends_with("readyz check failed\n"));
    let live = get(observer.address(), "/livez");
    assert_eq!((live.status, live.body.as_str()), (200, "ok\n"));
    go.send(()).unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn v23_a_process_that_ends_while_it_is_listed_does_no_harm() {
    let (node, observer) = observed(|it| it);
    let spawning = node.clone();
    let (stop, stopped) = mpsc::channel::<()>();
    let storm = std::thread::spawn(move || {
        while stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {
            let process = spawning.spawn(|| Sleeper).wait().unwrap();
            spawning.kill(process.pid());
        }
    });
    for _ in 0..20 {
        for route in
            ["/tree", "/api/v1/processes?sort=cpu", "/api/v1/node", "/metrics", "/api/v1/snapshot"]
        {
            assert_eq!(get(observer.address(), route).status, 200, "{route}");
        }
    }
    stop.send(()).unwrap();
    storm.join().unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn v67_the_sampler_is_not_among_the_processes_that_run() {
    let (node, observer) = observed(|it| it);
    let (begun, begins) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let busy = move || {
        behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.initialised();
            begun.send(()).map_err(Reason::error)?;
            // It holds its worker until the test has seen it.
            let _ = ends.recv();
            Ok(())
        })
    };
    node.spawn(busy).name("busy").start().unwrap();
    begins.recv().unwrap();
    let told = |it: &super::client::HttpReply| {
        let body = it.json();
        let workers = body["workers"].as_array().unwrap();
        assert!(workers.iter().all(|it| it["name"] != "observer.sampler"), "{body}");
        workers.iter().any(|it| it["name"] == "busy")
    };
    until(observer.address(), "/api/v1/turns", told);
    drop(end);
    node.stop().wait().unwrap();
}
