//! A request from its arrival to its answer: the guard, the body, the route, the count.

use crate::actions::record;
use crate::http::access::Door;
use crate::http::answer::{Content, HttpAnswer, refused};
use crate::http::body;
use crate::http::connection::{HttpRequest, Routes};
use crate::http::guard::{Admitted, admit};
use crate::http::refusal::{Code, Refusal};
use crate::http::route::{OTHER, ObserverRoute};
use crate::record_turns::RECORD_TURNS;
use crate::routes::{RouteRequest, respond};
use crate::shared::Shared;
use crate::tally::Held;
use hyper::Method;
use serde_json::Map;
use std::sync::Arc;

impl Routes for Shared {
    async fn answer(self: Arc<Self>, received: HttpRequest) -> HttpAnswer {
        let mut pattern = OTHER;
        let outcome = work(&self, received, &mut pattern).await;
        let outcome = outcome.and_then(|answer| bounded(&self, answer));
        let answer = outcome.unwrap_or_else(|refusal| {
            self.tally.refused(refusal.code);
            refused(&refusal)
        });
        self.tally.answered(pattern, answer.status().as_u16());
        answer
    }
}

async fn work(
    shared: &Arc<Shared>,
    received: HttpRequest,
    pattern: &mut usize,
) -> Result<HttpAnswer, Refusal> {
    let HttpRequest { request, door, flawed, peer, stop } = received;
    let mut place = Some(take_place(shared, door)?);
    let (head, body) = request.into_parts();
    let admitted = admit(&shared.access, door, &head, flawed);
    let Admitted { route, acts } = admitted.map_err(|(refusal, route)| {
        *pattern = route.as_ref().map_or(OTHER, ObserverRoute::pattern);
        let code = Some(refusal.code);
        match route {
            Some(ObserverRoute::Act(id, action)) if head.method == Method::POST => {
                record(shared, peer, action.text(), id.ok(), Map::new(), code);
            }
            Some(ObserverRoute::Turns) if head.method == Method::POST => {
                record(shared, peer, RECORD_TURNS, None, Map::new(), code);
            }
            _ => {}
        }
        refusal
    })?;
    *pattern = route.pattern();
    let mut read = Ok(Vec::new());
    if head.method == Method::POST {
        // A body that comes slowly holds no place.
        drop(place.take());
        read = body::read(body, shared.limits.body).await;
        match take_place(shared, door) {
            Ok(taken) => place = Some(taken),
            Err(busy) => read = read.and(Err(busy)),
        }
    }
    let request = RouteRequest { route, acts, head, body: read, peer, stop };
    let answer = match request.route {
        #[cfg(feature = "mcp")]
        ObserverRoute::Mcp => crate::mcp::server::answer(shared, request).await,
        _ => respond(shared, request).await,
    };
    drop(place);
    answer
}

/// An answer that counts among those that clients have not taken yet.
fn bounded(shared: &Shared, mut answer: HttpAnswer) -> Result<HttpAnswer, Refusal> {
    if let Content::Whole(Some(body)) = answer.body_mut() {
        let most = shared.limits.unsent;
        let kept = shared.tally.unsent.keep(std::mem::take(body), most);
        *body = kept.ok_or_else(|| {
            let message = format!("more than {most} bytes of answers wait for their readers");
            Refusal::new(Code::Busy, message)
        })?;
    }
    Ok(answer)
}

/// A place among the requests in work at a door.
fn take_place(shared: &Shared, door: Door) -> Result<Held<'_>, Refusal> {
    let most = shared.limits.requests;
    let places = Held::take(shared.tally.working(door), most);
    places.ok_or_else(|| Refusal::new(Code::Busy, format!("{most} requests are in work")))
}
