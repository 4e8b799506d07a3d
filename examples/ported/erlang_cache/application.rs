//! The two applications.
//!
//! ```text
//! lease_cache                          lease_cache_tcp, which needs it
//!   top    rest for one                  server   Acceptor
//!   ├─ events                            └─ …     Connection: one for each client
//!   ├─ store
//!   └─ elements   simple one for one
//!      └─ …       Element: temporary
//! ```
//!
//! **Rest for one.** Elements are found in the registry of the store, and publish to the topic of the
//! events. If one of the two ends, whatever depends on it starts anew.

use crate::connection::Connection;
use crate::element::{Element, NewElement};
use crate::events::{EVENTS, Events};
use crate::store::{STORE, Store};
use krarup::application::Application;
use krarup::io::Acceptor;
use krarup::prelude::*;
use krarup::supervisor::ChildTemplate;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The name of the top of the tree.
pub(crate) const TOP: &str = "lease_cache.top";
/// The name of the supervisor of the elements.
pub(crate) const ELEMENTS: &str = "lease_cache.elements";
/// The name of the server.
pub(crate) const SERVER: &str = "lease_cache.server";

/// Makes the application of the cache.
pub(crate) fn cache() -> Application {
    Application::new("lease_cache", || {
        let top = || {
            Supervisor::rest_for_one()
                .intensity(4, Duration::from_secs(60 * 60))
                .child(ChildSpec::worker("events", Events::default).name(EVENTS))
                .child(ChildSpec::worker("store", Store::default).name(STORE))
                .child(ChildSpec::supervisor("elements", elements).name(ELEMENTS))
        };
        Supervisor::one_for_one().child(ChildSpec::supervisor("top", top).name(TOP))
    })
}

/// The elements: one child for each key, never restarted, because its value is lost.
fn elements() -> Supervisor<NewElement> {
    let element = ChildTemplate::worker("element", Element::new)
        .restart(RestartType::Temporary)
        .shutdown(Shutdown::BrutalKill);
    Supervisor::simple_one_for_one(element)
}

/// Makes the application of the line protocol, with this server.
pub(crate) fn line_protocol(server: fn() -> ChildSpec) -> Application {
    let top = move || Supervisor::one_for_one().child(server().name(SERVER));
    Application::new("lease_cache_tcp", top).needs("lease_cache")
}

/// The server on a port that the system chooses.
pub(crate) fn server() -> ChildSpec {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    ChildSpec::supervisor("server", move || Acceptor::new(address, || Connection))
}
