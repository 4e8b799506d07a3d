//! `GET /metrics`.

use crate::http::answer::{HttpAnswer, answer as with_type};
use crate::http::parameters::Parameters;
use crate::http::refusal::{Code, Refusal};
use crate::metrics::exposition::{OPEN_METRICS, text};
use crate::metrics::families::families;
use crate::shared::Shared;
use hyper::StatusCode;

/// `GET /metrics`.
pub(crate) async fn answer(shared: &Shared, query: Option<&str>) -> Result<HttpAnswer, Refusal> {
    Parameters::read(query, &[])?;
    let picture = shared.picture().await?;
    // Before the families of the observer: they say what is missing.
    let program = shared.program_metrics.text(shared.limits.collect).await;
    let text = text(families(shared, &picture), &program);
    let text = text.map_err(|_| Refusal::new(Code::Timeout, "the metrics have no text"))?;
    Ok(with_type(StatusCode::OK, OPEN_METRICS, text))
}
