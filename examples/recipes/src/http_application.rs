//! An application with an HTTP server: an async `main`, signals, an end that decides the exit code.
//!
//! ```sh
//! cargo run --package recipes --bin http_application -- 127.0.0.1:8080
//! curl -X POST 127.0.0.1:8080/hits                 # 1
//! kill -TERM %1                                    # answers what it has accepted, and ends with code 0
//! ```

use axum::Router;
use axum::routing::post;
use krarup::application::{Application, Mode};
use krarup::prelude::*;
use krarup::signals::Signals;
use krarup_axum::{ByName, CallRejection, HttpServer, NamedProcess, Processes};
use std::net::SocketAddr;
use std::process::ExitCode;
use tokio::runtime::Handle;

/// Counts requests.
#[derive(Default)]
struct Hits(u64);

impl Actor for Hits {
    type Message = Reply<u64>;

    async fn handle_message(&mut self, _: &mut Context<Reply<u64>>, hit: Reply<u64>) -> Result {
        self.0 += 1;
        hit.send(self.0);
        Ok(())
    }
}

impl NamedProcess for Hits {
    const NAME: &'static str = "hits";
    type Message = Reply<u64>;
    type Command = Reply<u64>;
}

async fn hit(hits: ByName<Hits>) -> Result<String, CallRejection> {
    Ok(hits.call(|hit| hit).await?.to_string())
}

fn server(address: SocketAddr) -> HttpServer {
    // The routes are made when the server starts: there is no node yet.
    HttpServer::routed(address, |ctx| {
        let processes = Processes::new().with::<Hits>(ctx)?;
        Ok(Router::new().route("/hits", post(hit)).with_state(processes))
    })
}

fn shop(http: ChildSpec) -> Application {
    Application::new("shop", move || {
        Supervisor::one_for_one()
            .child(ChildSpec::worker("hits", Hits::default).name(Hits::NAME))
            .child(http.clone())
    })
    // Its end stops the node.
    .mode(Mode::Permanent)
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let server = server(address.parse()?);
    // From here on a signal does not end the program.
    let mut signals = Signals::new()?;
    let node = Node::builder("shop@localhost")
        .tokio(Handle::current())
        .application(shop(server.child("http")));
    // All applications run when the closure begins, and are stopped when it has returned.
    node.run_async(async |node| {
        let bound = server.bound().ok_or_else(|| Reason::error("it does not serve"))?;
        println!("serving on http://{bound}");
        tokio::select! {
            signal = signals.next() => {
                println!("{signal}: answering what was accepted");
                tokio::spawn(signals.exit_at_the_next());
                Ok(ExitCode::SUCCESS)
            }
            // The application has ended by itself: 0 if that was in order, else 1.
            stopped = node.stopped() => Ok(stopped?.exit_code()),
        }
    })
    .await
}
