//! HTTP: the words of a text are counted by one of four at a time; 256 requests may wait, and more are
//! refused with 503.

use super::{HTTP, node_on, runtime, with_axum};
use crate::failure::PeerFailure;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use krarup::pool::Pool;
use krarup::{Actor, CallError, Context, Reason, Recipient, Reply, Result};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Semaphore;

const AT_ONCE: usize = 4;
const WAITING: usize = 64;

type Answer = (StatusCode, String);

fn counted(text: &str) -> String {
    let mut words: HashMap<&str, u32> = HashMap::new();
    let mut all = 0;
    for word in text.split_whitespace() {
        *words.entry(word).or_default() += 1;
        all += 1;
    }
    format!(r#"{{"words":{all},"distinct":{}}}"#, words.len())
}

fn refused() -> Answer {
    (StatusCode::SERVICE_UNAVAILABLE, r#"{"error":"busy"}"#.to_owned())
}

struct Count(String, Reply<String>);

struct WordCounter;

impl Actor for WordCounter {
    type Message = Count;

    async fn handle_message(
        &mut self,
        _: &mut Context<Count>,
        Count(text, reply): Count,
    ) -> Result {
        reply.send(counted(&text));
        Ok(())
    }
}

pub(super) fn krarup() -> Result<(), PeerFailure> {
    let runtime = runtime()?;
    let node = node_on(&runtime, "words@localhost")?;
    let pool = node.spawn(|| Pool::new(AT_ONCE, || WordCounter).mailbox(WAITING)).dispatcher(HTTP);
    let pool = pool.wait().map_err(Reason::from)?.recipient();
    let words = async |State(pool): State<Recipient<Count>>, text: String| -> Answer {
        match pool.call(|reply| Count(text, reply)).await {
            Ok(counted) => (StatusCode::OK, counted),
            Err(CallError::Full { .. }) => refused(),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    };
    with_axum(&runtime, Router::new().route("/words", post(words)).with_state(pool))
}

struct WordLimits {
    taken: Semaphore,
    at_once: Semaphore,
}

pub(super) fn axum_alone() -> Result<(), PeerFailure> {
    let limits = WordLimits {
        taken: Semaphore::new(AT_ONCE * (WAITING + 1)),
        at_once: Semaphore::new(AT_ONCE),
    };
    let words = async |State(limits): State<Arc<WordLimits>>, text: String| -> Answer {
        let Ok(_taken) = limits.taken.try_acquire() else { return refused() };
        let Ok(_turn) = limits.at_once.acquire().await else { return refused() };
        (StatusCode::OK, counted(&text))
    };
    with_axum(&runtime()?, Router::new().route("/words", post(words)).with_state(Arc::new(limits)))
}
