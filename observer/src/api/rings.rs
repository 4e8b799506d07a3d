//! The rings: what has happened, the newest of each kind.

use crate::api::crash_items;
use crate::api::decision::what;
use crate::event_ring::{After, Page};
use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::http::route::RingName;
use crate::shared::Shared;
use crate::time::rfc3339;
use hyper::StatusCode;
use krarup_gen::{
    DeadLetter, DeadLetterCause, DeadlockRecord, Recorded, RecordedPage, SupervisionEvent,
};
use serde::Serialize;
use serde_json::{Value, json as value};

/// A page of a ring.
#[derive(Serialize)]
pub(crate) struct RingBody {
    first_seq: u64,
    pub(crate) next_seq: u64,
    pub(crate) lost: u64,
    pub(crate) items: Vec<Value>,
}

/// `GET` of a ring.
pub(crate) fn answer(
    shared: &Shared,
    ring: RingName,
    query: Option<&str>,
) -> Result<HttpAnswer, Refusal> {
    let mut known = vec!["after", "limit"];
    if ring == RingName::Logs {
        known.extend(["pid", "level"]);
    }
    let all = Parameters::read(query, &known)?;
    let after = match all.text("after") {
        Some("-1") => After::Newest,
        _ => {
            let number = all.number("after", 0..=u64::MAX, 0);
            // The number before the first that is counted stands for the newest.
            let expected = format!("a whole number from -1 to {}", u64::MAX);
            After::Number(number.map_err(|_| all.bad("after", &expected))?)
        }
    };
    let limit = usize::try_from(all.number("limit", 1..=500, 50)?).unwrap_or(500);
    let pid = all.some_number("pid", 0..=u64::MAX)?;
    let level = all.one_of("level", &crate::logs::LEVELS)?;
    let body = match ring {
        RingName::Logs => logs(shared, after, limit, pid, level),
        ring => body(shared, ring, after, limit),
    };
    Ok(json(StatusCode::OK, &body))
}

/// A page of a ring.
pub(crate) fn body(shared: &Shared, ring: RingName, after: After, limit: usize) -> RingBody {
    let view = &shared.view;
    match ring {
        RingName::Crashes => {
            let after = after.number(view.crashes(u64::MAX, 1).next_seq, limit);
            of(&view.crashes(after, limit), |it| crash_items::item(shared, it))
        }
        RingName::Restarts => {
            let after = after.number(view.restarts(u64::MAX, 1).next_seq, limit);
            of(&view.restarts(after, limit), |it| restart(shared, it))
        }
        RingName::DeadLetters => {
            let after = after.number(view.dead_letters(u64::MAX, 1).next_seq, limit);
            of(&view.dead_letters(after, limit), |it| dead_letter(shared, it))
        }
        RingName::Deadlocks => {
            let after = after.number(view.deadlocks(u64::MAX, 1).next_seq, limit);
            of(&view.deadlocks(after, limit), |it| deadlock(shared, it))
        }
        RingName::Actions => {
            let page = shared.actions.page(after, limit, |_| true);
            own(&page, |seq, action| action.item(seq))
        }
        RingName::Logs => logs(shared, after, limit, None, None),
    }
}

fn logs(
    shared: &Shared,
    after: After,
    limit: usize,
    pid: Option<u64>,
    level: Option<&str>,
) -> RingBody {
    let Some(logs) = &shared.logs else {
        return RingBody { first_seq: 1, next_seq: 1, lost: 0, items: Vec::new() };
    };
    let rank = |level: &str| crate::logs::LEVELS.iter().position(|known| *known == level);
    let worst = level.and_then(rank).unwrap_or(usize::MAX);
    let page = logs.page(after, limit, |event| {
        rank(event.level).is_some_and(|rank| rank <= worst)
            && pid.is_none_or(|pid| event.pid.is_some_and(|it| it.id() == pid))
    });
    own(&page, |seq, event| event.item(seq))
}

fn of<T>(page: &RecordedPage<T>, item: impl Fn(&Recorded<T>) -> Value) -> RingBody {
    let items = page.items.iter().map(item).collect();
    RingBody { first_seq: page.first_seq, next_seq: page.next_seq, lost: page.lost, items }
}

fn own<T>(page: &Page<T>, item: impl Fn(u64, &T) -> Value) -> RingBody {
    let items = page.items.iter().map(|(seq, event)| item(*seq, event)).collect();
    RingBody { first_seq: page.first_seq, next_seq: page.next_seq, lost: page.lost, items }
}

fn restart(shared: &Shared, recorded: &Recorded<SupervisionEvent>) -> Value {
    let event = &*recorded.item;
    value!({
        "seq": recorded.seq,
        "at": rfc3339(shared.moment(recorded.at)),
        "by": {
            "pid": event.by.to_string(),
            "name": event.by_name.as_ref().map(ToString::to_string),
            "kind": event.by_kind.to_string(),
        },
        "child": event.child,
        "what": what(event.what),
        "pid": event.pid.map(|pid| pid.to_string()),
        "reason": event.reason.as_ref().map(|reason| reason.text.clone()),
        "count": event.count,
        "crash": event.crash,
    })
}

/// The cause of a dead letter, as answers name it.
fn cause(cause: DeadLetterCause) -> &'static str {
    match cause {
        // It was accepted, and no process could handle it.
        DeadLetterCause::Undecodable => "unhandled",
        cause => cause.as_str(),
    }
}

fn dead_letter(shared: &Shared, recorded: &Recorded<DeadLetter>) -> Value {
    let letter = &*recorded.item;
    value!({
        "seq": recorded.seq,
        "at": rfc3339(shared.moment(recorded.at)),
        "to": letter.to.to_string(),
        "from": letter.from.map(|from| from.to_string()),
        "node": letter.node.as_ref().map(ToString::to_string),
        "message": letter.message,
        "cause": cause(letter.cause),
    })
}

fn deadlock(shared: &Shared, recorded: &Recorded<DeadlockRecord>) -> Value {
    let deadlock = &*recorded.item;
    let pids = deadlock.cycle.pids().iter();
    let names = deadlock.names.iter().map(|name| name.as_ref().map(ToString::to_string));
    value!({
        "seq": recorded.seq,
        "at": rfc3339(shared.moment(recorded.at)),
        "pids": pids.map(ToString::to_string).collect::<Vec<_>>(),
        "names": names.collect::<Vec<_>>(),
    })
}
