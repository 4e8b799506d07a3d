//! The routes.

use crate::answer::Failure;
use crate::gateway::Gateway;
use crate::{body, health, query};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The longest delay that a client can ask for, in milliseconds.
const LONGEST_DELAY: u64 = 60_000;
/// The most words that a client can ask for.
const MOST_WORDS: u64 = 1000;

/// The service.
pub(crate) fn routes(gateway: Arc<Gateway>) -> Router {
    Router::new()
        .route("/words", post(words))
        .route("/top", get(top))
        .route("/health", get(health::health))
        .route("/tree", get(health::tree))
        .fallback(async |uri: Uri| Failure::NotFound(uri.to_string()))
        .method_not_allowed_fallback(async |method: Method, uri: Uri| {
            Failure::Method(method, uri.path().to_owned())
        })
        .with_state(gateway)
}

async fn words(
    State(gateway): State<Arc<Gateway>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    let delay = query::number(&uri, "delay_ms", 0..=LONGEST_DELAY, 0)?;
    let text = body::text(&headers, body).await?;
    let counted = gateway.count(text, Duration::from_millis(delay)).await?;
    let answer = json!({
        "words": counted.words,
        "distinct": counted.distinct,
        "worker": counted.worker.to_string(),
    });
    Ok(Json(answer).into_response())
}

async fn top(State(gateway): State<Arc<Gateway>>, uri: Uri) -> Result<Response, Failure> {
    let n = query::number(&uri, "n", 1..=MOST_WORDS, 20)?;
    let top = gateway.top(usize::try_from(n).unwrap_or(usize::MAX)).await?;
    let words = top.most.iter().map(|(word, count)| json!({ "word": word, "count": count }));
    let answer = json!({
        "texts": top.texts,
        "words": top.words,
        "too_low_by_at_most": top.uncertainty,
        "top": words.collect::<Vec<_>>(),
    });
    Ok(Json(answer).into_response())
}
