//! The demonstration: runs the service under load, shows its state, and checks the counts
//! at the end.

use crate::flags::Options;
use crate::load::{Answers, Load};
use crate::view::{Frame, View};
use hdrhistogram::Histogram;
use krarup::prelude::*;
use serde_json::Value;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long the load runs before the service is stopped under it.
const UNDER_LOAD: Duration = Duration::from_millis(700);
/// How long the service may take, after the load, until its last worker has been replaced.
const RECOVERY: Duration = Duration::from_secs(2);

/// Puts the service under load until `ended` is ready, then prints a summary. Returns
/// whether all checks passed.
pub(crate) async fn run(
    address: SocketAddr,
    options: &Options,
    length: Duration,
    ended: impl Future<Output = ()>,
) -> bool {
    let mut view = View::new();
    let mut load = Load::start(address, options);
    let began = Instant::now();
    let mut ended = pin!(ended);
    let mut last = (began, 0);
    loop {
        tokio::select! {
            () = &mut ended => break,
            () = sleep(view.period()) => {}
        }
        let health = load.look("/health").await.map_or(Value::Null, |(_, health)| health);
        let (now, answers) = (Instant::now(), load.answers());
        let answered = answers.answered();
        let rate = per_second(answered - last.1, now - last.0);
        last = (now, answered);
        view.show(&Frame {
            time: (now - began, length),
            rate,
            answers,
            latency: quantiles(&load.recent()),
            workers: (number(&health, "workers", "live"), number(&health, "workers", "configured")),
            restarts: number(&health, "workers", "restarts"),
            waiting: number(&health, "workers", "waiting"),
        });
    }
    load.stop().await;
    let took = began.elapsed();
    let health = recovered(&load).await;
    let faults = faults(&load.answers(), &health);
    let summary = summary(&load, &health, took, &faults);
    // Standard output may be closed by now; the exit code carries the result too.
    let _ = io::stdout().write_all(summary.as_bytes());
    faults.is_empty()
}

/// Stops the node under load, as a signal would. The server answers every request that it
/// has accepted, with all the processes that it needs for that. Returns whether it did.
pub(crate) async fn drain(
    node: &Node,
    address: SocketAddr,
    options: &Options,
    limit: Duration,
) -> bool {
    let mut load = Load::start(address, options);
    sleep(UNDER_LOAD).await;
    let before = load.answers().answered();
    let stopped = node.stop().timeout(limit).await;
    load.stop().await;
    let answers = load.answers();
    let Answers { closed, lost, strange, .. } = answers;
    let well = stopped.is_ok() && lost == 0 && strange == 0;
    let verdict = if well { "drained" } else { "NOT WELL" };
    let why = answers.why_lost.as_deref().unwrap_or("-");
    let summary = format!(
        "stopped under load: {} requests answered before, {} while it stopped, {closed} came too \
         late to be accepted; {lost} lost (the last: {why}), {strange} strange: {verdict}\n",
        before,
        answers.answered() - before,
    );
    let _ = io::stdout().write_all(summary.as_bytes());
    well
}

/// Returns the health of the service once its last worker has been replaced, or after
/// `RECOVERY` at the latest.
async fn recovered(load: &Load) -> Value {
    let until = Instant::now() + RECOVERY;
    loop {
        let health = load.look("/health").await.map_or(Value::Null, |(_, health)| health);
        if health["status"] == "ok" || Instant::now() >= until {
            return health;
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Returns what is wrong: with the answers, with the tree, or where the counts of the
/// clients and of the processes differ.
fn faults(answers: &Answers, health: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut check = |ok: bool, fault: String| {
        if !ok {
            faults.push(fault);
        }
    };
    let why = answers.why_lost.as_deref().unwrap_or("-");
    let lost = answers.lost + answers.closed;
    check(lost == 0, format!("{lost} requests were lost; the last: {why}"));
    check(answers.strange == 0, format!("{} answers were strange", answers.strange));
    check(health["status"] == "ok", format!("the service is not well: {health}"));
    let JobTotals { forwarded, unhandled, sent, again, restarts } = JobTotals::of(health);
    check(
        forwarded + unhandled == sent,
        format!("the pool counts {forwarded} + {unhandled} jobs, it was given {sent}"),
    );
    check(
        sent - sent.min(again) == answers.answered(),
        format!("{sent} jobs, {again} of them again, make not {} answers", answers.answered()),
    );
    check(
        restarts == answers.crashed,
        format!("{} crashes, but {restarts} workers replaced", answers.crashed),
    );
    faults
}

/// The counts of the processes.
struct JobTotals {
    forwarded: u64,
    unhandled: u64,
    sent: u64,
    again: u64,
    restarts: u64,
}

impl JobTotals {
    fn of(health: &Value) -> Self {
        JobTotals {
            forwarded: number(health, "workers", "messages_forwarded"),
            unhandled: number(health, "workers", "messages_unhandled"),
            sent: number(health, "jobs", "sent"),
            again: number(health, "jobs", "sent_again"),
            restarts: number(health, "workers", "restarts"),
        }
    }
}

fn summary(load: &Load, health: &Value, took: Duration, faults: &[String]) -> String {
    let answers = load.answers();
    let Answers { counted, crashed, refused, limited, late, lost, .. } = answers;
    let latency = load.latency();
    let (half, most) = quantiles(&latency);
    let JobTotals { forwarded, unhandled, again, restarts, .. } = JobTotals::of(health);
    let rate = per_second(answers.answered(), took);
    let mut text = format!(
        "\n{} requests in {:.1} s, {rate} in a second: {counted} counted, {crashed} crashed \
         their worker, {refused} turned away by a full pool, {limited} beyond its rate, {late} too late, {lost} lost\n\
         latency of quick texts: p50 {half:.1?}, p99 {most:.1?}, at most {:.1?}\n\
         {restarts} workers replaced; {again} jobs that waited at a crashed worker, or met one, \
         went to another\n\
         the pool took {forwarded} jobs and refused {unhandled}\n",
        answers.answered() + lost,
        took.as_secs_f64(),
        Duration::from_micros(latency.max()),
    );
    match faults {
        [] => text.push_str("nothing lost, nobody else noticed: all is well\n"),
        faults => faults.iter().for_each(|fault| {
            text.push_str("NOT WELL: ");
            text.push_str(fault);
            text.push('\n');
        }),
    }
    text
}

/// The median and the 99th percentile.
fn quantiles(micros: &Histogram<u64>) -> (Duration, Duration) {
    let at = |quantile| Duration::from_micros(micros.value_at_quantile(quantile));
    (at(0.5), at(0.99))
}

fn per_second(count: u64, time: Duration) -> u64 {
    let rate = u128::from(count) * 1_000_000 / time.as_micros().max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

fn number(health: &Value, part: &str, item: &str) -> u64 {
    health[part][item].as_u64().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rate_is_per_second_and_a_zero_duration_is_no_error() {
        assert_eq!(per_second(10, Duration::from_millis(500)), 20);
        assert_eq!(per_second(3, Duration::from_secs(2)), 1);
        assert_eq!(per_second(1, Duration::ZERO), 1_000_000);
        assert_eq!(per_second(u64::MAX, Duration::ZERO), u64::MAX);
    }

    fn health(restarts: u64, sent: u64) -> Value {
        let workers =
            json!({ "messages_forwarded": 8, "messages_unhandled": 2, "restarts": restarts });
        json!({ "status": "ok", "workers": workers, "jobs": { "sent": sent, "sent_again": 1 } })
    }

    #[test]
    fn a_demonstration_passes_only_if_its_counts_agree() {
        let well = Answers { counted: 6, crashed: 1, refused: 2, ..Answers::default() };
        assert_eq!(faults(&well, &health(1, 10)), Vec::<String>::new());
        let count = |answers: &Answers, health: &Value| faults(answers, health).len();
        // A job that the pool does not know of also means one answer too few.
        assert_eq!(count(&well, &health(1, 11)), 2);
        assert_eq!(count(&well, &health(2, 10)), 1);
        assert_eq!(count(&Answers { lost: 1, ..well.clone() }, &health(1, 10)), 1);
        assert_eq!(count(&Answers { closed: 1, ..well.clone() }, &health(1, 10)), 1);
        assert_eq!(count(&Answers { counted: 5, strange: 1, ..well.clone() }, &health(1, 10)), 1);
        assert_eq!(count(&Answers { late: 1, ..well.clone() }, &health(1, 10)), 1);
        assert_eq!(count(&Answers { limited: 1, ..well.clone() }, &health(1, 10)), 1);
        let mut ill = health(1, 10);
        ill["status"] = json!("degraded");
        assert_eq!(count(&well, &ill), 1);
    }
}
