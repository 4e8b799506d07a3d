//! `/livez`, `/readyz` and `/health`.

use crate::check::Health;
use crate::health::checks::CheckResult as Checked;
use crate::health::rounds::{CheckScope, round};
use crate::http::answer::{HttpAnswer, TEXT, answer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::shared::Shared;
use crate::time::ms;
use hyper::StatusCode;
use serde::Serialize;
use std::fmt::Write;
use std::sync::Arc;

#[derive(Serialize)]
pub(crate) struct HealthBody {
    status: &'static str,
    live: bool,
    ready: bool,
    stopping: bool,
    uptime_ms: f64,
    checks: Vec<CheckBody>,
}

#[derive(Serialize)]
struct CheckBody {
    name: String,
    live: bool,
    ready: bool,
    status: &'static str,
    message: Option<String>,
    took_ms: f64,
    age_ms: Option<f64>,
}

/// The status of a check and its message. One that has never answered is down.
fn status(checked: &Checked) -> (&'static str, Option<&str>) {
    match &checked.health {
        Some(Health::Ok) => ("ok", None),
        Some(Health::Degraded(message)) => ("degraded", Some(message)),
        Some(Health::Down(message)) => ("down", Some(message)),
        None => ("down", Some("it has not answered yet")),
    }
}

fn is_down(checked: &Checked) -> bool {
    status(checked).0 == "down"
}

fn code(works: bool) -> StatusCode {
    if works { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

/// `GET /livez`.
pub(crate) async fn live(shared: &Arc<Shared>, query: Option<&str>) -> Result<HttpAnswer, Refusal> {
    probe(shared, query, CheckScope::Live, "livez").await
}

/// `GET /readyz`.
pub(crate) async fn ready(
    shared: &Arc<Shared>,
    query: Option<&str>,
) -> Result<HttpAnswer, Refusal> {
    probe(shared, query, CheckScope::Ready, "readyz").await
}

async fn probe(
    shared: &Arc<Shared>,
    query: Option<&str>,
    scope: CheckScope,
    name: &str,
) -> Result<HttpAnswer, Refusal> {
    let verbose = Parameters::read(query, &["verbose"])?.flag("verbose")?;
    let checks = round(shared, scope).await;
    let stops = scope == CheckScope::Ready && shared.view.is_stopping();
    let works = !checks.iter().any(is_down) && !stops;
    let mut text = String::new();
    if verbose {
        for check in &checks {
            // Writing to a text cannot fail.
            let _ = match status(check) {
                ("ok", _) => writeln!(text, "[+] {} ok", line(&check.name)),
                (status, message) => {
                    let sign = if status == "down" { '-' } else { '~' };
                    let message = line(message.unwrap_or_default());
                    writeln!(text, "[{sign}] {} {status}: {message}", line(&check.name))
                }
            };
        }
        if stops {
            text.push_str("[-] node down: it is stopping\n");
        }
        let _ = writeln!(text, "{name} check {}", if works { "passed" } else { "failed" });
    } else {
        text.push_str(if works { "ok\n" } else { "down\n" });
    }
    Ok(answer(code(works), TEXT, text))
}

/// A text as one line.
fn line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// `GET /health`.
pub(crate) async fn health(
    shared: &Arc<Shared>,
    query: Option<&str>,
) -> Result<HttpAnswer, Refusal> {
    Parameters::read(query, &[])?;
    let body = body(shared).await;
    Ok(json(code(body.status != "down"), &body))
}

pub(crate) async fn body(shared: &Arc<Shared>) -> HealthBody {
    let checks = round(shared, CheckScope::All).await;
    let stopping = shared.view.is_stopping();
    let any = |status: &str| checks.iter().any(|check| self::status(check).0 == status);
    let overall = match (any("down"), any("degraded")) {
        (true, _) => "down",
        (false, true) => "degraded",
        (false, false) => "ok",
    };
    HealthBody {
        status: overall,
        live: !checks.iter().any(|check| check.live && is_down(check)),
        ready: !stopping && !checks.iter().any(|check| check.ready && is_down(check)),
        stopping,
        uptime_ms: ms(shared.uptime()),
        checks: checks.iter().map(check).collect(),
    }
}

fn check(checked: &Checked) -> CheckBody {
    let (status, message) = status(checked);
    CheckBody {
        name: checked.name.clone(),
        live: checked.live,
        ready: checked.ready,
        status,
        message: message.map(str::to_owned),
        took_ms: ms(checked.took),
        age_ms: checked.health.as_ref().map(|_| ms(checked.at.elapsed())),
    }
}
