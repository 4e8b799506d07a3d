//! The clients of a Krarup node: processes that call, send, link and monitor.

use crate::failure::ClusterFailure;
use crate::side::requests::BenchRequest;
use bytes::Bytes;
use krarup::calls::UndeliveredCause;
use krarup::cluster::{ClusterAddress, ClusterCalls};
use krarup::{
    Actor, Address, CallError, Context, Down, Node, Pid, Reason, Recipient, Reply, Result,
};
use serde::{Serialize, de::DeserializeOwned};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// The bytes of a cast's binary.
const ITEM: usize = 40;
const FULL_PAUSE: Duration = Duration::from_millis(1);
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// What a client does, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PairClient {
    Calls(u64),
    Casts(u64),
    Echoes { bytes: u64, times: u64 },
    Links { pid: Pid, times: u64 },
    Monitors { pid: Pid, times: u64 },
}

/// A client process. It begins with its first message, and ends when it is done.
struct PairCaller {
    server: Recipient<BenchRequest>,
    does: PairClient,
    done: Sender<Result>,
}

impl Actor for PairCaller {
    type Message = ();

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        let done = self.run(ctx).await;
        // The other side has given up.
        let _ = self.done.send(done);
        Err(Reason::Normal)
    }
}

impl PairCaller {
    async fn run(&self, ctx: &mut Context<()>) -> Result {
        let server = &self.server;
        match self.does {
            PairClient::Calls(times) => calls(server, times).await,
            PairClient::Casts(times) => casts(ctx, server, times).await,
            PairClient::Echoes { bytes, times } => echoes(server, bytes, times).await,
            PairClient::Links { pid, times } => {
                for _ in 0..times {
                    ctx.link(pid);
                    ctx.unlink(pid);
                }
                call_again(ctx, server, BenchRequest::Me).await.map(drop)
            }
            PairClient::Monitors { pid, times } => {
                for _ in 0..times {
                    let monitor = ctx.monitor(pid);
                    ctx.demonitor(monitor);
                }
                call_again(ctx, server, BenchRequest::Me).await.map(drop)
            }
        }
    }
}

async fn calls(server: &Recipient<BenchRequest>, times: u64) -> Result {
    for number in 0..times {
        let number = i64::try_from(number).unwrap_or_default();
        let next = server.call(move |reply| BenchRequest::Add(number, 1, reply)).await?;
        if next != number + 1 {
            return Err(Reason::error(format!("{number} was answered with {next}")));
        }
    }
    Ok(())
}

async fn casts(ctx: &mut Context<()>, server: &Recipient<BenchRequest>, times: u64) -> Result {
    let bytes = Bytes::from(vec![7; ITEM]);
    for number in 0..times {
        server.send_or_wait(BenchRequest::Item(number, bytes.clone())).await?;
    }
    let count = call_again(ctx, server, BenchRequest::Count).await?;
    if count == times {
        return Ok(());
    }
    Err(Reason::error(format!("{count} of {times} casts have arrived")))
}

/// Calls, until the queue to the peer takes the call: signals, and senders that wait in line, fill it.
async fn call_again<R: Serialize + DeserializeOwned + Send + 'static>(
    ctx: &mut Context<()>,
    server: &Recipient<BenchRequest>,
    request: fn(Reply<R>) -> BenchRequest,
) -> Result<R> {
    loop {
        match server.call(request).timeout(CALL_TIMEOUT).await {
            Err(CallError::Undelivered { cause: UndeliveredCause::Full, .. }) => {
                ctx.sleep(FULL_PAUSE).await;
            }
            called => return Ok(called?),
        }
    }
}

async fn echoes(server: &Recipient<BenchRequest>, bytes: u64, times: u64) -> Result {
    let bytes = Bytes::from(vec![7; usize::try_from(bytes).unwrap_or_default()]);
    for _ in 0..times {
        let sent = bytes.clone();
        let request = move |reply| BenchRequest::Echo(sent, reply);
        let echo = server.call(request).timeout(CALL_TIMEOUT).await?;
        if echo.len() != bytes.len() {
            return Err(Reason::error(format!("an echo of {} bytes", echo.len())));
        }
    }
    Ok(())
}

/// Runs clients beside each other. Returns the time until the last one was done.
pub(crate) fn run_clients(
    node: &Node,
    clients: impl IntoIterator<Item = (Recipient<BenchRequest>, PairClient)>,
) -> std::result::Result<Duration, ClusterFailure> {
    let (done, results) = channel();
    let spawn = |(server, does)| {
        let done = done.clone();
        node.spawn(move || PairCaller { server, does, done })
            .wait()
            .map_err(ClusterFailure::of_node)
    };
    let clients: Vec<Address<()>> =
        clients.into_iter().map(spawn).collect::<std::result::Result<_, _>>()?;
    drop(done);
    let began = Instant::now();
    for client in &clients {
        client.send(()).map_err(ClusterFailure::of_node)?;
    }
    for _ in &clients {
        results.recv().map_err(ClusterFailure::of_node)?.map_err(ClusterFailure::of_node)?;
    }
    Ok(began.elapsed())
}

/// Starts clients that have large messages echoed until they are killed.
pub(crate) fn echo_for_ever(
    node: &Node,
    server: &Recipient<BenchRequest>,
    count: usize,
    bytes: u64,
) -> std::result::Result<Vec<Pid>, ClusterFailure> {
    let (done, _) = channel();
    let does = PairClient::Echoes { bytes, times: u64::MAX };
    let spawn = |_| {
        let (server, done) = (server.clone(), done.clone());
        let client = node
            .spawn(move || PairCaller { server, does, done })
            .wait()
            .map_err(ClusterFailure::of_node)?;
        client.send(()).map_err(ClusterFailure::of_node)?;
        Ok(client.pid())
    };
    (0..count).map(spawn).collect()
}

/// A process that measures each of its calls.
struct TimedCaller {
    server: Recipient<BenchRequest>,
    times: u64,
    done: Sender<std::result::Result<Vec<Duration>, Reason>>,
}

impl Actor for TimedCaller {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        let mut times = Vec::new();
        for _ in 0..self.times {
            let began = Instant::now();
            let called = self.server.call(|reply| BenchRequest::Add(1, 1, reply));
            if let Err(error) = called.timeout(CALL_TIMEOUT).await {
                let _ = self.done.send(Err(error.into()));
                return Err(Reason::Normal);
            }
            times.push(began.elapsed());
        }
        let _ = self.done.send(Ok(times));
        Err(Reason::Normal)
    }
}

/// The times of calls, one after the other.
pub(crate) fn times(
    node: &Node,
    server: Recipient<BenchRequest>,
    times: u64,
) -> std::result::Result<Vec<Duration>, ClusterFailure> {
    let (done, results) = channel();
    let caller = node
        .spawn(move || TimedCaller { server, times, done })
        .wait()
        .map_err(ClusterFailure::of_node)?;
    caller.send(()).map_err(ClusterFailure::of_node)?;
    results.recv().map_err(ClusterFailure::of_node)?.map_err(ClusterFailure::of_node)
}

/// A process that monitors a process of another node many times.
struct Monitoring {
    server: Recipient<BenchRequest>,
    pid: Pid,
    times: u64,
    told: u64,
    done: Sender<Result>,
}

impl Actor for Monitoring {
    type Message = ();

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        for _ in 0..self.times {
            ctx.monitor(self.pid);
        }
        let synced = call_again(ctx, &self.server, BenchRequest::Me).await;
        let _ = self.done.send(synced.map(drop));
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<()>, down: Down) -> Result {
        if down.reason != Reason::NoConnection {
            let _ = self.done.send(Err(down.reason));
            return Err(Reason::Normal);
        }
        self.told += 1;
        if self.told < self.times {
            return Ok(());
        }
        let _ = self.done.send(Ok(()));
        Err(Reason::Normal)
    }
}

/// The time from the loss of a connection until so many monitors are told.
pub(crate) fn downs(
    node: &Node,
    server: Recipient<BenchRequest>,
    (pid, times): (Pid, u64),
    (cluster, peer): (&ClusterAddress, &str),
) -> std::result::Result<Duration, ClusterFailure> {
    let (done, results) = channel();
    let monitoring = move || Monitoring { server, pid, times, told: 0, done };
    let monitoring = node.spawn(monitoring).wait().map_err(ClusterFailure::of_node)?;
    monitoring.send(()).map_err(ClusterFailure::of_node)?;
    results.recv().map_err(ClusterFailure::of_node)?.map_err(ClusterFailure::of_node)?;
    let began = Instant::now();
    cluster.disconnect(peer).map_err(ClusterFailure::of_node)?;
    results.recv().map_err(ClusterFailure::of_node)?.map_err(ClusterFailure::of_node)?;
    Ok(began.elapsed())
}
