//! How the process of a cluster finds peers, dials them, and dials those again that are kept (rules
//! Zhs9, Zlive4).

use super::Cluster;
use super::running::{DIAL_LIMIT, RunningCluster};
use crate::connection::{PeerConnection, options};
use crate::discovery::error::DiscoveryError;
use crate::keeping::KeptBy;
use crate::messages::{ClusterMessage, ClusterRequest};
use krarup_act::Context;
use krarup_gen::{NodeName, Result};
use krarup_io::{Client, TransportConnection};
use krarup_wire::etf::Atom;
use krarup_wire::peers::ConnectionId;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

impl Cluster {
    /// Finds the address of a peer beside this process.
    pub(super) fn find(
        &self,
        ctx: &mut Context<ClusterMessage>,
        peer: Atom,
        connection: ConnectionId,
    ) -> Result {
        let settings = &self.settings;
        let on_network =
            settings.network.as_ref().map(|network| network.wires().address_of(peer.as_str()));
        let known = match on_network {
            Some(at) => at.into_iter().collect(),
            None => settings.peers.get(peer.as_str()).copied().into_iter().collect::<Vec<_>>(),
        };
        let is_known = on_network.is_none() && !known.is_empty();
        let name = NodeName::new(peer.as_str());
        let (Ok(name), false, false) = (name, is_known, settings.discoveries.is_empty()) else {
            let found = ClusterRequest::Found { peer, connection, found: Ok(known) };
            ctx.address().notify(ClusterMessage(found));
            return Ok(());
        };
        let discoveries = settings.discoveries.clone();
        let search = ctx.block(move || discoveries.find(&name));
        ctx.pipe(search, move |found| {
            let found = found.unwrap_or_else(|panic| Err(panicked(&panic)));
            // In a simulation a discovery says whether the node is found, and the network where.
            let found = found.map(|found| if on_network.is_some() { known } else { found });
            ClusterMessage(ClusterRequest::Found { peer, connection, found })
        })?;
        Ok(())
    }

    pub(super) fn connect(
        &mut self,
        ctx: &Context<ClusterMessage>,
        (peer, connection): (Atom, ConnectionId),
        found: Result<Vec<SocketAddr>, DiscoveryError>,
    ) {
        let Some(RunningCluster { core, dialling, .. }) = &mut self.running else { return };
        let name = peer.clone();
        if !core.is_dialling(connection) {
            return;
        }
        let found = found.unwrap_or_else(|error| {
            core.log_unfound(&peer, &error);
            Vec::new()
        });
        let Some((&address, others)) = found.split_first() else {
            return core.closed(Some(&peer), connection);
        };
        let host = NodeName::new(peer.as_str()).map(|node| node.host().to_owned());
        let (host, encryption) = (host.unwrap_or_default(), core.encryption.clone());
        let protocol = PeerConnection::dialled(Arc::clone(core), name, connection);
        // If it cannot be spawned, the protocol is dropped, and that is a failed dial.
        let spawned = match &self.settings.network {
            None => {
                let others = others.to_vec();
                let client = move || {
                    let options = options().connect_timeout(DIAL_LIMIT);
                    let client = Client::new(address, protocol).or(others).options(options);
                    encryption.dials(client, &host)
                };
                ctx.spawn(client).label(peer.as_str()).link().start().map(|address| address.pid())
            }
            Some(network) => {
                let wire = Box::new(network.wires().dial(core.me.as_str(), peer.as_str()));
                let client = TransportConnection::dialled(address, wire, protocol);
                let client = move || encryption.over(client.options(options()), &host);
                ctx.spawn(client).label(peer.as_str()).link().start().map(|address| address.pid())
            }
        };
        if let Ok(pid) = spawned {
            dialling.insert(pid, peer);
        }
    }

    /// Asks a discovery which nodes there are, unless it is being asked.
    pub(super) fn ask(&mut self, ctx: &mut Context<ClusterMessage>, number: usize) -> Result {
        let Some(running) = &mut self.running else { return Ok(()) };
        let Some(discovery) = self.settings.discoveries.all().get(number).cloned() else {
            return Ok(());
        };
        if running.discovered.ask(number) {
            let nodes = ctx.block(move || discovery.nodes());
            ctx.pipe(nodes, move |nodes| {
                let nodes = nodes.unwrap_or_else(|panic| Err(panicked(&panic)));
                ClusterMessage(ClusterRequest::Nodes { number, nodes })
            })?;
        }
        Ok(())
    }

    pub(super) fn news(&self, appeared: &[NodeName], disappeared: &[NodeName]) {
        let Some(RunningCluster { core, .. }) = &self.running else { return };
        for node in disappeared {
            core.unkeep(node, KeptBy::Discovery);
        }
        for node in appeared {
            if self.settings.kept.1 {
                core.keep(node, KeptBy::Discovery);
            }
            core.kept_news(node);
        }
    }

    /// Dials the kept nodes that are due, and sets the timer for the next ones.
    pub(super) fn dial_kept(&mut self, ctx: &mut Context<ClusterMessage>) {
        let Some(running) = &mut self.running else { return };
        let (next, now) = running.core.dial_kept();
        if let Some(next) = next
            && running.keeps_at.is_none_or(|at| next < at)
        {
            running.keeps_at = Some(next);
            let due = ClusterMessage(ClusterRequest::KeepDue(next));
            ctx.send_after(next.saturating_sub(now), due);
        }
    }
}

fn panicked(panic: &impl fmt::Display) -> DiscoveryError {
    DiscoveryError::Panicked(panic.to_string())
}
