//! The process `observer.http`: a thread with sockets of its own, for as long as it lives.
//!
//! The thread runs a runtime for its connections alone, so the observer answers while every
//! worker of the node is held. The sockets that listen outlive the process: a restarted one
//! serves on the same port, and a client that connects meanwhile waits.

use crate::http::access::Door;
use crate::http::connection::{Routes, refuse, serve};
use crate::limits::DoorLimits;
use krarup_act::{Actor, Address, Context};
use krarup_gen::{Reason, Result};
use std::convert::Infallible;
use std::io;
use std::net::TcpListener as Socket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The pause after a connection could not be accepted: most likely no descriptor was free.
const NO_DESCRIPTOR: Duration = Duration::from_millis(10);

/// The sockets that listen.
pub(crate) struct Sockets {
    pub(crate) main: Socket,
    pub(crate) probes: Option<Socket>,
}

/// The process.
pub(crate) struct Server<R> {
    routes: Arc<R>,
    sockets: Arc<Sockets>,
    limits: DoorLimits,
    thread: Option<ServerThread>,
}

/// What the process is told.
pub(crate) enum ServerEvent {
    /// Its thread has ended by itself.
    Ended,
}

impl<R: Routes> Server<R> {
    pub(crate) fn new(routes: Arc<R>, sockets: Arc<Sockets>, limits: DoorLimits) -> Self {
        Server { routes, sockets, limits, thread: None }
    }
}

impl<R: Routes> Actor for Server<R> {
    type Message = ServerEvent;

    async fn init(&mut self, ctx: &mut Context<ServerEvent>) -> Result {
        let name = format!("{}-observer-http", ctx.node_name());
        let (routes, limits) = (Arc::clone(&self.routes), self.limits);
        let listening = [
            Some((&self.sockets.main, Door::Main)),
            self.sockets.probes.as_ref().map(|it| (it, Door::Probes)),
        ];
        let mut sockets = Vec::new();
        for (socket, door) in listening.into_iter().flatten() {
            let socket =
                socket.try_clone().and_then(|copy| copy.set_nonblocking(true).map(|()| copy));
            sockets.push((socket.map_err(|error| failed("use its socket", &error))?, door));
        }
        let serving = ServerThread::start(name, sockets, routes, limits, ctx.address());
        self.thread = Some(serving.map_err(|error| failed("start its thread", &error))?);
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<ServerEvent>, event: ServerEvent) -> Result {
        let ServerEvent::Ended = event;
        Err(Reason::error("the thread of the sockets has ended"))
    }

    async fn terminate(&mut self, _: &mut Context<ServerEvent>, _: &Reason) {
        if let Some(serving) = self.thread.take() {
            serving.stop().await;
        }
    }

    fn inspect(&self) -> krarup_gen::Inspection {
        let (connections, refusals) = self.thread.as_ref().map_or((0, 0), ServerThread::open);
        let tasks = self.thread.as_ref().map_or(0, ServerThread::tasks);
        krarup_gen::Inspection::new()
            .with("connections", connections)
            .with("refusals", refusals)
            .with("tasks", tasks)
    }
}

fn failed(what: &str, error: &io::Error) -> Reason {
    Reason::error(format!("the observer cannot {what}: {error}"))
}

/// The thread. When this is dropped the thread ends soon, and its connections are closed.
struct ServerThread {
    stop: watch::Sender<bool>,
    ended: Option<oneshot::Receiver<()>>,
    thread: Option<thread::JoinHandle<()>>,
    open: Arc<Open>,
    runtime: runtime::Handle,
}

/// The connections that are open, by door: a flood at one leaves the other its places.
#[derive(Default)]
struct Open {
    doors: [OpenAtDoor; 2],
}

/// The connections that are open at a door.
#[derive(Default)]
struct OpenAtDoor {
    served: AtomicUsize,
    refused: AtomicUsize,
}

impl Open {
    fn at(&self, door: Door) -> &OpenAtDoor {
        &self.doors[usize::from(door == Door::Probes)]
    }

    fn sum(&self, of: fn(&OpenAtDoor) -> &AtomicUsize) -> usize {
        self.doors.iter().map(|door| of(door).load(Ordering::Relaxed)).sum()
    }
}

impl ServerThread {
    fn start<R: Routes>(
        name: String,
        sockets: Vec<(Socket, Door)>,
        routes: Arc<R>,
        limits: DoorLimits,
        owner: Address<ServerEvent>,
    ) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopping) = watch::channel(false);
        let (end, ended) = oneshot::channel();
        let open = Arc::new(Open::default());
        let (counted, handle) = (Arc::clone(&open), runtime.handle().clone());
        let asked = stopping.clone();
        let thread = thread::Builder::new().name(name).spawn(move || {
            runtime.block_on(run(sockets, routes, limits, counted, stopping));
            // Connections that did not end in time end here.
            runtime.shutdown_timeout(Duration::ZERO);
            // Asked to stop, or with a process that is gone, nobody needs to hear of the end.
            if !*asked.borrow() && asked.has_changed().is_ok() {
                let _ = owner.send(ServerEvent::Ended);
            }
            let _ = end.send(());
        })?;
        Ok(ServerThread { stop, ended: Some(ended), thread: Some(thread), open, runtime: handle })
    }

    /// Stops in order: requests under way are answered, streams say goodbye.
    async fn stop(mut self) {
        self.stop.send_replace(true);
        if let Some(ended) = self.ended.take() {
            let _ = ended.await;
        }
        if let Some(thread) = self.thread.take() {
            // It has sent its last word, so this is a matter of microseconds.
            let _ = thread.join();
        }
    }

    /// The tasks of its runtime.
    fn tasks(&self) -> usize {
        self.runtime.metrics().num_alive_tasks()
    }

    fn open(&self) -> (usize, usize) {
        (self.open.sum(|door| &door.served), self.open.sum(|door| &door.refused))
    }
}

async fn run<R: Routes>(
    sockets: Vec<(Socket, Door)>,
    routes: Arc<R>,
    limits: DoorLimits,
    open: Arc<Open>,
    mut stop: watch::Receiver<bool>,
) {
    // Each connection holds a sender, so this ends when all of them have ended.
    let (alive, mut all_ended) = mpsc::channel::<Infallible>(1);
    let mut accepting = JoinSet::new();
    for (socket, door) in sockets {
        let welcome = Welcome {
            door,
            routes: Arc::clone(&routes),
            limits,
            open: Arc::clone(&open),
            stop: stop.clone(),
            alive: alive.clone(),
        };
        accepting.spawn(accept(socket, welcome));
    }
    drop(alive);
    // An error is the end of the process that owns this thread.
    let ordered = stop.wait_for(|stops| *stops).await.is_ok();
    accepting.shutdown().await;
    if ordered {
        let _ = timeout(limits.stop, all_ended.recv()).await;
    }
}

/// What a new connection is given.
struct Welcome<R> {
    door: Door,
    routes: Arc<R>,
    limits: DoorLimits,
    open: Arc<Open>,
    stop: watch::Receiver<bool>,
    alive: mpsc::Sender<Infallible>,
}

async fn accept<R: Routes>(socket: Socket, welcome: Welcome<R>) {
    let Ok(socket) = TcpListener::from_std(socket) else { return };
    loop {
        let Ok((stream, _)) = socket.accept().await else {
            sleep(NO_DESCRIPTOR).await;
            continue;
        };
        // Answers are small and written whole.
        let _ = stream.set_nodelay(true);
        welcome.take(stream);
    }
}

impl<R: Routes> Welcome<R> {
    fn take(&self, stream: TcpStream) {
        let (limits, alive) = (self.limits, self.alive.clone());
        if let Some(place) =
            ConnectionPlace::take(&self.open, self.door, |open| &open.served, limits.connections)
        {
            let (door, routes, stop) = (self.door, Arc::clone(&self.routes), self.stop.clone());
            tokio::spawn(async move {
                serve(stream, door, limits, routes, stop).await;
                drop((place, alive));
            });
        } else if let Some(place) =
            ConnectionPlace::take(&self.open, self.door, |open| &open.refused, limits.refusals)
        {
            tokio::spawn(async move {
                refuse(stream, limits).await;
                drop(place);
            });
        }
    }
}

/// One of the places for connections.
struct ConnectionPlace {
    open: Arc<Open>,
    door: Door,
    of: fn(&OpenAtDoor) -> &AtomicUsize,
}

impl ConnectionPlace {
    fn take(
        open: &Arc<Open>,
        door: Door,
        of: fn(&OpenAtDoor) -> &AtomicUsize,
        most: usize,
    ) -> Option<ConnectionPlace> {
        let free = of(open.at(door)).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            (taken < most).then_some(taken + 1)
        });
        free.ok().map(|_| ConnectionPlace { open: Arc::clone(open), door, of })
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        (self.of)(self.open.at(self.door)).fetch_sub(1, Ordering::Relaxed);
    }
}
