//! What an orchestrator is told: alive, ready, neither.

use super::client::{HttpReply, get, observed, quick, start, until};
use crate::ObserverError;
use crate::limits::DoorLimits;
use krarup_act::{Actor, Address, Context, behavior_fn};
use krarup_gen::{Reason, Result};
use krarup_node::{DispatcherOptions, Node};
use krarup_supervisor::{ChildSpec, RestartType, Supervisor};
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
    release.send(()).unwrap();
    assert_eq!(until(address, "/livez", |reply| reply.status == 200).body, "ok\n");
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
