//! What an orchestrator is told: alive, ready, neither.
#![allow(clippy::float_cmp, reason = "all are small whole numbers")]

use super::client::{HttpReply, PATIENCE, get, observed, quick, start, until};
use super::metrics::{scrape, value};
use crate::ObserverError;
use crate::limits::DoorLimits;
use krarup_act::{Actor, Address, Context, behavior_fn};
use krarup_gen::{Reason, Result};
use krarup_node::{Application, DispatcherOptions, Node};
use krarup_supervisor::{ChildSpec, RestartType, Supervisor};
use serde_json::Value;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Ends badly at each message.
struct EndsBadly;

impl Actor for EndsBadly {
    type Message = ();
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Err(Reason::error("broken"))
    }
}

/// Never comes back from its handler, but holds no worker.
struct Hanging;

impl Actor for Hanging {
    type Message = ();
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        std::future::pending().await
    }
}

#[test]
fn v29_the_node_is_alive_while_its_processes_crash_hang_and_are_suspended() {
    let (node, observer) = observed(|it| it);
    let fragile = || ChildSpec::worker("fragile", || EndsBadly).name("fragile");
    let tree = move || {
        Supervisor::one_for_one().intensity(1_000_000, Duration::from_secs(1)).child(fragile())
    };
    node.spawn(tree).name("tree").wait().unwrap();
    let hanging = node.spawn(|| Hanging).name("hanging").wait().unwrap();
    hanging.send(()).unwrap();
    let suspended = node.spawn(|| Hanging).name("suspended").wait().unwrap();
    node.suspend(suspended.pid()).wait().unwrap();
    let address = observer.address();
    for _ in 0..50 {
        if let Ok(fragile) = node.lookup::<(), ()>("fragile") {
            let _ = fragile.send(());
        }
        let reply = get(address, "/livez");
        assert_eq!((reply.status, reply.body.as_str()), (200, "ok\n"));
    }
    assert!(node.stats().restarts.values().sum::<u64>() > 0);
    // Who hangs is not ready, which is another matter.
    let reply = until(address, "/readyz?verbose=1", |reply| reply.status == 503);
    assert!(reply.body.contains("[-] process:hanging down"), "{}", reply.body);
    assert!(get(address, "/livez?verbose=1").body.ends_with("livez check passed\n"));
    node.stop().timeout(Duration::from_millis(50)).wait().ok();
}

/// Holds its worker at each message until the test lets it go.
struct HoldsItsWorker(Arc<Mutex<Receiver<()>>>);

impl Actor for HoldsItsWorker {
    type Message = ();
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        let _ = self.0.lock().unwrap().recv();
        Ok(())
    }
}

#[test]
fn v29_a_dispatcher_that_gives_no_turn_is_not_alive_and_is_when_it_gives_one() {
    let node = Node::builder("observed@localhost")
        .dispatcher("held", DispatcherOptions::new().workers(1).spare_workers(0))
        .start()
        .unwrap();
    // A canary is asked twice a second, so it may be without a turn for half a second.
    let limits = DoorLimits { canary: Duration::from_secs(1), ..quick() };
    let observer = start(&node, |it| it.limits(limits));
    let address = observer.address();
    let (release, released) = mpsc::channel();
    let released = Arc::new(Mutex::new(released));
    let held: Address<()> =
        node.spawn(move || HoldsItsWorker(released)).dispatcher("held").wait().unwrap();
    let shows = |reply: &HttpReply| reply.body.contains("dispatcher:held ok");
    let reply = until(address, "/livez?verbose=1", shows);
    assert_eq!(reply.status, 200);
    held.send(()).unwrap();
    let reply = until(address, "/livez", |reply| reply.status == 503);
    assert_eq!(reply.body, "down\n");
    let reply = get(address, "/livez?verbose=1");
    let line = "[-] dispatcher:held down: its canary has had no turn for";
    assert!(reply.body.contains(line), "{}", reply.body);
    assert!(reply.body.ends_with("livez check failed\n"));
    assert!(reply.body.contains("[+] dispatcher:observer ok"), "{}", reply.body);
    // Readiness does not depend on it.
    assert_eq!(get(address, "/health").json()["live"], false);
    // Findings and metrics have the check as it was when it last ran.
    let down =
        |reply: HttpReply| reply.body.contains("the check dispatcher:held is down: its canary");
    let status = || value(&scrape(address), "krarup_check_status", &[("check", "dispatcher:held")]);
    assert!(down(get(address, "/api/v1/findings")));
    assert_eq!(status(), 0.0);
    release.send(()).unwrap();
    assert_eq!(until(address, "/livez", |reply| reply.status == 200).body, "ok\n");
    assert!(!down(get(address, "/api/v1/findings")));
    assert_eq!(status(), 2.0);
    node.stop().wait().unwrap();
}

#[test]
fn v97_the_first_who_looks_is_told_who_holds_all_workers_and_for_how_long() {
    let node = Node::builder("observed@localhost")
        .dispatcher("held", DispatcherOptions::new().workers(2).spare_workers(0))
        .start()
        .unwrap();
    let observer = start(&node, |it| it);
    let address = observer.address();
    let holds = |name: &str| {
        let (release, released) = mpsc::channel();
        let released = Arc::new(Mutex::new(released));
        let process = node.spawn(move || HoldsItsWorker(Arc::clone(&released)));
        let process: Address<()> = process.name(name).dispatcher("held").wait().unwrap();
        process.send(()).unwrap();
        (process, release)
    };
    let held = [holds("first"), holds("second")];
    // The node knows it, and nobody has looked.
    let view = node.view();
    let second = Duration::from_secs(1);
    let is_held = |pid| view.current_turns().iter().any(|it| it.pid == pid && it.held > second);
    let began = std::time::Instant::now();
    while !held.iter().all(|(process, _)| is_held(process.pid())) {
        assert!(began.elapsed() < PATIENCE, "{:?}", view.current_turns());
        std::thread::yield_now();
    }
    let findings = get(address, "/api/v1/findings").json();
    let found = |code: &str| {
        let all = findings["findings"].as_array().unwrap().iter();
        all.filter(|it| it["code"] == code).cloned().collect::<Vec<_>>()
    };
    let blocked = found("workers_blocked");
    assert_eq!(blocked.len(), 1, "{findings}");
    assert!(blocked[0]["since_ms"].as_f64().unwrap() > 1000.0, "{findings}");
    let long = found("long_turn");
    assert_eq!(long.len(), 2, "{findings}");
    assert!(long.iter().all(|it| it["since_ms"].as_f64().unwrap() > 1000.0), "{findings}");
    let turns = get(address, "/api/v1/turns").json();
    let rows = turns["workers"].as_array().unwrap().iter().filter(|it| it["dispatcher"] == "held");
    let mut rows: Vec<_> = rows
        .map(|row| {
            assert!(row["held_ms"].as_f64().unwrap() > 1000.0, "{turns}");
            (row["worker"].as_u64().unwrap(), row["pid"].as_str().unwrap().to_owned())
        })
        .collect();
    rows.sort();
    assert_eq!(rows.iter().map(|(worker, _)| *worker).collect::<Vec<_>>(), [0, 1]);
    let mut pids: Vec<_> = rows.into_iter().map(|(_, pid)| pid).collect();
    let mut expected: Vec<_> = held.iter().map(|(it, _)| it.pid().to_string()).collect();
    pids.sort();
    expected.sort();
    assert_eq!(pids, expected);
    held.iter().for_each(|(_, release)| release.send(()).unwrap());
    node.stop().wait().unwrap();
}

#[test]
fn v29_a_pinned_dispatcher_has_no_canary() {
    let node = Node::builder("observed@localhost")
        .dispatcher("disk", DispatcherOptions::pinned())
        .dispatcher("shared", DispatcherOptions::new().workers(1))
        .start()
        .unwrap();
    let observer = start(&node, |it| it);
    for dispatcher in ["disk", "shared"] {
        node.spawn(|| EndsBadly).dispatcher(dispatcher).wait().unwrap();
    }
    let has = |reply: &HttpReply| reply.body.contains("dispatcher:shared ok");
    let reply = until(observer.address(), "/livez?verbose", has);
    assert!(!reply.body.contains("disk"), "{}", reply.body);
    assert_eq!(node.stats().dispatcher("disk").unwrap().workers, 1, "the thread of the program's");
    node.stop().wait().unwrap();
}

#[test]
fn v30_a_node_is_ready_from_the_start_of_its_tree_to_its_stop() {
    /// Takes until the test lets it go, in `init` and in `terminate`.
    struct Slow(gate::Gate);
    impl Actor for Slow {
        type Message = ();
        async fn init(&mut self, _: &mut Context<()>) -> Result {
            self.0.pass().await;
            Ok(())
        }
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
        async fn terminate(&mut self, _: &mut Context<()>, _: &Reason) {
            self.0.pass().await;
        }
    }
    let (node, observer) = observed(|it| it.ready_when("tree"));
    let address = observer.address();
    let ready = || get(address, "/readyz");
    assert_eq!((ready().status, ready().body.as_str()), (503, "down\n"));
    let verbose = get(address, "/readyz?verbose=1");
    assert!(verbose.body.contains("[-] start:tree down: it has not started"), "{}", verbose.body);
    assert_eq!(get(address, "/livez").status, 200);
    // The supervisor has its name, and waits for its child.
    let gate = gate::Gate::default();
    let child = {
        let gate = gate.clone();
        move || Slow(gate.clone())
    };
    let tree = move || {
        Supervisor::one_for_one().child(ChildSpec::worker("slow", child.clone()).name("slow"))
    };
    node.spawn(tree).name("tree").start().unwrap();
    until(address, "/api/v1/processes?q=slow", |reply| reply.json()["matched"] == 1);
    assert_eq!(ready().status, 503);
    gate.open();
    assert_eq!(until(address, "/readyz", |reply| reply.status == 200).body, "ok\n");
    let verbose = get(address, "/readyz?verbose=1");
    assert!(verbose.body.contains("[+] start:tree ok"), "{}", verbose.body);
    assert_eq!(get(address, "/health").json()["ready"], true);
    gate.close();
    let stopping = node.clone();
    let stop = std::thread::spawn(move || stopping.stop().wait());
    let reply = until(address, "/readyz?verbose=1", |reply| reply.status == 503);
    assert!(reply.body.contains("[-] node down: it is stopping"), "{}", reply.body);
    assert!(reply.body.contains("[+] start:tree ok"), "{}", reply.body);
    assert_eq!(get(address, "/livez").status, 200);
    assert_eq!(get(address, "/health").json()["stopping"], true);
    gate.open();
    stop.join().unwrap().unwrap();
}

#[test]
fn v30_each_process_that_is_waited_for_must_start_once() {
    let (node, observer) = observed(|it| it.ready_when("one").ready_when("other"));
    let address = observer.address();
    let idle = |name: &'static str| {
        let process = || {
            behavior_fn(|mut ctx: Context<()>| async move {
                loop {
                    ctx.receive().await;
                }
            })
        };
        node.spawn(process).name(name).wait().unwrap()
    };
    idle("one");
    let verbose = get(address, "/readyz?verbose=1");
    assert_eq!(verbose.status, 503);
    assert!(verbose.body.contains("[+] start:one ok\n[-] start:other down"), "{}", verbose.body);
    let other = idle("other");
    until(address, "/readyz", |reply| reply.status == 200);
    // Its later end is no start.
    node.kill(other.pid());
    let verbose = get(address, "/readyz?verbose=1");
    assert!(verbose.body.contains("[+] start:other ok"), "{}", verbose.body);
    node.stop().wait().unwrap();
    let node = Node::start("observed@localhost").unwrap();
    let bad = crate::Observer::new().listen("127.0.0.1:0").ready_when("");
    let error = bad.start(&node).wait().unwrap_err();
    assert!(matches!(&error, ObserverError::ReadyName(name) if name.is_empty()), "{error}");
    let bad = crate::Observer::new().listen("127.0.0.1:0").check(crate::Check::inspect(""));
    let error = bad.start(&node).wait().unwrap_err();
    assert!(matches!(&error, ObserverError::CheckName(name) if name.is_empty()), "{error}");
    node.stop().wait().unwrap();
}

/// A supervisor that gives up at the first failure of its child, which has this name.
fn fragile_tree(child: &'static str) -> Supervisor {
    let child = ChildSpec::worker(child, || EndsBadly).name(child);
    Supervisor::one_for_one().intensity(0, Duration::from_secs(1)).child(child)
}

#[test]
fn v30_an_awaited_supervisor_that_gave_up_makes_the_node_unready_until_it_is_back() {
    let (node, observer) = observed(|it| it.ready_when("tree"));
    let address = observer.address();
    node.spawn(|| fragile_tree("fragile")).name("tree").wait().unwrap();
    until(address, "/readyz", |reply| reply.status == 200);
    let fragile: Address<()> = node.lookup("fragile").unwrap();
    fragile.send(()).unwrap();
    let reply = until(address, "/readyz?verbose", |reply| reply.status == 503);
    let line = "the supervisor tree gave up because of its child fragile, and has ended\n";
    let line = format!("[-] process:tree down: {line}");
    // The child has a name too, and ends before its supervisor does.
    let reply = if reply.body.contains(&line) {
        reply
    } else {
        until(address, "/readyz?verbose", |reply| reply.body.contains(&line))
    };
    assert!(reply.body.contains("[+] start:tree ok"), "{}", reply.body);
    let health = get(address, "/health");
    let body = health.json();
    assert_eq!(
        (health.status, &body["status"], &body["ready"]),
        (503, &"down".into(), &false.into())
    );
    assert_eq!(get(address, "/livez").status, 200);
    let findings = get(address, "/api/v1/findings").body;
    assert!(findings.contains("the check process:tree is down"), "{findings}");
    node.spawn(|| fragile_tree("fragile")).name("tree").wait().unwrap();
    until(address, "/readyz", |reply| reply.status == 200);
    node.stop().wait().unwrap();
}

#[test]
fn v30_a_top_process_that_failed_makes_the_node_unready_and_one_that_was_stopped_does_not() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    let verbose = "/readyz?verbose";
    let failing = node.spawn(|| EndsBadly).name("failing").wait().unwrap();
    let stopped = node.spawn(|| EndsBadly).name("stopped").wait().unwrap();
    let other = || {
        let child = ChildSpec::worker("leaf", || EndsBadly).name("leaf");
        Supervisor::one_for_one().child(child.restart(RestartType::Temporary))
    };
    node.spawn(other).name("tree").wait().unwrap();
    let all = ["failing", "stopped", "tree"].map(|name| format!("[+] process:{name} ok\n"));
    let shows_all = |reply: &HttpReply| all.iter().all(|line| reply.body.contains(line));
    until(address, verbose, shows_all);
    // A process below the top is the matter of its supervisor.
    let leaf: Address<()> = node.lookup("leaf").unwrap();
    let end = node.watch(leaf.pid());
    leaf.send(()).unwrap();
    end.wait().unwrap();
    let end = node.watch(stopped.pid());
    node.exit(stopped.pid(), Reason::Shutdown);
    end.wait().unwrap();
    let without = |reply: &HttpReply| !reply.body.contains("process:stopped");
    let reply = until(address, verbose, without);
    assert!(reply.status == 200 && !reply.body.contains("leaf"), "{}", reply.body);
    failing.send(()).unwrap();
    let line = "[-] process:failing down: failing has ended: broken\n";
    let reply = until(address, verbose, |reply| reply.body.contains(line));
    assert_eq!(reply.status, 503);
    assert_eq!(get(address, "/health").json()["ready"], false);
    node.stop().wait().unwrap();
}

#[test]
fn v30_an_awaited_process_that_ended_in_order_is_missed_whatever_its_own_check_is_for() {
    let own = crate::Check::inspect("own").live();
    let (node, observer) = observed(|it| it.ready_when("one").ready_when("own").check(own));
    let address = observer.address();
    let one = node.spawn(|| EndsBadly).name("one").wait().unwrap();
    let own = node.spawn(|| EndsBadly).name("own").wait().unwrap();
    until(address, "/readyz", |reply| reply.status == 200);
    for (name, process) in [("one", one), ("own", own)] {
        node.exit(process.pid(), Reason::Shutdown);
        let line = format!("[-] process:{name} down: there is no process {name}\n");
        let reply = until(address, "/readyz?verbose", |reply| reply.body.contains(&line));
        assert_eq!(reply.status, 503);
    }
    node.stop().wait().unwrap();
}

#[test]
fn v95_a_process_with_a_thread_of_its_own_has_no_worker() {
    let node = Node::builder("observed@localhost")
        .dispatcher("disk", DispatcherOptions::pinned())
        .start()
        .unwrap();
    let observer = start(&node, |it| it);
    let (release, released) = mpsc::channel();
    let released = Arc::new(Mutex::new(released));
    let held = node.spawn(move || HoldsItsWorker(Arc::clone(&released))).dispatcher("disk");
    let held: Address<()> = held.wait().unwrap();
    held.send(()).unwrap();
    let row = |reply: &HttpReply| {
        let rows = reply.json()["workers"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["pid"] == held.pid().to_string())
    };
    let is_held = |row: Value| row["held_ms"].as_f64().is_some_and(|held| held > 0.0);
    let wanted = |reply: &HttpReply| row(reply).is_some_and(is_held);
    let reply = until(observer.address(), "/api/v1/turns", wanted);
    assert!(row(&reply).unwrap()["worker"].is_null(), "{}", reply.body);
    release.send(()).unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn v96_an_application_that_ended_normally_is_missed_by_nobody() {
    /// Ends at its first message.
    struct Batch;
    impl Actor for Batch {
        type Message = ();
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Err(Reason::Normal)
        }
    }
    let node = Node::builder("observed@localhost")
        .application(Application::new("batch", || Batch))
        .start()
        .unwrap();
    let observer = start(&node, |it| it);
    let shows = |reply: &HttpReply| reply.body.contains("application:batch ok");
    until(observer.address(), "/readyz?verbose", shows);
    let batch = node.applications()[0].top.unwrap();
    let end = node.watch(batch);
    node.send(batch, ()).unwrap();
    assert!(end.wait().unwrap().reason.is_normal());
    let without = |reply: &HttpReply| !reply.body.contains("application:batch");
    assert_eq!(until(observer.address(), "/readyz?verbose", without).status, 200);
    node.stop().wait().unwrap();
}

#[test]
fn v96_an_application_that_gave_up_makes_the_node_unready_until_it_runs_again() {
    let shop = || fragile_tree("stock");
    let mail = || Supervisor::one_for_one().child(ChildSpec::worker("smtp", || Hanging));
    let node = Node::builder("observed@localhost")
        .application(Application::new("shop", shop))
        .application(Application::new("mail", mail))
        .application(Application::new("later", mail).on_request())
        .start()
        .unwrap();
    let observer = start(&node, |it| it);
    let address = observer.address();
    // Nobody has looked while it ran.
    let stock: Address<()> = node.lookup("stock").unwrap();
    stock.send(()).unwrap();
    let line =
        "the supervisor of the application shop gave up because of its child stock, and has ended";
    let all = format!("[-] application:shop down: {line}\n[+] application:mail ok\nreadyz");
    let reply = until(address, "/readyz?verbose", |reply| reply.body.contains(&all));
    assert_eq!(reply.status, 503);
    let health = get(address, "/health");
    assert_eq!((health.status, health.json()["status"].as_str()), (503, Some("down")));
    assert_eq!(get(address, "/livez").status, 200);
    let findings = get(address, "/api/v1/findings").body;
    assert!(
        findings.contains(&format!("the check application:shop is down: {line}")),
        "{findings}"
    );
    let status = |name: &str| value(&scrape(address), "krarup_check_status", &[("check", name)]);
    assert_eq!((status("application:shop"), status("application:mail")), (0.0, 2.0));
    node.start_application("shop").wait().unwrap();
    let reply = get(address, "/readyz?verbose");
    assert!(reply.status == 200 && reply.body.contains("application:shop ok"), "{}", reply.body);
    // One that is stopped by request is missed by nobody.
    node.stop_application("shop").wait().unwrap();
    let reply = get(address, "/readyz?verbose");
    assert!(reply.status == 200 && !reply.body.contains("shop"), "{}", reply.body);
    node.stop().wait().unwrap();
}

/// A gate that futures wait for.
mod gate {
    use std::sync::Arc;
    use tokio::sync::watch;

    #[derive(Clone)]
    pub(super) struct Gate(Arc<watch::Sender<bool>>);

    impl Default for Gate {
        fn default() -> Self {
            Gate(Arc::new(watch::Sender::new(false)))
        }
    }

    impl Gate {
        pub(super) fn open(&self) {
            self.0.send_replace(true);
        }

        pub(super) fn close(&self) {
            self.0.send_replace(false);
        }

        pub(super) async fn pass(&self) {
            // The sender lives as long as this does.
            let _ = self.0.subscribe().wait_for(|open| *open).await;
        }
    }
}
