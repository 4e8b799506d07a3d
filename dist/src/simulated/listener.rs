//! The process that accepts the connections of a node over a simulated network.

use super::wires::{AcceptedWire, Wires};
use crate::connection::{PeerConnection, options};
use crate::core::ClusterCore;
use krarup_act::{Actor, Context};
use krarup_gen::{Exit, Inspection, Result};
use krarup_io::TransportConnection;
use std::sync::Arc;

/// Listens while it lives. Its connections are processes below it, and end with it.
pub(crate) struct SimListener {
    wires: Arc<Wires>,
    core: Arc<ClusterCore>,
    accepted: u64,
}

impl SimListener {
    pub(crate) fn new(wires: Arc<Wires>, core: Arc<ClusterCore>) -> Self {
        SimListener { wires, core, accepted: 0 }
    }
}

impl Actor for SimListener {
    type Message = AcceptedWire;

    async fn init(&mut self, ctx: &mut Context<AcceptedWire>) -> Result {
        // The end of a connection ends nothing else.
        ctx.trap_exits(true);
        self.wires.listen(self.core.me.as_str(), Some(ctx.address().recipient()));
        Ok(())
    }

    async fn handle_message(
        &mut self,
        ctx: &mut Context<AcceptedWire>,
        AcceptedWire(end): AcceptedWire,
    ) -> Result {
        self.accepted += 1;
        let core = Arc::clone(&self.core);
        let connection = move || {
            let encryption = core.encryption.clone();
            let protocol = PeerConnection::accepted(core);
            let connection = TransportConnection::accepted(Box::new(end), protocol);
            encryption.over(connection.options(options()), "")
        };
        // One that cannot be spawned is closed.
        let _ = ctx.spawn(connection).link().start();
        Ok(())
    }

    async fn handle_exit(&mut self, ctx: &mut Context<AcceptedWire>, exit: Exit) -> Result {
        if ctx.parent() == Some(exit.pid) { Err(exit.reason) } else { Ok(()) }
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("accepted", self.accepted)
    }
}

impl Drop for SimListener {
    fn drop(&mut self) {
        self.wires.listen(self.core.me.as_str(), None);
    }
}
