//! The Krarup sides: a node that serves, and measures when it is told to on its input.

mod client;
mod codec;
mod counting;
mod idle;
mod requests;
mod server;

use crate::agreement::TICK_SECONDS;
use crate::failure::ClusterFailure;
use crate::side::client::{PairClient, run_clients};
use crate::side::counting::as_f64;
use crate::side::idle::IdleNodes;
use crate::side::requests::BenchRequest;
use crate::side::server::{BenchServer, SINKS, sink};
use krarup::cluster::{Cluster, ClusterAddress, ClusterCalls, Cookie};
use krarup::{Node, Recipient};
use std::io::{Write, stdin, stdout};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

/// How often a peer is tried that does not answer, every [`PAUSE`].
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);
/// The hard limit of the queue to a peer.
const MOST_QUEUE_BYTES: usize = 512 << 20;
const CALLERS: u64 = 32;
const BESIDE: usize = 8;
const MEBIBYTE: u64 = 1 << 20;
/// The bytes of each echo beside small calls.
const LARGE: u64 = 3 * MEBIBYTE;

/// The measuring side.
struct Measuring {
    node: Node,
    cluster: ClusterAddress,
    peer: String,
    peer_address: SocketAddr,
    cookie: Cookie,
    idle: IdleNodes,
}

/// Runs a side until its input ends: `NAME PEER ADDRESS PEER-ADDRESS COOKIE QUEUE-BYTES`.
pub(crate) fn serve(words: impl Iterator<Item = String>) -> Result<(), ClusterFailure> {
    let words: Vec<String> = words.collect();
    let [name, peer, address, peer_address, cookie, queue_bytes] = &words[..] else {
        return Err(ClusterFailure::Usage);
    };
    let node = Node::start(name.clone()).map_err(ClusterFailure::of_node)?;
    let cookie = Cookie::new(cookie.clone()).map_err(ClusterFailure::of_node)?;
    let (peer, peer_address) =
        (peer.clone(), peer_address.parse().map_err(ClusterFailure::of_node)?);
    let address = address.parse().map_err(ClusterFailure::of_node)?;
    let queue_bytes = queue_bytes.parse()?;
    let cluster = {
        let (cookie, peer) = (cookie.clone(), peer.clone());
        let make = move || {
            let cluster = Cluster::new(cookie).listen(address).peer(peer, peer_address);
            let cluster = cluster.queue_limits(queue_bytes, MOST_QUEUE_BYTES);
            cluster.tick_time(Duration::from_secs(TICK_SECONDS))
        };
        node.spawn_system(make).wait().map_err(ClusterFailure::of_node)?
    };
    for name in ["server".to_owned()].into_iter().chain((0..SINKS).map(sink)) {
        node.spawn(BenchServer::default)
            .name(name.as_str())
            .wait()
            .map_err(ClusterFailure::of_node)?;
        cluster.export::<BenchRequest>(&name).map_err(ClusterFailure::of_node)?;
    }
    let idle = IdleNodes::default();
    let mut measuring = Measuring { node, cluster, peer, peer_address, cookie, idle };
    say("ready")?;
    for line in stdin().lines() {
        match measuring.measure(&line?) {
            Ok(figures) => {
                figures.iter().try_for_each(|figure| say(&format!("figure {figure}")))?;
                say("done")?;
            }
            Err(why) => say(&format!("error {why}"))?,
        }
    }
    measuring.node.stop().wait().map_err(ClusterFailure::of_node)
}

fn say(line: &str) -> Result<(), ClusterFailure> {
    let mut out = stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

impl Measuring {
    fn measure(&mut self, line: &str) -> Result<Vec<f64>, ClusterFailure> {
        let (workload, size) = line.split_once(' ').ok_or(ClusterFailure::Usage)?;
        let size: u64 = size.parse()?;
        match workload {
            "codec" => return codec::measure(size),
            "idle" => {
                self.idle.open(size, &self.cookie, &self.peer, self.peer_address)?;
                return Ok(Vec::new());
            }
            "idle_end" => {
                self.idle.close()?;
                return Ok(Vec::new());
            }
            _ => {}
        }
        let (server, pid) = self.reach()?;
        let one = |client| run_clients(&self.node, [(server.clone(), client)]);
        let rate = |count: u64, time: Duration| as_f64(count) / time.as_secs_f64();
        match workload {
            "call" => Ok(vec![one(PairClient::Calls(size))?.as_secs_f64() * 1e6 / as_f64(size)]),
            "call32" => {
                let share = (size / CALLERS).max(1);
                let callers = (0..CALLERS).map(|_| (server.clone(), PairClient::Calls(share)));
                Ok(vec![rate(share * CALLERS, run_clients(&self.node, callers)?)])
            }
            "cast" => {
                let cast = (self.remote(&sink(0))?, PairClient::Casts(size));
                Ok(vec![rate(size, run_clients(&self.node, [cast])?)])
            }
            "cast8" => {
                let share = (size / SINKS).max(1);
                let sender = |number| Ok((self.remote(&sink(number))?, PairClient::Casts(share)));
                let senders = (0..SINKS).map(sender).collect::<Result<Vec<_>, ClusterFailure>>()?;
                Ok(vec![rate(share * SINKS, run_clients(&self.node, senders)?)])
            }
            "big" => {
                let megabytes = |mebibytes: u64, times: u64| {
                    let bytes = mebibytes * MEBIBYTE;
                    let time = one(PairClient::Echoes { bytes, times })?;
                    Ok(rate(bytes * times, time) / 1e6)
                };
                [megabytes(1, size), megabytes(10, (size / 10).max(1))].into_iter().collect()
            }
            "beside" => self.beside(&server, size),
            "bonds" => {
                let links = rate(size, one(PairClient::Links { pid, times: size })?);
                Ok(vec![links, rate(size, one(PairClient::Monitors { pid, times: size })?)])
            }
            "downs" => {
                let lost = (&self.cluster, self.peer.as_str());
                Ok(vec![rate(size, client::downs(&self.node, server, (pid, size), lost)?)])
            }
            other => Err(ClusterFailure::UnknownWorkload(other.to_owned())),
        }
    }

    /// Small calls, while others have large messages echoed.
    fn beside(
        &self,
        server: &Recipient<BenchRequest>,
        size: u64,
    ) -> Result<Vec<f64>, ClusterFailure> {
        let large = client::echo_for_ever(&self.node, server, BESIDE, LARGE)?;
        let small = self.remote(&sink(0))?;
        let mut times = client::times(&self.node, small, size)?;
        large.iter().for_each(|echo| self.node.kill(*echo));
        times.sort();
        let at = |part: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the rank of one of some hundred calls"
            )]
            let rank = (as_f64(size) * part).ceil() as usize;
            times.get(rank.max(1) - 1).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
        };
        Ok(vec![at(0.5), at(0.99)])
    }

    fn remote(&self, name: &str) -> Result<Recipient<BenchRequest>, ClusterFailure> {
        self.cluster.remote::<BenchRequest>(name, &self.peer).map_err(ClusterFailure::of_node)
    }

    /// Connects.
    fn reach(&self) -> Result<(Recipient<BenchRequest>, krarup::Pid), ClusterFailure> {
        let server = self.remote("server")?;
        let mut left = TRIES;
        loop {
            match server.call(BenchRequest::Me).wait() {
                Ok(pid) => return Ok((server, pid)),
                Err(error) if left == 0 => return Err(ClusterFailure::of_node(error)),
                Err(_) => thread::sleep(PAUSE),
            }
            left -= 1;
        }
    }
}
