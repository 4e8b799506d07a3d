//! The gRPC server as a process (rule Q8).
//!
//! gRPC is HTTP/2, and the services of tonic are routes of axum. So the server is that of `krarup-axum`, which
//! speaks HTTP/2 with its feature `http2`: one place listens, counts connections, stops in order and keeps the
//! port. All that gRPC adds is the layer of deadlines, which tonic's own server has too.

use crate::deadline_layer::DeadlineLayer;
use krarup::Node;
use krarup_axum::HttpServer;
use std::net::SocketAddr;
use std::time::Duration;
use tonic::service::Routes;

/// Creates the server of these gRPC services: an [`HttpServer`] that speaks HTTP/2 and ends handlers by the
/// deadlines of their requests ([`DeadlineLayer`]), on the clock of this node (rules Q8 and Q10).
///
/// It is a child of a supervisor, restarted on the same port. When it is asked to stop, it accepts no
/// more, tells its clients so, completes the requests under way, and ends; what takes longer than
/// [`HttpServer::drain`], 5 s unless it is set, is cut off. A response that is a stream without an end is
/// such a request.
///
/// A stream of messages from a client may pause for any time, so there is no
/// [`HttpServer::body_timeout`] unless it is set.
///
/// Routes of axum can be served beside the services: `routes.into_axum_router().merge(others).into()`.
///
/// ```
/// use krarup::prelude::*;
/// use krarup_tonic::grpc_server;
/// use std::time::Duration;
/// use tonic::service::Routes;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let handle = tokio::runtime::Handle::current();
/// let node = Node::builder("shop@localhost").tokio(handle).start()?;
/// let (_reporter, health) = tonic_health::server::health_reporter();
/// let server = grpc_server(&node, ([127, 0, 0, 1], 0), Routes::new(health));
/// let child = server.child("grpc");
/// let tree = || Supervisor::one_for_one().intensity(3, Duration::from_secs(5)).child(child);
/// node.spawn(tree).await?;
/// println!("serving on {:?}", server.bound());
/// # node.stop().await?;
/// # Ok(())
/// # }
/// ```
pub fn grpc_server(node: &Node, address: impl Into<SocketAddr>, routes: Routes) -> HttpServer {
    let routes = routes.into_axum_router().layer(DeadlineLayer::new(node.clock()));
    HttpServer::new(address, routes).http2().body_timeout(Duration::MAX)
}
