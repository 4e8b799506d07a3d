//! From a request that was let in to its answer.

use crate::actions::act;
use crate::api;
use crate::assets;
use crate::health::probes;
use crate::http::answer::{HttpAnswer, JSON, answer};
use crate::http::parameters::Parameters;
use crate::http::refusal::{Code, Refusal};
use crate::http::route::ObserverRoute;
use crate::metrics::scrape;
use crate::record_turns::record_turns;
use crate::shared::Shared;
use crate::stream;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// A request that was let in.
pub(crate) struct RouteRequest {
    pub(crate) route: ObserverRoute,
    /// Whether it is to do something, not to read.
    pub(crate) acts: bool,
    pub(crate) head: Parts,
    pub(crate) body: Result<Vec<u8>, Refusal>,
    pub(crate) peer: IpAddr,
    /// Turns to true when the server stops.
    pub(crate) stop: watch::Receiver<bool>,
}

/// Answers a request that was let in.
pub(crate) async fn respond(
    shared: &Arc<Shared>,
    request: RouteRequest,
) -> Result<HttpAnswer, Refusal> {
    let RouteRequest { route, acts, head: parts, body, peer, stop } = request;
    let query = parts.uri.query();
    match route {
        ObserverRoute::Page => {
            Parameters::read(query, &[])?;
            Ok(assets::page())
        }
        ObserverRoute::Asset(name) => {
            Parameters::read(query, &[])?;
            let asset = assets::asset(&name, &parts.headers);
            asset.ok_or_else(|| Refusal::new(Code::NoRoute, "there is no such file"))
        }
        ObserverRoute::Node => api::node::answer(shared, query).await,
        ObserverRoute::Processes => api::processes::answer(shared, query).await,
        ObserverRoute::Process(id) => api::detail::answer(shared, id, query).await,
        ObserverRoute::Metrics => scrape::answer(shared, query).await,
        ObserverRoute::Live => probes::live(shared, query).await,
        ObserverRoute::Ready => probes::ready(shared, query).await,
        ObserverRoute::Health => probes::health(shared, query).await,
        ObserverRoute::Inspect(id) => api::inspect::answer(shared, id, query).await,
        ObserverRoute::Tree => api::tree::answer(shared, query).await,
        ObserverRoute::Waits => api::waits::answer(shared, query).await,
        ObserverRoute::Pools => api::pools::answer(shared, query).await,
        ObserverRoute::Cluster => api::cluster::answer(shared, query).await,
        ObserverRoute::Findings => api::findings::answer(shared, query).await,
        ObserverRoute::Flow => api::flow::answer(shared, query).await,
        ObserverRoute::Turns if acts => {
            let body = read_action(body, query);
            record_turns(shared, peer, body)
        }
        ObserverRoute::State(id) => api::inspect::state(shared, id, query).await,
        ObserverRoute::Snapshot => api::snapshot::answer(shared, query).await,
        ObserverRoute::Recording(number) => {
            Parameters::read(query, &[])?;
            let events = shared.recordings.events(number).await?;
            Ok(answer(StatusCode::OK, JSON, events))
        }
        ObserverRoute::TraceOf(number) => api::recorded_items::answer(shared, number, query),
        ObserverRoute::Turns => api::turns::answer(shared, query).await,
        ObserverRoute::Act(id, action) => {
            let body = read_action(body, query);
            act(shared, peer, id, action, body).await
        }
        ObserverRoute::Ring(ring) => api::rings::answer(shared, ring, query),
        ObserverRoute::Crash(seq) => api::crash_items::answer(shared, seq, query),
        ObserverRoute::Mcp => Err(Refusal::new(Code::NoRoute, "there is no such route")),
        ObserverRoute::Stream => stream::open(shared, query, parts.method == Method::GET, stop),
    }
}

/// The body of an action, which has no parameters.
fn read_action(body: Result<Vec<u8>, Refusal>, query: Option<&str>) -> Result<Vec<u8>, Refusal> {
    let body = body?;
    Parameters::read(query, &[])?;
    Ok(body)
}
