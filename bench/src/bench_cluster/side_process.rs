//! A node of a pair, as a process of the system that reads commands and writes figures.
//!
//! A node ends when its input ends, so also if this program is killed.

use crate::agreement::{SIDE_FLAG, TICK_SECONDS};
use crate::erlang::ErlangCode;
use crate::failure::ClusterFailure;
use crate::pair::{NodePair, PairRuntime};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// The longest time between two lines of a node.
const LINE_TIMEOUT: Duration = Duration::from_secs(120);

/// The name and the address of a node.
#[derive(Clone, Debug)]
pub(crate) struct SideName {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
}

impl SideName {
    /// The node number `number`, which has the address 127.0.0.`number`.
    pub(crate) fn new(number: u8, port: u16) -> Self {
        let host = Ipv4Addr::new(127, 0, 0, number);
        SideName { name: format!("bench@{host}"), address: (host, port).into() }
    }
}

/// A running node.
pub(crate) struct SideProcess {
    child: Child,
    /// `None` after its end was requested.
    commands: Option<ChildStdin>,
    lines: Receiver<String>,
    pair: NodePair,
    side: &'static str,
}

impl SideProcess {
    /// Starts one side of a pair.
    pub(crate) fn start(
        (pair, side): (NodePair, &'static str),
        (me, peer): (&SideName, &SideName),
        (cookie, queue_bytes): (&str, usize),
        erlang: Option<&ErlangCode>,
    ) -> Result<Self, ClusterFailure> {
        let runtime = if side == "client" { pair.client } else { pair.server };
        let mut command = match (runtime, erlang) {
            (PairRuntime::Otp, Some(erlang)) => otp(me, peer, cookie, erlang),
            (PairRuntime::Otp, None) => return Err(ClusterFailure::Erlang("not compiled".into())),
            (PairRuntime::Krarup, _) => krarup(me, peer, cookie, queue_bytes)?,
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let commands = child.stdin.take();
        let (sender, lines) = channel();
        if let Some(output) = child.stdout.take() {
            let read = move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                lines.map(|line| sender.send(line)).take_while(Result::is_ok).for_each(drop);
            };
            thread::Builder::new().name("bench-lines".to_owned()).spawn(read)?;
        }
        let mut started = SideProcess { child, commands, lines, pair, side };
        match started.line()?.as_str() {
            "ready" => Ok(started),
            other => Err(started.failed(other)),
        }
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Measures, and returns the figures.
    pub(crate) fn measure(
        &mut self,
        workload: &str,
        size: u64,
    ) -> Result<Vec<f64>, ClusterFailure> {
        if let Some(commands) = &mut self.commands {
            writeln!(commands, "{workload} {size}")?;
            commands.flush()?;
        }
        let mut figures = Vec::new();
        loop {
            let line = self.line()?;
            match line.split_once(' ') {
                None if line == "done" => return Ok(figures),
                Some(("figure", figure)) => match figure.parse() {
                    Ok(figure) => figures.push(figure),
                    Err(_) => return Err(self.failed(&line)),
                },
                _ => return Err(self.failed(&line)),
            }
        }
    }

    fn line(&mut self) -> Result<String, ClusterFailure> {
        self.lines.recv_timeout(LINE_TIMEOUT).map_err(|_| match self.child.try_wait() {
            Ok(Some(status)) => self.failed(&format!("it has ended: {status}")),
            _ => self.failed(&format!("no answer within {} s", LINE_TIMEOUT.as_secs())),
        })
    }

    fn failed(&self, why: &str) -> ClusterFailure {
        let (side, pair, why) = (self.side, self.pair.to_string(), why.to_owned());
        ClusterFailure::Side { side, pair, why }
    }
}

/// Nothing of it is left.
impl Drop for SideProcess {
    fn drop(&mut self) {
        drop(self.commands.take());
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn krarup(
    me: &SideName,
    peer: &SideName,
    cookie: &str,
    queue_bytes: usize,
) -> Result<Command, ClusterFailure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(SIDE_FLAG).args([&me.name, &peer.name]);
    command.args([me.address.to_string(), peer.address.to_string()]);
    command.arg(cookie).arg(queue_bytes.to_string());
    Ok(command)
}

fn otp(me: &SideName, peer: &SideName, cookie: &str, erlang: &ErlangCode) -> Command {
    let host = me.address.ip().to_string().replace('.', ",");
    let mut command = Command::new("erl");
    command.args(["-noshell", "-hidden", "-name", &me.name, "-setcookie", cookie]);
    // All nodes have the same port, each at its own address.
    command.args(["-start_epmd", "false", "-erl_epmd_port", &me.address.port().to_string()]);
    command.args(["-kernel", "inet_dist_use_interface", &format!("{{{host}}}")]);
    command.args(["-kernel", "net_ticktime", &TICK_SECONDS.to_string()]);
    command.arg("-pa").arg(erlang.folder()).args(["-run", "krarup_bench", "main", &peer.name]);
    command
}
