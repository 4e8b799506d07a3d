//! Services of pools in a router of axum, behind real sockets (rule Q7).

use axum::Router;
use axum::error_handling::HandleErrorLayer;
use axum::extract::Request;
use axum::http::Response;
use axum::routing::get;
use krarup::prelude::*;
use krarup_axum::CallRejection;
use krarup_tower::{CallService, PoolLayer, PoolLayerError, RequestWorker};
use std::convert::Infallible;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tower::{Layer, ServiceBuilder, ServiceExt};

const WORKERS: usize = 2;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Serves the routes in the runtime.
fn serve(runtime: &Runtime, routes: Router) -> SocketAddr {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async { axum::serve(listener, routes).await });
    address
}

async fn rejection(error: PoolLayerError<Infallible>) -> CallRejection {
    CallError::from(error).into()
}

/// Requests of `/waits` say how many have begun and not ended, and go on with the permits of the
/// semaphore.
fn routes(go_on: &Arc<Semaphore>, layer: PoolLayer) -> (Router, Receiver<usize>) {
    let (begun, begins) = channel();
    let (go_on, running) = (Arc::clone(go_on), Arc::new(AtomicUsize::new(0)));
    let waits = move || {
        let (begun, go_on, running) = (begun.clone(), Arc::clone(&go_on), Arc::clone(&running));
        async move {
            let _ = begun.send(running.fetch_add(1, Ordering::SeqCst) + 1);
            go_on.acquire().await.unwrap().forget();
            running.fetch_sub(1, Ordering::SeqCst);
            "ok"
        }
    };
    let routes = Router::new()
        .route("/waits", get(waits))
        .route("/panics", get(async || -> &'static str { panic!("a request that panics") }))
        .layer(ServiceBuilder::new().layer(HandleErrorLayer::new(rejection)).layer(layer));
    (routes, begins)
}

fn send(address: SocketAddr, path: &str) -> BufReader<TcpStream> {
    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    client.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
    BufReader::new(client)
}

/// Reads an answer: its status, whether it says when to come back, its body.
fn answer(client: &mut BufReader<TcpStream>) -> (u16, bool, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(client.read_line(&mut head).unwrap() > 0, "the end after {head:?}");
    }
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    client.read_exact(&mut body).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.contains("retry-after: "), String::from_utf8(body).unwrap())
}

#[test]
fn q7_a_pool_bounds_the_requests_of_a_router() {
    let runtime = runtime();
    let node = Node::builder("q7_bounds").tokio(runtime.handle().clone()).start().unwrap();
    let pool = node.spawn(|| Pool::new(WORKERS, || RequestWorker).mailbox(1)).wait().unwrap();
    let go_on = Arc::new(Semaphore::new(0));
    let (routes, begins) = routes(&go_on, PoolLayer::new(pool).no_timeout());
    let address = serve(&runtime, routes);
    // As many run as there are workers, and the others wait: for a worker, or for room.
    let mut clients: Vec<_> = (0..10).map(|_| send(address, "/waits")).collect();
    let most = (0..WORKERS).map(|_| begins.recv().unwrap()).max();
    assert_eq!(most, Some(WORKERS));
    go_on.add_permits(10);
    for client in &mut clients {
        assert_eq!(answer(client), (200, false, "ok".to_owned()));
    }
    assert!(begins.try_iter().all(|running| running <= WORKERS));
    // One that panics ends alone.
    assert_eq!(answer(&mut send(address, "/panics")).0, 500);
    go_on.add_permits(1);
    assert_eq!(answer(&mut send(address, "/waits")).0, 200);
    node.stop().wait().unwrap();
}

#[test]
fn q7_a_router_refuses_what_a_shedding_layer_has_no_room_for() {
    let runtime = runtime();
    let node = Node::builder("q7_sheds").tokio(runtime.handle().clone()).start().unwrap();
    let pool = node.spawn(|| Pool::new(WORKERS, || RequestWorker).mailbox(1)).wait().unwrap();
    let go_on = Arc::new(Semaphore::new(0));
    let (routes, begins) = routes(&go_on, PoolLayer::new(pool.clone()).no_timeout().shedding());
    let address = serve(&runtime, routes);
    let mut clients = Vec::new();
    for _ in 0..WORKERS {
        clients.push(send(address, "/waits"));
        begins.recv().unwrap();
    }
    for waiting in 1..=WORKERS {
        clients.push(send(address, "/waits"));
        while pool.waiting() < waiting {
            std::thread::yield_now();
        }
    }
    let refused = (503, true, "Service Unavailable".to_owned());
    assert_eq!(answer(&mut send(address, "/waits")), refused);
    go_on.add_permits(clients.len());
    for client in &mut clients {
        assert_eq!(answer(client), (200, false, "ok".to_owned()));
    }
    node.stop().wait().unwrap();
}

/// Shows the path of a request.
struct ShowPath;

type Path = (Request, Reply<String>);

impl Actor for ShowPath {
    type Message = Path;

    async fn handle_message(&mut self, _: &mut Context<Path>, (request, reply): Path) -> Result {
        reply.send(request.uri().path().to_owned());
        Ok(())
    }
}

#[test]
fn q7_a_call_service_is_a_route() {
    let runtime = runtime();
    let node = Node::start("q7_route").unwrap();
    let pool = node.spawn(|| Pool::new(WORKERS, || ShowPath).mailbox(4)).wait().unwrap();
    let service = CallService::new(pool, |request: Request, reply| (request, reply))
        .map_response(Response::new)
        .map_err(CallRejection::from);
    let service = HandleErrorLayer::new(async |rejection: CallRejection| rejection).layer(service);
    let address = serve(&runtime, Router::new().route_service("/shown", service));
    assert_eq!(answer(&mut send(address, "/shown")), (200, false, "/shown".to_owned()));
    node.stop().wait().unwrap();
    // Without its process.
    let (status, comes_back, _) = answer(&mut send(address, "/shown"));
    assert_eq!((status, comes_back), (503, true));
}
