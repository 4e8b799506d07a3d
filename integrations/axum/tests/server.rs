//! A real server, real sockets: the listener as a child (rule Q6), processes by name (Q5), errors as
//! responses (Q4).

use axum::Router;
use axum::body::Body;
use axum::extract::FromRef;
use axum::http::{Request, StatusCode};
use axum::routing::get;
use krarup::application::Application;
use krarup::prelude::*;
use krarup::supervisor::SupervisorAddress;
use krarup::testing::Faults;
use krarup_axum::{ByName, CallRejection, HttpServer, NamedProcess, Processes};
use std::convert::Infallible;
use std::future::ready;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;
use tower::ServiceExt;

const ANY: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// Counts.
#[derive(Default)]
struct Counter(u64);

enum Count {
    Next(Reply<u64>),
    Fail(Reply<u64>),
}

impl Actor for Counter {
    type Message = Count;

    async fn handle_message(&mut self, _: &mut Context<Count>, count: Count) -> Result {
        match count {
            Count::Next(reply) => {
                self.0 += 1;
                reply.send(self.0);
                Ok(())
            }
            Count::Fail(_reply) => Err(Reason::error("told to")),
        }
    }
}

impl NamedProcess for Counter {
    const NAME: &'static str = "counter";
    type Message = Count;
    type Command = Count;
}

/// A process that no router has.
struct Nobody;

impl NamedProcess for Nobody {
    const NAME: &'static str = "nobody";
    type Message = ();
    type Command = ();
}

/// A state of which the processes are a part.
#[derive(Clone)]
struct Shop {
    processes: Processes,
}

impl FromRef<Shop> for Processes {
    fn from_ref(shop: &Shop) -> Self {
        shop.processes.clone()
    }
}

async fn next(counter: ByName<Counter>) -> Result<String, CallRejection> {
    Ok(counter.call(Count::Next).await?.to_string())
}

async fn fail(counter: ByName<Counter>) -> Result<String, CallRejection> {
    Ok(counter.call(Count::Fail).await?.to_string())
}

fn runtime() -> Runtime {
    runtime_of(2)
}

fn runtime_of(threads: usize) -> Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(threads).enable_all().build().unwrap()
}

fn node(name: &str, runtime: &Runtime) -> Node {
    Node::builder(name).tokio(runtime.handle().clone()).start().unwrap()
}

fn routes(node: &Node) -> Router {
    let processes = Processes::new().with::<Counter>(node).unwrap();
    Router::new()
        .route("/next", get(next))
        .route("/fail", get(fail))
        .route("/nobody", get(async |_: ByName<Nobody>| ()))
        .with_state(Shop { processes })
}

/// A supervisor of these children that never gives up.
fn tree(node: &Node, children: Vec<ChildSpec>) -> SupervisorAddress {
    let tree = move || {
        let empty = Supervisor::one_for_one().intensity(u32::MAX, Duration::from_secs(1));
        children.into_iter().fold(empty, Supervisor::child)
    };
    node.spawn(tree).wait().unwrap()
}

fn connect(address: SocketAddr) -> BufReader<TcpStream> {
    let client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    BufReader::new(client)
}

fn send(client: &BufReader<TcpStream>, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    client.get_ref().write_all(request.as_bytes()).unwrap();
}

/// Reads an answer: its head in lower case, and its body.
fn answer(client: &mut BufReader<TcpStream>) -> (String, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(client.read_line(&mut head).unwrap() > 0, "the end after {head:?}");
    }
    let head = head.to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    client.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

fn ask(client: &mut BufReader<TcpStream>, path: &str) -> (String, String) {
    send(client, path);
    answer(client)
}

#[test]
fn q5_handlers_reach_a_process_that_is_killed_and_restarted_all_the_time() {
    let runtime = runtime();
    let node = node("q5_axum", &runtime);
    let server = HttpServer::new(ANY, routes(&node));
    let counter = ChildSpec::worker("counter", Counter::default).name("counter");
    tree(&node, vec![counter, server.child("http")]);
    let address = server.bound().unwrap();
    let (answered, answers) = channel();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let answered = answered.clone();
                scope.spawn(move || {
                    let mut client = connect(address);
                    let mut cut_off = 0;
                    for number in 0..300 {
                        let (head, body) = ask(&mut client, "/next");
                        if head.starts_with("http/1.1 200") {
                            assert!(body.parse::<u64>().unwrap() > 0);
                        } else {
                            // The counter was killed with this request in hand. It is not made again.
                            assert!(head.starts_with("http/1.1 500"), "{head}{body}");
                            cut_off += 1;
                        }
                        answered.send(number).unwrap();
                    }
                    cut_off
                })
            })
            .collect();
        drop(answered);
        // A kill for every second answer: there is always one under way, and requests get through.
        for _ in answers.iter().filter(|number| number % 2 == 0) {
            if let Some(counter) = node.whereis("counter") {
                node.kill(counter);
            }
        }
        let cut_off: u32 = clients.into_iter().map(|client| client.join().unwrap()).sum();
        assert!(cut_off < 1200, "every request was cut off");
    });
    node.stop().wait().unwrap();
}

#[test]
fn q5_a_process_that_the_router_does_not_have_is_named() {
    let runtime = runtime();
    let node = node("q5_unknown", &runtime);
    let server = HttpServer::new(ANY, routes(&node));
    tree(&node, vec![server.child("http")]);
    let (head, body) = ask(&mut connect(server.bound().unwrap()), "/nobody");
    assert!(head.starts_with("http/1.1 500"), "{head}");
    assert!(body.contains("Nobody is not among the processes of the router"), "{body}");
    node.stop().wait().unwrap();
}

#[test]
fn q4_an_error_of_a_call_is_a_response_without_its_text() {
    let runtime = runtime();
    let node = node("q4_axum", &runtime);
    let server = HttpServer::new(ANY, routes(&node));
    let counter = ChildSpec::worker("counter", Counter::default).name("counter");
    tree(&node, vec![counter, server.child("http")]);
    let mut client = connect(server.bound().unwrap());
    let (head, body) = ask(&mut client, "/fail");
    assert!(head.starts_with("http/1.1 500"), "{head}");
    assert_eq!(body, "Internal Server Error");
    let (head, body) = ask(&mut client, "/next");
    assert!(head.starts_with("http/1.1 200") && body == "1", "{head}{body}");
    node.stop().wait().unwrap();
}

#[test]
fn q6_a_stop_answers_requests_under_way_and_a_restart_keeps_the_port() {
    let runtime = runtime();
    let node = node("q6_axum", &runtime);
    let (begun, begins) = oneshot::channel();
    let (go_on, goes_on) = oneshot::channel::<()>();
    let once = Arc::new(Mutex::new(Some((begun, goes_on))));
    let waits = move || {
        let once = once.lock().unwrap().take();
        async move {
            let (begun, goes_on) = once.expect("one request");
            let _ = begun.send(());
            let _ = goes_on.await;
            "ok"
        }
    };
    let routes = Router::new().route("/quick", get(|| ready("ok"))).route("/waits", get(waits));
    let server = HttpServer::new(ANY, routes).connections(8);
    let supervisor = tree(&node, vec![server.child("http")]);
    let address = server.bound().unwrap();
    let first = node.whereis("http").unwrap();
    let mut client = connect(address);
    let (head, _) = ask(&mut client, "/quick");
    assert!(head.starts_with("http/1.1 200") && !head.contains("connection: close"), "{head}");
    let shown = node.inspect(first).wait().unwrap();
    assert_eq!((shown.number("connections"), shown.number("accepted")), (Some(1), Some(1)));

    // It is killed: the next one has the same port.
    let killed = node.watch(first);
    node.kill(first);
    assert_eq!(killed.wait().unwrap().reason, Reason::Killed);
    let next = node.lookup_or_wait::<Infallible, Infallible>("http").wait().unwrap();
    assert_ne!(next.pid(), first);
    // The name is there before the port is. It answers when it has started.
    node.inspect(next.pid()).wait().unwrap();
    let end = supervisor.watch();
    let mut client = connect(address);
    send(&client, "/waits");
    begins.blocking_recv().unwrap();
    let mut second = connect(address);
    assert!(ask(&mut second, "/quick").0.starts_with("http/1.1 200"));
    send(&second, "/quick");
    assert!(answer(&mut second).0.starts_with("http/1.1 200"));
    let stop = node.stop();
    let stopping = std::thread::spawn(move || stop.wait());
    // It accepts no more.
    while TcpStream::connect(address).is_ok() {}
    go_on.send(()).unwrap();
    let (head, body) = answer(&mut client);
    assert!(head.starts_with("http/1.1 200") && body == "ok", "{head}");
    stopping.join().unwrap().unwrap();
    assert_eq!(end.wait().unwrap().reason, Reason::Shutdown);
}

#[test]
fn q6_a_stop_waits_for_the_request_in_hand_of_this_server() {
    let runtime = runtime();
    let node = node("q6_drain", &runtime);
    let (begun, begins) = std::sync::mpsc::channel();
    let go_on = Arc::new(tokio::sync::Notify::new());
    let waits = {
        let go_on = Arc::clone(&go_on);
        move || {
            let (begun, go_on) = (begun.clone(), Arc::clone(&go_on));
            async move {
                let _ = begun.send(());
                go_on.notified().await;
                "ok"
            }
        }
    };
    let server = HttpServer::new(ANY, Router::new().route("/waits", get(waits)));
    let one = server.clone();
    let process = node.spawn(move || one).wait().unwrap();
    let mut client = connect(server.bound().unwrap());
    send(&client, "/waits");
    begins.recv().unwrap();
    let end = process.watch();
    process.process().request_stop(Reason::shutdown("enough"));
    while TcpStream::connect(server.bound().unwrap()).is_ok() {}
    assert!(process.is_alive());
    go_on.notify_one();
    let (head, _) = answer(&mut client);
    assert!(head.starts_with("http/1.1 200") && head.contains("connection: close"), "{head}");
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
    assert_eq!(end.wait().unwrap().reason, Reason::shutdown("enough"));
    node.stop().wait().unwrap();
}

/// As under a supervisor of which the server is a later child than the process that it waits for.
#[test]
fn h10_a_stop_ends_the_waits_for_a_name_of_requests_under_way() {
    let runtime = runtime();
    let node = node("h10_axum", &runtime);
    let (begun, begins) = channel();
    let waits = move |counter: ByName<Counter>| {
        let begun = begun.clone();
        async move {
            let _ = begun.send(());
            let count = counter.call(Count::Next).no_timeout().await;
            Ok::<_, CallRejection>(count?.to_string())
        }
    };
    let processes = Processes::new().with::<Counter>(&node).unwrap();
    let routes = Router::new().route("/waits", get(waits)).with_state(Shop { processes });
    let server = HttpServer::new(ANY, routes).drain(Duration::from_secs(60));
    let one = server.clone();
    let process = node.spawn(move || one).wait().unwrap();
    let mut client = connect(server.bound().unwrap());
    send(&client, "/waits");
    begins.recv().unwrap();
    let end = process.watch();
    process.process().request_stop(Reason::Shutdown);
    let (head, _) = answer(&mut client);
    assert!(head.starts_with("http/1.1 503") && head.contains("retry-after: 1"), "{head}");
    assert_eq!(end.wait().unwrap().reason, Reason::Shutdown);
    node.stop().wait().unwrap();
}

#[derive(Clone, serde::Deserialize)]
struct ShopSettings {
    port: u16,
    greeting: String,
}

#[test]
fn q6_the_routes_of_an_application_with_settings_are_made_when_its_server_starts() {
    let runtime = runtime();
    let (made, servers) = channel();
    let shop = Application::configured("shop", move |settings: ShopSettings| {
        let ShopSettings { port, greeting } = settings;
        let server = HttpServer::routed(([127, 0, 0, 1], port), move |ctx| {
            let processes = Processes::new().with::<Counter>(ctx)?;
            let (text, routes) = (greeting.clone(), Router::new());
            let hello = get(move || ready(text.clone()));
            let next = get(async |counter: ByName<Counter>| next(counter).await);
            let routes = routes.route("/hello", hello).route("/next", next);
            Ok(routes.with_state(Shop { processes }))
        });
        made.send(server.clone()).unwrap();
        Supervisor::one_for_one()
            .intensity(3, Duration::from_secs(5))
            .child(ChildSpec::worker("counter", Counter::default).name(Counter::NAME))
            .child(server.child("http"))
    });
    let file = "node.name = 'q6_app'\n[application.shop.settings]\nport = 0\ngreeting = 'good day'";
    let node = krarup::NodeBuilder::from_toml(file).unwrap().tokio(runtime.handle().clone());
    let node = node.application(shop).start().unwrap();
    let server = servers.recv().unwrap();
    let mut client = connect(server.bound().unwrap());
    assert_eq!(ask(&mut client, "/hello").1, "good day");
    assert_eq!(ask(&mut client, "/next").1, "1");
    // They are made again with each restart.
    let first = node.whereis("http").unwrap();
    node.kill(first);
    node.watch(first).wait().unwrap();
    let next = node.lookup_or_wait::<Infallible, Infallible>("http").wait().unwrap();
    node.inspect(next.pid()).wait().unwrap();
    assert_eq!(ask(&mut connect(server.bound().unwrap()), "/next").1, "2");
    node.stop().wait().unwrap();
}

#[test]
fn q6_a_server_whose_routes_cannot_be_made_does_not_start() {
    let runtime = runtime();
    let node = node("q6_routes", &runtime);
    let server = HttpServer::routed(ANY, |_| Err(Reason::error("no templates")));
    let one = server.clone();
    let said = node.spawn(move || one).wait().map(|_| ()).unwrap_err().to_string();
    assert_eq!(said, "init failed: no templates");
    assert_eq!(server.bound(), None);
    node.stop().wait().unwrap();
}

/// Sends when it is dropped.
struct Dropped(std::sync::mpsc::Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn q6_a_request_that_outlasts_the_stop_is_cut_off() {
    // One thread: a task that is ended is dropped before what the thread is given after that.
    let runtime = runtime_of(1);
    let node = node("q6_cut_off", &runtime);
    let (begun, begins) = channel();
    let (dropped, drops) = channel();
    let waits = move || {
        let (begun, dropped) = (begun.clone(), Dropped(dropped.clone()));
        async move {
            let _dropped = dropped;
            let _ = begun.send(());
            std::future::pending::<()>().await;
        }
    };
    let server = HttpServer::new(ANY, Router::new().route("/waits", get(waits)));
    let one = server.clone().drain(Duration::from_millis(1));
    let process = node.spawn(move || one).wait().unwrap();
    let mut client = connect(server.bound().unwrap());
    send(&client, "/waits");
    begins.recv().unwrap();
    let end = process.watch();
    process.process().request_stop(Reason::shutdown("enough"));
    assert_eq!(end.wait().unwrap().reason, Reason::shutdown("enough"));
    let is_dropped = (0..1000).any(|_| {
        runtime.block_on(runtime.spawn(tokio::task::yield_now())).unwrap();
        drops.try_recv().is_ok()
    });
    assert!(is_dropped, "the handler of the request goes on");
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
    node.stop().wait().unwrap();
}

#[test]
fn q6_a_server_that_cannot_start_says_why() {
    let runtime = runtime();
    let with_runtime = node("q6_taken", &runtime);
    let taken = std::net::TcpListener::bind(SocketAddr::from(ANY)).unwrap();
    let address = taken.local_addr().unwrap();
    let server = HttpServer::new(address, Router::new());
    let failed = with_runtime.spawn(move || server).wait();
    let Err(SpawnError::Init(reason)) = failed else { panic!("{failed:?}") };
    assert!(reason.to_string().starts_with(&format!("cannot listen on {address}: ")), "{reason}");
    let server = || HttpServer::new(ANY, Router::new());
    let zero = Duration::ZERO;
    for (server, said) in [
        (
            server().connections(0),
            "0 connections, timeouts of 15s for a head, 30s for a body and 60s",
        ),
        (server().head_timeout(zero), "1024 connections, timeouts of 0ns for a head, 30s"),
        (
            server().body_timeout(zero),
            "1024 connections, timeouts of 15s for a head, 0ns for a body",
        ),
        (
            server().write_timeout(zero),
            "1024 connections, timeouts of 15s for a head, 30s for a body and 0ns",
        ),
    ] {
        let failed = with_runtime.spawn(move || server).wait();
        let Err(SpawnError::Init(reason)) = failed else { panic!("{failed:?}") };
        let reason = reason.to_string();
        assert!(reason.starts_with(said), "{reason}");
        assert!(reason.ends_with(" for a write: none may be zero"), "{reason}");
    }
    with_runtime.stop().wait().unwrap();
    let without = Node::start("q6_without").unwrap();
    let server = HttpServer::new(ANY, Router::new());
    let failed = without.spawn(move || server).wait();
    let Err(SpawnError::Init(reason)) = failed else { panic!("{failed:?}") };
    assert!(reason.to_string().contains("no tokio runtime"), "{reason}");
    assert!(Handle::try_current().is_err());
    without.stop().wait().unwrap();
}

#[test]
fn q6_a_client_may_take_as_long_as_the_server_lets_it() {
    let runtime = runtime();
    let node = node("q6_longest", &runtime);
    let server = HttpServer::new(ANY, Router::new().route("/", get(async || "here")));
    let server = server
        .head_timeout(Duration::MAX)
        .body_timeout(Duration::MAX)
        .write_timeout(Duration::MAX)
        .drain(Duration::MAX);
    let one = server.clone();
    let process = node.spawn(move || one).wait().unwrap();
    let mut client = connect(server.bound().unwrap());
    send(&client, "/");
    assert_eq!(answer(&mut client).1, "here");
    process.stop().wait().unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn q5_handlers_are_tested_in_a_simulation_with_faults() {
    let mut cut_off = 0;
    for seed in 0..30 {
        let sim = Simulation::new(seed);
        let counter = ChildSpec::worker("counter", Counter::default).name("counter");
        tree(sim.node(), vec![counter]);
        sim.faults(Faults::new().kill_one_in(8).only("counter"));
        let routes = routes(sim.node());
        for _ in 0..20 {
            let request = Request::get("/next").body(Body::empty()).unwrap();
            let response = sim.block_on(routes.clone().oneshot(request)).unwrap().unwrap();
            match response.status() {
                StatusCode::OK => {}
                StatusCode::INTERNAL_SERVER_ERROR => cut_off += 1,
                status => panic!("{status}"),
            }
        }
    }
    assert!(cut_off < 300, "{cut_off} of 600 requests were in hand of a process that was killed");
}
