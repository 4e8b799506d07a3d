//! How a cluster listens: on a socket, or on the network of a simulation.

use crate::connection::{PeerConnection, options};
use crate::core::ClusterCore;
use crate::error::StartError;
use crate::messages::ClusterMessage;
use crate::simulated::listener::SimListener;
use crate::simulated::network::SimNetwork;
use krarup_act::Context;
use krarup_gen::{Pid, Result};
use krarup_io::{Acceptor, AcceptorRequest};
use std::net::SocketAddr;
use std::sync::Arc;

/// The most connections, peers and strangers together.
const MOST_CONNECTIONS: usize = 4_096;

/// Listens on a socket. Returns the process that listens, and its address.
pub(crate) async fn listen(
    ctx: &mut Context<ClusterMessage>,
    core: Arc<ClusterCore>,
    address: SocketAddr,
) -> Result<(Pid, SocketAddr)> {
    let acceptor = ctx
        .spawn(move || {
            let encryption = core.encryption.clone();
            let acceptor =
                Acceptor::new(address, move || PeerConnection::accepted(Arc::clone(&core)))
                    .limit(MOST_CONNECTIONS)
                    .options(options());
            encryption.accepts(acceptor)
        })
        .label("listener")
        .link()
        .await?;
    let listening = acceptor.call(AcceptorRequest::Address).await;
    Ok((acceptor.pid(), listening.map_err(StartError::Listen)?))
}

/// Joins a simulated network. Returns the process that listens, and its address.
pub(crate) async fn listen_simulated(
    ctx: &mut Context<ClusterMessage>,
    core: Arc<ClusterCore>,
    network: &SimNetwork,
) -> Result<(Pid, SocketAddr)> {
    let (name, wires) = (core.me.as_str(), network.wires());
    if wires.has_listener(name) {
        return Err(StartError::NameTaken { name: name.to_owned() }.into());
    }
    let address = network.join(name, &core.host).ok_or(StartError::NotSimulated)?;
    let listener = move || SimListener::new(wires, core);
    let listener = ctx.spawn(listener).label("listener").link().await?;
    Ok((listener.pid(), address))
}
