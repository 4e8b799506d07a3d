//! Reading a text from a request: bounded in length and in time.

use crate::answer::Failure;
use axum::body::Body;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use std::time::Duration;

/// The longest body that is taken: 1 MiB.
const LIMIT: usize = 1 << 20;
/// How long a body may take to come.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much of a body that is too long is read and thrown away. A client that is still
/// sending when the connection is closed may never see why; this much it may send.
const DISCARDED: usize = 16 << 20;

/// The body as a text.
pub(crate) async fn text(headers: &HeaderMap, body: Body) -> Result<String, Failure> {
    let read = tokio::time::timeout(PATIENCE, bytes(headers, body)).await;
    let bytes = read.map_err(|_| Failure::TooSlow(PATIENCE))??;
    String::from_utf8(bytes).map_err(|error| Failure::NotUtf8(error.utf8_error().valid_up_to()))
}

async fn bytes(headers: &HeaderMap, mut body: Body) -> Result<Vec<u8>, Failure> {
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let too_long = declared.is_some_and(|length| length > LIMIT as u64);
    if too_long && headers.contains_key(header::EXPECT) {
        // It has asked before sending.
        return Err(Failure::TooLong(LIMIT));
    }
    let mut bytes = Vec::new();
    let mut seen = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Failure::Broken(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        seen += data.len();
        if seen > DISCARDED {
            break;
        }
        if seen > LIMIT || too_long {
            bytes = Vec::new();
        } else {
            bytes.extend_from_slice(&data);
        }
    }
    if seen > LIMIT || too_long { Err(Failure::TooLong(LIMIT)) } else { Ok(bytes) }
}
