//! Nodes that the resolver of the system knows, and that all listen on one port.

use super::Discovery;
use super::error::DiscoveryError;
use krarup_gen::NodeName;
use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// How often the addresses of a service are asked for.
const INTERVAL: Duration = Duration::from_secs(5);

/// Finds nodes by the resolver of the system. All listen on the same port, so that no port mapper
/// is needed; an Erlang node is reached so if it was started with `-erl_epmd_port`, and reaches
/// this node with the same argument (rule Zhs9).
///
/// A **service** is a name that resolves to the addresses of all its nodes, such as a headless
/// service of Kubernetes. With one, this discovery also tells which nodes there are: one for each
/// address, `alive@address`. They are kept with
/// [`Cluster::keep_discovered`](crate::Cluster::keep_discovered).
///
/// ```
/// # use krarup_dist::{Cluster, Cookie, DnsDiscovery};
/// # fn cluster(cookie: Cookie) -> Cluster {
/// // In a network that nobody else reaches; otherwise with `tls`.
/// // calc@10.0.0.7, calc@10.0.0.8 and so on, each at port 9100.
/// let dns = DnsDiscovery::new(9_100).service("calc", "calc.default.svc.cluster.local");
/// let everywhere = ([0, 0, 0, 0], 9_100).into();
/// Cluster::new(cookie).listen(everywhere).allow_clear_text().discovery(dns).keep_discovered()
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsDiscovery {
    port: u16,
    /// The first part of the nodes' names, and the name that resolves to their addresses.
    services: Vec<(String, String)>,
    interval: Duration,
}

impl DnsDiscovery {
    /// Finds each node at this port of its host.
    #[must_use]
    pub const fn new(port: u16) -> Self {
        DnsDiscovery { port, services: Vec::new(), interval: INTERVAL }
    }

    /// Adds the nodes `alive@address`, one for each address to which `name` resolves.
    #[must_use]
    pub fn service(mut self, alive: impl Into<String>, name: impl Into<String>) -> Self {
        self.services.push((alive.into(), name.into()));
        self
    }

    /// Sets how often the addresses of services are asked for. The default is 5 s.
    #[must_use]
    pub const fn every(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    fn resolve(&self, host: &str) -> Result<Vec<SocketAddr>, DiscoveryError> {
        let failed = |source| DiscoveryError::Host { host: host.to_owned(), source };
        let found: Vec<_> = (host, self.port).to_socket_addrs().map_err(failed)?.collect();
        if found.is_empty() {
            return Err(failed(io::ErrorKind::NotFound.into()));
        }
        Ok(found)
    }
}

impl Discovery for DnsDiscovery {
    fn find(&self, node: &NodeName) -> Result<Vec<SocketAddr>, DiscoveryError> {
        self.resolve(node.host())
    }

    fn nodes(&self) -> Result<Vec<NodeName>, DiscoveryError> {
        let mut nodes = BTreeSet::new();
        for (alive, name) in &self.services {
            for address in self.resolve(name)? {
                let node = NodeName::new(format!("{alive}@{}", address.ip()));
                nodes.insert(node.map_err(DiscoveryError::other)?);
            }
        }
        Ok(nodes.into_iter().collect())
    }

    fn interval(&self) -> Option<Duration> {
        (!self.services.is_empty()).then_some(self.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> NodeName {
        NodeName::new(name).unwrap()
    }

    #[test]
    fn zhs9_a_host_is_resolved_and_the_port_is_fixed() {
        let dns = DnsDiscovery::new(9_100);
        let found = dns.find(&node("calc@127.0.0.1")).unwrap();
        assert_eq!(found, [([127, 0, 0, 1], 9_100).into()]);
        assert!(dns.find(&node("calc@localhost")).unwrap().iter().all(|at| at.ip().is_loopback()));
        let error = dns.find(&node("calc@no.such.host.invalid")).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("the host \"no.such.host.invalid\" cannot be resolved"), "{text}");
        assert_eq!(dns.interval(), None);
    }

    #[test]
    fn zlive4_each_address_of_a_service_is_a_node() {
        let dns =
            DnsDiscovery::new(9_100).service("calc", "127.0.0.7").service("shop", "127.0.0.8");
        assert_eq!(dns.interval(), Some(INTERVAL));
        assert_eq!(dns.nodes().unwrap(), [node("calc@127.0.0.7"), node("shop@127.0.0.8")]);
        let gone = DnsDiscovery::new(9_100).service("calc", "no.such.host.invalid");
        assert!(gone.nodes().is_err());
    }
}
