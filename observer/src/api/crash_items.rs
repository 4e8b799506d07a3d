//! Crashes: as items of a list, and one with all that is known of it.

use crate::api::decision::what;
use crate::api::recipe::recipe;
use crate::api::recorded_items::items;
use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::{Code, Refusal};
use crate::http::route::PathNumber;
use crate::shared::Shared;
use crate::time::{ms, readable, rfc3339};
use hyper::StatusCode;
use krarup_gen::{Aftermath, CrashCauseKind, CrashReport, Pid, ProcessKind, Recorded};
use serde_json::{Value, json as value};
use std::fmt::Write;

/// The most links of an answer.
const LINKS: usize = 256;

/// A crash as an item of a list.
pub(crate) fn item(shared: &Shared, recorded: &Recorded<CrashReport>) -> Value {
    Story::of(shared, recorded).item(shared)
}

/// `GET /api/v1/crashes/{seq}`.
pub(crate) fn answer(
    shared: &Shared,
    seq: PathNumber,
    query: Option<&str>,
) -> Result<HttpAnswer, Refusal> {
    Parameters::read(query, &[])?;
    let missing = || Refusal::new(Code::NoEntry, "the ring has no crash of this number");
    let seq = seq.ok().filter(|seq| *seq > 0).ok_or_else(missing)?;
    let page = shared.view.crashes(seq - 1, 1);
    let recorded = page.items.into_iter().find(|it| it.seq == seq).ok_or_else(missing)?;
    Ok(json(StatusCode::OK, &Story::of(shared, &recorded).whole(shared)))
}

/// The newest crashes with all that is known of them, the newest first.
pub(crate) fn newest(shared: &Shared, most: usize) -> impl Iterator<Item = Value> {
    let next = shared.view.crashes(u64::MAX, 1).next_seq;
    let after = next.saturating_sub(1).saturating_sub(most as u64);
    let items = shared.view.crashes(after, most).items;
    items.into_iter().rev().map(|recorded| Story::of(shared, &recorded).whole(shared))
}

/// A crash and what was decided about it.
struct Story<'a> {
    recorded: &'a Recorded<CrashReport>,
    aftermath: Aftermath,
}

impl<'a> Story<'a> {
    fn of(shared: &Shared, recorded: &'a Recorded<CrashReport>) -> Self {
        Story { recorded, aftermath: shared.view.aftermath(recorded.item.pid) }
    }

    fn report(&self) -> &CrashReport {
        &self.recorded.item
    }

    /// The supervisor or the pool that it belonged to: as decisions tell, or as its parent is.
    fn watched_by(&self) -> Value {
        let parent = self.report().ancestors.first();
        let watches = |kind| matches!(kind, ProcessKind::Supervisor | ProcessKind::Pool);
        let parent = parent.filter(|parent| watches(parent.kind));
        let told = self
            .aftermath
            .watched_by
            .map(|(pid, kind)| (pid, kind, &self.aftermath.watched_by_name));
        let known = told.or_else(|| parent.map(|parent| (parent.pid, parent.kind, &parent.name)));
        known.map_or(Value::Null, |(pid, kind, name)| {
            value!({
                "pid": pid.to_string(),
                "name": name.as_ref().map(ToString::to_string),
                "kind": kind.to_string(),
            })
        })
    }

    fn item(&self, shared: &Shared) -> Value {
        let report = self.report();
        value!({
            "seq": self.recorded.seq,
            "at": rfc3339(shared.moment(self.recorded.at)),
            "pid": report.pid.to_string(),
            "name": report.name.as_ref().map(ToString::to_string),
            "label": report.label.as_ref().map(ToString::to_string),
            "behavior": report.behavior.to_string(),
            "kind": report.reason.kind.as_str(),
            "reason": report.reason.text,
            "watched_by": self.watched_by(),
            "replaced_by": self.aftermath.replaced_by.map(|pid| pid.to_string()),
        })
    }

    fn whole(&self, shared: &Shared) -> Value {
        let report = self.report();
        let chain = report.cause.chain.iter().map(|link| {
            value!({
                "pid": link.pid.to_string(),
                "name": link.name.as_ref().map(ToString::to_string),
                "reason": link.reason.text,
            })
        });
        let named = |pid: &Pid| {
            let name = shared.view.process_info(*pid).and_then(|info| info.name);
            value!({ "pid": pid.to_string(), "name": name.map(|name| name.to_string()) })
        };
        let ancestors = report.ancestors.iter().map(|ancestor| {
            value!({
                "pid": ancestor.pid.to_string(),
                "name": ancestor.name.as_ref().map(ToString::to_string),
                "behavior": ancestor.behavior.to_string(),
            })
        });
        let panic = report.reason.panic.as_ref();
        let panic =
            panic.map(|(message, location)| value!({ "message": message, "location": location }));
        let in_hand = report.in_hand.map(|item| {
            value!({
                "kind": item.kind.as_str(),
                "type": item.type_name,
                "sender": item.sender.map(|sender| sender.to_string()),
                "text": report.in_hand_text,
            })
        });
        let decision = self.aftermath.decision.as_ref().map(|event| {
            let (intensity, period) = event.intensity.unzip();
            value!({
                "what": what(event.what),
                "strategy": event.strategy,
                "intensity": intensity,
                "period_ms": period.map(ms),
                "count": event.count,
            })
        });
        let more = value!({
            "cause": {
                "kind": report.cause.kind.as_str(),
                "by": report.cause.by.map(|by| by.to_string()),
                "chain": chain.collect::<Vec<_>>(),
            },
            "panic": panic,
            "in_hand": in_hand,
            "recorded": items(&report.recorded),
            "lanes": { "urgent": report.urgent, "system": report.system, "main": report.main },
            "letters_lost": report.letters_lost,
            "handled": report.messages.handled,
            "uptime_ms": ms(report.uptime),
            "running_ms": ms(report.running_time),
            "dispatcher": report.dispatcher,
            "ancestors": ancestors.collect::<Vec<_>>(),
            "links": report.links.iter().take(LINKS).map(named).collect::<Vec<_>>(),
            "decision": decision,
            "explanation": self.explanation(),
            "recipe": recipe(report),
        });
        let mut whole = self.item(shared);
        if let (Value::Object(whole), Value::Object(more)) = (&mut whole, more) {
            whole.extend(more);
        }
        whole
    }

    /// One paragraph, from the first cause to the successor.
    fn explanation(&self) -> String {
        let report = self.report();
        let mut text = match &report.name {
            Some(name) => format!("{name} ({}, {})", report.pid, report.behavior),
            None => format!("{} {}", report.behavior, report.pid),
        };
        // Writing to a text cannot fail.
        let _ = write!(text, " ended after {}: {}.", readable(report.uptime), report.reason.text);
        if let Some((_, Some(location))) = &report.reason.panic {
            let _ = write!(text, " It panicked at {location}.");
        }
        if let Some(item) = &report.in_hand {
            let kind = item.type_name.unwrap_or(item.kind.as_str());
            let from = item.sender.map_or_else(String::new, |sender| format!(" from {sender}"));
            let _ = write!(text, " It was handling {kind}{from}.");
        }
        let by = report.cause.by.map_or_else(|| "outside".to_owned(), |by| by.to_string());
        let _ = match report.cause.kind {
            CrashCauseKind::Link => write!(text, " It came over the link with {by}."),
            CrashCauseKind::Signal => write!(text, " An exit signal from {by} ended it."),
            CrashCauseKind::Parent => write!(text, " Its parent {by} ended it."),
            CrashCauseKind::Kill => write!(text, " A kill from {by} ended it."),
            _ => Ok(()),
        };
        if let Some(first) = report.cause.chain.last() {
            let who =
                first.name.as_ref().map_or_else(|| first.pid.to_string(), ToString::to_string);
            let _ = write!(text, " The first to end was {who}: {}.", first.reason.text);
        }
        if let Some(event) = &self.aftermath.decision {
            let who =
                event.by_name.as_ref().map_or_else(|| event.by.to_string(), ToString::to_string);
            let _ = write!(text, " The {} {who} decided: {}", event.by_kind, what(event.what));
            if let Some((intensity, period)) = event.intensity {
                let (count, period) = (event.count, readable(period));
                let _ = write!(text, ", restart {count} of at most {intensity} in {period}");
            }
            text.push('.');
        } else if report.ancestors.first().is_none_or(|parent| parent.kind == ProcessKind::Process)
        {
            text.push_str(" No supervisor watches it.");
        }
        if let Some(successor) = self.aftermath.replaced_by {
            let _ = write!(text, " {successor} came in its place.");
        }
        text
    }
}
