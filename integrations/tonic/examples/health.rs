//! The health of processes behind gRPC, as the standard protocol `grpc.health.v1` asks for it: a service is a
//! process that is known by its name, and serves when it answers an inspection.
//!
//! ```sh
//! cargo run -p krarup-tonic --example health                    # shows itself, and ends
//! cargo run -p krarup-tonic --example health 127.0.0.1:50051    # serves until Ctrl-C
//! grpcurl -plaintext -d '{"service": "store"}' 127.0.0.1:50051 grpc.health.v1.Health/Check
//! ```

use krarup::observe::NodeView;
use krarup::prelude::*;
use krarup::supervisor::SupervisorAddress;
use krarup_tonic::{CallStatus, grpc_server};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::runtime::Handle;
use tonic::codegen::BoxStream;
use tonic::service::Routes;
use tonic::transport::Endpoint;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// Stands for what a service does.
struct Store;

impl Actor for Store {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

/// Answers for the processes of a node.
struct ProcessHealth {
    view: NodeView,
    services: Vec<&'static str>,
}

impl ProcessHealth {
    /// A process that restarts has no name, or does not answer any more. One that is inside a handler
    /// answers when the handler is done.
    async fn status(&self, name: &str) -> Result<ServingStatus, CallStatus> {
        let Some(process) = self.view.whereis(name) else { return Ok(ServingStatus::NotServing) };
        match self.view.inspect(process).await {
            Ok(_) => Ok(ServingStatus::Serving),
            Err(CallError::NoProcess { .. } | CallError::NoReply { .. }) => {
                Ok(ServingStatus::NotServing)
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[tonic::async_trait]
impl Health for ProcessHealth {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let status = match request.get_ref().service.as_str() {
            // The server itself.
            "" => ServingStatus::Serving,
            name if self.services.contains(&name) => self.status(name).await?,
            name => return Err(Status::not_found(format!("{name:?} is no service"))),
        };
        Ok(Response::new(HealthCheckResponse { status: status.into() }))
    }

    type WatchStream = BoxStream<HealthCheckResponse>;

    async fn watch(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("check it again"))
    }
}

#[tokio::main]
async fn main() -> Result {
    let told = std::env::args().nth(1);
    let address: SocketAddr = told.as_deref().unwrap_or("127.0.0.1:0").parse()?;
    let node = Node::builder("health@localhost").tokio(Handle::current()).start()?;
    let outcome = serve(&node, address, told.is_some()).await;
    // The server first, then the store.
    node.stop().await?;
    outcome
}

async fn serve(node: &Node, address: SocketAddr, until_ctrl_c: bool) -> Result {
    let health = ProcessHealth { view: node.view(), services: vec!["store"] };
    let server = grpc_server(node, address, Routes::new(HealthServer::new(health)));
    let grpc = server.child("grpc");
    let tree = || {
        Supervisor::one_for_one()
            .intensity(3, Duration::from_secs(5))
            .child(ChildSpec::worker("store", || Store).name("store"))
            .child(grpc)
    };
    let tree = node.spawn(tree).name("tree").await?;
    let address = server.bound().unwrap_or(address);
    println!("serving on http://{address}");
    if until_ctrl_c {
        return Ok(tokio::signal::ctrl_c().await?);
    }
    show(address, &tree).await
}

/// A client that asks before, while and after the store is down.
async fn show(address: SocketAddr, tree: &SupervisorAddress) -> Result {
    let channel = Endpoint::from_shared(format!("http://{address}"))?.connect().await?;
    let mut client = HealthClient::new(channel);
    let mut ask = async |service: &str| {
        let mut request = Request::new(HealthCheckRequest { service: service.to_owned() });
        request.set_timeout(Duration::from_secs(5));
        match client.check(request).await {
            Ok(answer) => println!("{service:?}: {}", answer.get_ref().status().as_str_name()),
            Err(status) => println!("{service:?}: {:?}: {}", status.code(), status.message()),
        }
    };
    ask("").await;
    ask("store").await;
    tree.terminate_child("store").await?;
    ask("store").await;
    tree.restart_child("store").await?;
    ask("store").await;
    ask("till").await;
    Ok(())
}
