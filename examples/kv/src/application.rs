//! The application `kv`: its settings, its tree, its server.
//!
//! ```text
//! top               Supervisor, one for one
//! ├─ store          Supervisor, rest for one
//! │  ├─ registry    Agent: owns the registry, which knows each bucket by its name
//! │  └─ buckets     Supervisor, simple one for one: at most `buckets` children
//! │     └─ …        Bucket: an agent, temporary
//! └─ server         Acceptor: listens on `port`
//!    └─ …           Connection: one for each client
//! ```
//!
//! **Rest for one.** The buckets are registered in the registry of one owner. If that owner ends,
//! nothing finds them any more: a `CREATE` would make a second bucket of the same name, and the
//! first would take up its place for ever. So they are ended, and both parts start empty. If the
//! supervisor of the buckets ends, all buckets end with it. Each end has removed its name, so the
//! registry stays.
//!
//! **One for one.** The server needs neither of them between two commands: it asks by name. It
//! keeps its clients, and tells them `NOT FOUND`. A client whose `CREATE` meets the moment in which
//! the supervisor is replaced loses its connection: it does not hear whether there is a bucket.
//!
//! **The end.** Children end in reverse order. First the server listens no more, and each connection
//! answers the command that it has begun; the store still works then. Afterwards the buckets end,
//! and then the owner.

use crate::connection::Connection;
use crate::{buckets, registry};
use krarup::application::{Application, Mode};
use krarup::io::{Acceptor, ConnectionOptions};
use krarup::prelude::*;
use serde::Deserialize;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The name of the application, in `node.applications()` and in files of settings.
pub(crate) const KV: &str = "kv";
/// The name of the server.
pub(crate) const SERVER: &str = "kv.server";

/// The most open connections. Others wait in the system until one is closed.
const CONNECTIONS: usize = 10_000;
/// A client may be silent for this long.
const SILENCE: Duration = Duration::from_secs(600);
/// A client has this long for one line, and for taking an answer.
const SLOWNESS: Duration = Duration::from_secs(30);

/// The settings, in a file the table `[application.kv.settings]`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct KvSettings {
    /// The port on this machine, from which alone it can be reached. 0 is any free one.
    pub(crate) port: u16,
    /// The most buckets.
    pub(crate) buckets: usize,
}

/// Makes the application. If it ends without having been asked to, the node stops.
pub(crate) fn kv() -> Application {
    Application::configured(KV, |settings: KvSettings| top(settings.buckets, server(settings.port)))
        .mode(Mode::Permanent)
}

/// Makes the top of the tree.
pub(crate) fn top(limit: usize, server: ChildSpec) -> Supervisor {
    patient(Supervisor::one_for_one())
        .child(ChildSpec::supervisor("store", move || store(limit)))
        .child(server.name(SERVER))
}

fn store(limit: usize) -> Supervisor {
    let buckets = ChildSpec::supervisor("buckets", move || buckets::supervisor(limit));
    patient(Supervisor::rest_for_one())
        .child(ChildSpec::worker("registry", registry::owner).name(registry::OWNER).label("Agent"))
        .child(buckets.name(buckets::BUCKETS))
}

/// The server, which ends its connections itself, as a supervisor does.
fn server(port: u16) -> ChildSpec {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    ChildSpec::supervisor("server", move || {
        Acceptor::new(address, || Connection).limit(CONNECTIONS).options(limits())
    })
}

/// The limits of a connection. Without them, clients that do nothing would take all places.
pub(crate) fn limits() -> ConnectionOptions {
    ConnectionOptions::new().idle_timeout(SILENCE).frame_timeout(SLOWNESS).stall_timeout(SLOWNESS)
}

/// Allows more restarts than the one in 5 s that is the default.
fn patient(supervisor: Supervisor) -> Supervisor {
    supervisor.intensity(10, Duration::from_secs(10))
}
