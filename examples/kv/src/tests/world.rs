//! Where a test runs: in a simulation with simulated sockets, or on a node, over TCP.

use crate::application::{KV, KvSettings, SERVER, kv, limits, top};
use crate::bucket::BucketAddress;
use crate::connection::Connection;
use crate::registry::{OWNER, OwnerAddress};
use crate::tests::pipe::{ClientEnd, WireEnd, wire};
use krarup::application::{Application, ApplicationState, Mode};
use krarup::io::{AcceptorAddress, AcceptorRequest, TransportConnection};
use krarup::prelude::*;
use krarup::supervisor::{ChildTemplate, SupervisorAddress};
use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::ops::Range;
use std::time::Duration;

/// What takes this long has failed. Virtual time in a simulation; on a node it is never waited for
/// unless the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node with the application.
pub(crate) trait World {
    fn node(&self) -> &Node;

    /// Connects a client. `None` if the server does not run or has closed its port.
    fn try_connect(&self) -> Option<Box<dyn Client + '_>>;

    /// Whether clients can connect.
    fn is_listening(&self) -> bool;

    /// Waits until the condition holds.
    fn until(&self, what: &str, condition: &mut dyn FnMut() -> bool);

    /// Lets processes run for a while.
    fn run(&self);

    /// Returns a number below `count`.
    fn choose(&self, count: usize) -> usize;

    fn connect(&self) -> Box<dyn Client + '_> {
        self.try_connect().expect("a server that runs")
    }

    /// Returns the process that has this name.
    fn pid(&self, name: &str) -> Pid {
        self.node().whereis(name).unwrap_or_else(|| panic!("no process has the name {name:?}"))
    }

    /// Returns a bucket, found as a connection finds it.
    fn bucket(&self, name: &str) -> Option<BucketAddress> {
        let (owner, name): (OwnerAddress, _) = (self.node().lookup(OWNER).ok()?, name.to_owned());
        owner.get(move |names| names.get(&name)).wait().ok()?
    }

    /// Returns the processes of the application with this label.
    fn processes(&self, label: &str) -> Vec<Pid> {
        let node = self.node();
        let infos = node.processes().into_iter().filter_map(|pid| node.process_info(pid));
        infos
            .filter(|info| info.application.as_ref().is_some_and(|name| name.as_str() == KV))
            .filter(|info| info.behavior.to_string() == label)
            .map(|info| info.pid)
            .collect()
    }

    fn state(&self) -> ApplicationState {
        self.node().applications()[0].state.clone()
    }

    /// Kills a process and waits for its end.
    fn kill(&self, pid: Pid) {
        let end = self.node().watch(pid);
        self.node().kill(pid);
        end.wait().expect("an end");
    }
}

/// A client that has connected.
pub(crate) trait Client {
    /// Sends bytes, as far as the server takes them.
    fn send(&mut self, bytes: &[u8]);

    /// Returns the next line. `None` at the end of the connection.
    fn line(&mut self) -> Option<String>;

    /// Sends nothing more.
    fn finish(&mut self);

    fn say(&mut self, command: &str) {
        self.send(format!("{command}\n").as_bytes());
    }

    /// Returns the lines of the answer to this command; fewer if the connection ends.
    fn answer(&mut self, command: &str) -> Vec<String> {
        let mut lines: Vec<String> = self.line().into_iter().collect();
        let has_value = |line: &String| line != "NOT FOUND" && line != "UNKNOWN COMMAND";
        if command.starts_with("GET ") && lines.first().is_some_and(has_value) {
            lines.extend(self.line());
        }
        lines
    }

    fn ask(&mut self, command: &str) -> Vec<String> {
        self.say(command);
        self.answer(command)
    }

    /// Asserts that the connection has ended, and nothing comes before.
    fn expect_end(&mut self) {
        assert_eq!(self.line(), None);
    }
}

/// Runs a test under each of the seeds in a simulation.
pub(crate) fn simulated(seeds: Range<u64>, buckets: usize, test: impl Fn(&SimulatedWorld<'_>)) {
    Simulation::explore(seeds, |sim| {
        sim.declare_applications([simulated_kv(buckets)]).expect("a valid application");
        sim.start_applications().expect("it starts");
        test(&SimulatedWorld { sim });
        Ok(())
    });
}

/// Runs a test on a node, over TCP.
pub(crate) fn real(buckets: usize, test: impl Fn(&RealWorld)) {
    let application = kv().mode(Mode::Temporary).settings(KvSettings { port: 0, buckets });
    let node = Node::builder("kv@localhost").application(application).start();
    let node = node.expect("a node");
    test(&RealWorld { node, dice: Cell::new(1), address: Cell::default() });
}

/// Runs a test in a simulation and on a node.
pub(crate) fn everywhere(buckets: usize, test: fn(&dyn World)) {
    simulated(0..20, buckets, |world| test(world));
    real(buckets, |world| test(world));
}

/// The application, with a server whose connections the test makes.
fn simulated_kv(buckets: usize) -> Application {
    Application::new(KV, move || top(buckets, ChildSpec::supervisor("server", simulated_server)))
}

/// In the place of the acceptor: each child is the connection of a wire.
fn simulated_server() -> Supervisor<WireEnd> {
    let connection =
        |end: WireEnd| TransportConnection::accepted(Box::new(end), Connection).options(limits());
    let connection = ChildTemplate::worker("connection", connection);
    Supervisor::simple_one_for_one(connection.restart(RestartType::Temporary))
}

pub(crate) struct SimulatedWorld<'a> {
    pub(crate) sim: &'a Simulation,
}

impl World for SimulatedWorld<'_> {
    fn node(&self) -> &Node {
        self.sim.node()
    }

    fn try_connect(&self) -> Option<Box<dyn Client + '_>> {
        let server: SupervisorAddress<WireEnd> = self.sim.lookup(SERVER).ok()?;
        let (client, end) = wire();
        server.start_child(end).wait().ok()?;
        Some(Box::new(SimulatedClient { sim: self.sim, end: client, arrived: Vec::new() }))
    }

    fn is_listening(&self) -> bool {
        self.sim.whereis(SERVER).is_some() && self.state() == ApplicationState::Running
    }

    fn until(&self, what: &str, condition: &mut dyn FnMut() -> bool) {
        self.sim.run_until(PATIENCE, what, condition);
    }

    fn run(&self) {
        for _ in 0..self.sim.choose(8) {
            self.sim.step();
        }
    }

    fn choose(&self, count: usize) -> usize {
        self.sim.choose(count)
    }
}

struct SimulatedClient<'a> {
    sim: &'a Simulation,
    end: ClientEnd,
    /// What has arrived and was not returned.
    arrived: Vec<u8>,
}

impl Client for SimulatedClient<'_> {
    /// The bytes arrive in pieces, of which the seed chooses the lengths.
    fn send(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let piece = 1 + self.sim.choose(rest.len());
            let Some(taken) = self.end.write(&rest[..piece]) else { return };
            rest = &rest[taken..];
            for _ in 0..self.sim.choose(4) {
                self.sim.step();
            }
            self.sim.run_until(PATIENCE, "the server reads", || self.end.is_writable());
        }
    }

    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.arrived.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.arrived.drain(..=end).collect();
                return Some(String::from_utf8(line[..end].to_vec()).expect("text"));
            }
            self.sim.run_until(PATIENCE, "a line, or the end", || self.end.is_readable());
            let (bytes, has_more) = self.end.read();
            self.arrived.extend(bytes);
            if !has_more && !self.arrived.contains(&b'\n') {
                return None;
            }
        }
    }

    fn finish(&mut self) {
        self.end.finish();
    }
}

pub(crate) struct RealWorld {
    node: Node,
    dice: Cell<u64>,
    /// The address of the server, or of the last one.
    address: Cell<Option<SocketAddr>>,
}

impl RealWorld {
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        let server: AcceptorAddress<Connection> = self.node.lookup(SERVER).ok()?;
        let address = server.call(AcceptorRequest::Address).wait().ok();
        self.address.set(address);
        address
    }
}

impl World for RealWorld {
    fn node(&self) -> &Node {
        &self.node
    }

    fn try_connect(&self) -> Option<Box<dyn Client + '_>> {
        let stream = TcpStream::connect(self.address()?).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("an option");
        Some(Box::new(RealClient(BufReader::new(stream))))
    }

    fn is_listening(&self) -> bool {
        self.address.get().is_some_and(|address| TcpStream::connect(address).is_ok())
    }

    fn until(&self, what: &str, condition: &mut dyn FnMut() -> bool) {
        let began = self.node.now();
        while !condition() {
            assert!(self.node.now() - began < PATIENCE, "condition not met: {what}");
            std::thread::yield_now();
        }
    }

    fn run(&self) {
        std::thread::yield_now();
    }

    fn choose(&self, count: usize) -> usize {
        // Marsaglia's xorshift.
        let mut number = self.dice.get();
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        self.dice.set(number);
        usize::try_from(number % count as u64).expect("less than count")
    }
}

struct RealClient(BufReader<TcpStream>);

impl Client for RealClient {
    fn send(&mut self, bytes: &[u8]) {
        // The server may have closed the connection.
        let _ = self.0.get_mut().write_all(bytes);
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => line.strip_suffix('\n').map(str::to_owned),
            // A connection that was reset has ended, too.
            Err(error) => {
                assert!(error.kind() != std::io::ErrorKind::WouldBlock, "no answer comes");
                None
            }
        }
    }

    fn finish(&mut self) {
        let _ = self.0.get_mut().shutdown(Shutdown::Write);
    }
}
