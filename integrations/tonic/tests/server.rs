//! A real server and a real client of tonic over TCP: the server as a child (rule Q8), errors as statuses
//! (Q9), the deadlines that clients say (Q10).

mod support;

use krarup::pool::Rate;
use krarup::prelude::*;
use krarup::supervisor::SupervisorAddress;
use krarup::{NamedAddress, SendError};
use krarup_tonic::{CallStatus, RequestDeadline, grpc_server};
use std::convert::Infallible;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{Answer, answering, asking, asking_for};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_health::pb::health_client::HealthClient;

const ANY: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn node(name: &str, runtime: &Runtime) -> Node {
    Node::builder(name).tokio(runtime.handle().clone()).start().unwrap()
}

/// A supervisor of this child that never gives up.
fn tree(node: &Node, child: ChildSpec) -> SupervisorAddress {
    let tree =
        || Supervisor::one_for_one().intensity(u32::MAX, Duration::from_secs(1)).child(child);
    node.spawn(tree).wait().unwrap()
}

/// A client with a connection of its own.
fn client(runtime: &Runtime, address: SocketAddr) -> HealthClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    HealthClient::new(runtime.block_on(endpoint.connect()).unwrap())
}

fn ready(answer: Result<(), Status>) -> Answer {
    Box::pin(std::future::ready(answer))
}

#[test]
fn q8_a_stop_completes_the_open_call_and_a_restart_keeps_the_port() {
    let runtime = runtime();
    let node = node("q8_stop", &runtime);
    let (begun, begins) = oneshot::channel();
    let (go_on, goes_on) = oneshot::channel::<()>();
    let once = Mutex::new(Some((begun, goes_on)));
    let routes = answering(move |request| {
        if request.get_ref().service == "quick" {
            return ready(Ok(()));
        }
        let (begun, goes_on) = once.lock().unwrap().take().expect("one request");
        Box::pin(async move {
            let _ = begun.send(());
            let _ = goes_on.await;
            Ok(())
        })
    });
    let server = grpc_server(&node, ANY, routes);
    let supervisor = tree(&node, server.child("grpc"));
    let address = server.bound().unwrap();
    let first = node.whereis("grpc").unwrap();
    let mut before = client(&runtime, address);
    runtime.block_on(before.check(asking("quick"))).unwrap();
    let shown = node.inspect(first).wait().unwrap();
    assert_eq!((shown.number("connections"), shown.number("accepted")), (Some(1), Some(1)));

    // It is killed: the next one has the same port.
    let killed = node.watch(first);
    node.kill(first);
    assert_eq!(killed.wait().unwrap().reason, Reason::Killed);
    let next = node.lookup_or_wait::<Infallible, Infallible>("grpc").wait().unwrap();
    assert_ne!(next.pid(), first);
    // The name is there before the port is. It answers when it has started.
    node.inspect(next.pid()).wait().unwrap();
    let end = supervisor.watch();
    let mut after = client(&runtime, address);
    runtime.block_on(after.check(asking("quick"))).unwrap();
    let waiting = {
        let mut after = after.clone();
        runtime.spawn(async move { after.check(asking("waits")).await })
    };
    begins.blocking_recv().unwrap();
    let mut silent = TcpStream::connect(address).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let stop = node.stop();
    let stopping = std::thread::spawn(move || stop.wait());
    // It accepts no more.
    while TcpStream::connect(address).is_ok() {}
    // A client that says nothing is disconnected meanwhile: by an end of its stream, or a reset.
    if let Err(error) = silent.read_to_end(&mut Vec::new()) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    assert!(!stopping.is_finished());
    go_on.send(()).unwrap();
    runtime.block_on(waiting).unwrap().unwrap();
    stopping.join().unwrap().unwrap();
    assert_eq!(end.wait().unwrap().reason, Reason::Shutdown);
    let refused = runtime.block_on(after.check(asking("quick"))).unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused}");
}

/// Sends when it is dropped.
struct Dropped(std::sync::mpsc::Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn q8_what_outlasts_the_stop_is_cut_off() {
    let runtime = runtime();
    let node = node("q8_cut_off", &runtime);
    let (begun, begins) = channel();
    let (dropped, drops) = channel();
    let routes = answering(move |_| {
        let (begun, dropped) = (begun.clone(), Dropped(dropped.clone()));
        Box::pin(async move {
            let _dropped = dropped;
            let _ = begun.send(());
            std::future::pending().await
        })
    });
    let server = grpc_server(&node, ANY, routes).drain(Duration::from_millis(1));
    let one = server.clone();
    let process = node.spawn(move || one).wait().unwrap();
    let mut client = client(&runtime, server.bound().unwrap());
    let mut stream = runtime.block_on(client.watch(asking("any"))).unwrap().into_inner();
    let waiting = runtime.spawn(async move { client.check(asking("any")).await });
    begins.recv().unwrap();
    let end = process.watch();
    process.process().request_stop(Reason::shutdown("enough"));
    assert_eq!(end.wait().unwrap().reason, Reason::shutdown("enough"));
    drops.recv_timeout(Duration::from_secs(60)).expect("the handler is dropped");
    runtime.block_on(waiting).unwrap().unwrap_err();
    runtime.block_on(stream.message()).unwrap_err();
    node.stop().wait().unwrap();
}

#[test]
fn q11_a_stream_of_a_client_may_pause_for_any_time() {
    let runtime = runtime();
    let node = node("q11_pause", &runtime);
    let server = grpc_server(&node, ANY, answering(|_| ready(Ok(()))));
    let same = server.clone().body_timeout(Duration::MAX);
    assert_eq!(format!("{server:?}"), format!("{same:?}"));
    node.stop().wait().unwrap();
}

#[test]
fn q8_a_server_whose_port_is_taken_fails_to_start_and_names_it() {
    let runtime = runtime();
    let node = node("q8_taken", &runtime);
    let taken = std::net::TcpListener::bind(SocketAddr::from(ANY)).unwrap();
    let address = taken.local_addr().unwrap();
    let server = grpc_server(&node, address, answering(|_| ready(Ok(()))));
    let failed = node.spawn(move || server).wait();
    let Err(SpawnError::Init(reason)) = failed else { panic!("{failed:?}") };
    assert!(reason.to_string().starts_with(&format!("cannot listen on {address}: ")), "{reason}");
    node.stop().wait().unwrap();
}

#[test]
fn q10_a_server_reads_what_a_client_says_of_its_deadline() {
    let runtime = runtime();
    let node = node("q10_tcp", &runtime);
    let clock = node.clock();
    let routes = answering(move |request| {
        let (hour, now) = (Duration::from_secs(3600), clock.now());
        match (request.get_ref().service.as_str(), request.deadline()) {
            ("without", None) => ready(Ok(())),
            ("hour", Some(deadline)) if deadline > now && deadline <= now + hour => ready(Ok(())),
            (service, deadline) => {
                ready(Err(Status::failed_precondition(format!("{service}: {deadline:?}"))))
            }
        }
    });
    let server = grpc_server(&node, ANY, routes);
    tree(&node, server.child("grpc"));
    let mut client = client(&runtime, server.bound().unwrap());
    runtime.block_on(client.check(asking("without"))).unwrap();
    let mut request = asking("hour");
    request.set_timeout(Duration::from_secs(3600));
    runtime.block_on(client.check(request)).unwrap();
    let malformed = runtime.block_on(client.check(asking_for("any", "1 hour"))).unwrap_err();
    assert_eq!(malformed.code(), Code::InvalidArgument);
    assert!(malformed.message().contains("\"1 hour\" is no timeout"), "{malformed}");
    node.stop().wait().unwrap();
}

/// Does with a request what it says.
enum Task {
    Answer(Reply<()>),
    Keep(Reply<()>),
    Drop(Reply<()>),
    Fail(Reply<()>),
    /// Answers, then waits until the other side is gone, and handles no message meanwhile.
    Block(oneshot::Receiver<Infallible>, Reply<()>),
    Nothing,
}

#[derive(Default)]
struct Worker {
    kept: Vec<Reply<()>>,
}

impl Actor for Worker {
    type Message = Task;

    async fn handle_message(&mut self, _: &mut Context<Task>, task: Task) -> Result {
        match task {
            Task::Answer(reply) => reply.send(()),
            Task::Keep(reply) => self.kept.push(reply),
            Task::Drop(_reply) => {}
            Task::Nothing => {}
            Task::Fail(_reply) => return Err(Reason::error("the password is 1234")),
            Task::Block(until, reply) => {
                reply.send(());
                let _ = until.await;
            }
        }
        Ok(())
    }
}

#[test]
fn q9_an_error_of_a_call_is_a_status_without_its_text() {
    let runtime = runtime();
    let node = node("q9_tcp", &runtime);
    let moment = Duration::from_millis(1);

    let keeps = node.spawn(Worker::default).wait().unwrap();
    let fails = node.spawn(Worker::default).wait().unwrap();
    let gone = node.spawn(Worker::default).wait().unwrap();
    let end = gone.watch();
    node.kill(gone.pid());
    end.wait().unwrap();
    let full = node.spawn(Worker::default).mailbox(1).wait().unwrap();
    let (blocks, blocked) = oneshot::channel();
    full.call(|reply| Task::Block(blocked, reply)).wait().unwrap();
    while !matches!(full.send(Task::Nothing), Err(SendError::Full { .. })) {}
    let limited = || Pool::new(1, Worker::default).rate(Rate::per_second(0.001).burst(1));
    let limited = node.spawn(limited).wait().unwrap();
    limited.call(Task::Answer).wait().unwrap();
    let nobody: NamedAddress<Task, Task> = node.named_address("nobody").unwrap();

    let shop = Arc::new((keeps, fails, gone, full, limited, nobody));
    let routes = answering(move |request| {
        let shop = Arc::clone(&shop);
        Box::pin(async move {
            let (keeps, fails, gone, full, limited, nobody) = &*shop;
            match request.get_ref().service.as_str() {
                "kept" => keeps.call(Task::Keep).timeout(moment).await.map_err(CallStatus::from)?,
                "dropped" => keeps.call(Task::Drop).await.map_err(CallStatus::from)?,
                "failed" => fails.call(Task::Fail).await.map_err(CallStatus::from)?,
                "gone" => gone.call(Task::Answer).await.map_err(CallStatus::from)?,
                "full" => full.call(Task::Answer).await.map_err(CallStatus::from)?,
                "limited" => limited.call(Task::Answer).await.map_err(CallStatus::from)?,
                "nobody" => {
                    nobody.call(Task::Answer).timeout(moment).await.map_err(CallStatus::from)?;
                }
                "unknown" => drop(nobody.address().map_err(CallStatus::from)?),
                _ => keeps.call(Task::Answer).await.map_err(CallStatus::from)?,
            }
            Ok(())
        })
    });
    let server = grpc_server(&node, ANY, routes);
    tree(&node, server.child("grpc"));
    let mut client = client(&runtime, server.bound().unwrap());
    let pushback = |status: &Status| -> Option<u64> {
        Some(status.metadata().get("grpc-retry-pushback-ms")?.to_str().unwrap().parse().unwrap())
    };
    for (service, code, after) in [
        ("kept", Code::DeadlineExceeded, None),
        ("dropped", Code::Internal, None),
        ("failed", Code::Internal, None),
        ("gone", Code::Unavailable, Some(1000)),
        ("full", Code::ResourceExhausted, Some(1000)),
        ("nobody", Code::Unavailable, Some(1000)),
        ("unknown", Code::Unavailable, Some(1000)),
    ] {
        let status = runtime.block_on(client.check(asking(service))).unwrap_err();
        let found = (status.code(), pushback(&status));
        assert_eq!(found, (code, after), "{service}: {status:?}");
        assert_eq!(status.message(), code.description(), "{service}");
        assert!(!format!("{status:?}").contains("1234"), "{status:?}");
    }
    let status = runtime.block_on(client.check(asking("limited"))).unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(pushback(&status).unwrap() > 0, "{status:?}");
    runtime.block_on(client.check(asking("answered"))).unwrap();
    drop(blocks);
    node.stop().wait().unwrap();
}
