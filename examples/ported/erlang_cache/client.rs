//! A client of the line protocol in a simulation, over bytes in memory.

use crate::application::SERVER;
use crate::connection::Connection;
use crate::pipe::{ClientEnd, WireEnd, wire};
use krarup::io::TransportConnection;
use krarup::prelude::*;
use krarup::supervisor::{ChildTemplate, SupervisorAddress};
use std::time::Duration;

/// What takes longer has failed. It is virtual time.
const PATIENCE: Duration = Duration::from_secs(60);

/// In the place of the acceptor: each child is the connection of a wire.
pub(crate) fn simulated_server() -> ChildSpec {
    ChildSpec::supervisor("server", || {
        let connection = |end: WireEnd| TransportConnection::accepted(Box::new(end), Connection);
        let connection = ChildTemplate::worker("connection", connection);
        Supervisor::simple_one_for_one(connection.restart(RestartType::Temporary))
    })
}

pub(crate) struct Client<'a> {
    sim: &'a Simulation,
    end: ClientEnd,
}

impl<'a> Client<'a> {
    pub(crate) fn connect(sim: &'a Simulation) -> Result<Self> {
        let server: SupervisorAddress<WireEnd> = sim.lookup(SERVER)?;
        let (client, end) = wire();
        server.start_child(end).wait()?;
        Ok(Client { sim, end: client })
    }

    /// Sends a line, and returns the line that answers it.
    pub(crate) fn ask(&self, line: &str) -> Result<String> {
        let line = format!("{line}\n");
        self.sim.run_until(PATIENCE, "the server reads", || self.end.is_writable());
        let written = self.end.write(line.as_bytes());
        if written != Some(line.len()) {
            return Err(Reason::error("the connection has ended"));
        }
        let mut answer = Vec::new();
        while answer.last() != Some(&b'\n') {
            self.sim.run_until(PATIENCE, "an answer, or the end", || self.end.is_readable());
            let (bytes, has_more) = self.end.read();
            answer.extend(bytes);
            if !has_more {
                return Err(Reason::error("the connection has ended"));
            }
        }
        Ok(String::from_utf8_lossy(&answer).trim_end().to_owned())
    }
}
