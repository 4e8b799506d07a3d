//! What may be done to a process, with the action token. Each attempt is recorded.

use crate::attempt::Attempt;
use crate::http::answer::{HttpAnswer, json};
use crate::http::body::BodyFields;
use crate::http::refusal::{Code, Refusal};
use crate::http::route::{PathNumber, ProcessAction};
use crate::management::manage;
use crate::observer_tree::belongs_to_observer;
use crate::shared::Shared;
use crate::suspensions::Suspend;
use crate::time::{readable, rfc3339};
use hyper::StatusCode;
use krarup_gen::{DebugError, Management, Pid, Reason, RecordedItem, TraceLimits};
use serde_json::{Map, Value, json as value};
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// How long a process has to be suspended.
const PATIENCE: Duration = Duration::from_secs(5);

/// Records an attempt, in the ring and in the log.
pub(crate) fn record(
    shared: &Shared,
    peer: IpAddr,
    action: &'static str,
    id: Option<u64>,
    arguments: Map<String, Value>,
    code: Option<Code>,
) {
    let outcome = match code {
        None => "done",
        Some(Code::Timeout | Code::NotOffered | Code::NotSuspended | Code::NoProcess) => "failed",
        Some(_) => "refused",
    };
    let code = code.map(Code::text);
    tracing::info!(
        target: "krarup::observer",
        %peer, action, id, outcome, code,
        "an action on a process"
    );
    let at = SystemTime::now();
    shared.actions.push(Attempt { at, peer, action, id, arguments, outcome, code });
}

/// The fields of the body of an action.
fn fields(action: ProcessAction) -> &'static [&'static str] {
    match action {
        ProcessAction::Exit => &["reason"],
        ProcessAction::Suspend => &["seconds"],
        ProcessAction::Trace => &["items", "seconds"],
        ProcessAction::Record => &["items"],
        ProcessAction::Resize => &["workers"],
        ProcessAction::TerminateChild | ProcessAction::RestartChild => &["child"],
        _ => &[],
    }
}

/// `POST /api/v1/processes/{id}/{action}`.
pub(crate) async fn act(
    shared: &Shared,
    peer: IpAddr,
    id: PathNumber,
    action: ProcessAction,
    body: Result<Vec<u8>, Refusal>,
) -> Result<HttpAnswer, Refusal> {
    let mut arguments = Map::new();
    let outcome = perform(shared, &id, action, body, &mut arguments).await;
    let code = outcome.as_ref().err().map(|refusal| refusal.code);
    let id = id.ok();
    record(shared, peer, action.text(), id, arguments, code);
    let (status, more) = outcome?;
    shared.sampling.acted();
    let pid = id.map(|id| format!("<0.{id}.0>"));
    let mut body = value!({ "done": true, "action": action.text(), "pid": pid });
    if let Value::Object(body) = &mut body {
        body.extend(more);
    }
    Ok(json(status, &body))
}

type Done = (StatusCode, Map<String, Value>);

async fn perform(
    shared: &Shared,
    id: &PathNumber,
    action: ProcessAction,
    body: Result<Vec<u8>, Refusal>,
    arguments: &mut Map<String, Value>,
) -> Result<Done, Refusal> {
    let fields = BodyFields::read(&body?, fields(action))?;
    let order = ActionOrder::read(action, &fields)?;
    fields.all().clone_into(arguments);
    let pid = shared.process(id)?;
    if belongs_to_observer(&shared.view, pid) {
        let message = format!("{pid} belongs to the observer");
        return Err(Refusal::new(Code::Protected, message));
    }
    order.carry_out(shared, pid).await
}

/// An action with its arguments.
enum ActionOrder {
    Kill,
    Exit(Reason),
    Suspend(Duration),
    Resume,
    /// A request that pools or supervisors offer.
    Manage(Management),
    Trace(TraceLimits),
    Untrace,
    Record(usize),
}

impl ActionOrder {
    fn read(action: ProcessAction, fields: &BodyFields) -> Result<Self, Refusal> {
        Ok(match action {
            ProcessAction::Kill => ActionOrder::Kill,
            ProcessAction::Exit => match fields.text("reason", 200)? {
                "normal" => ActionOrder::Exit(Reason::Normal),
                "shutdown" => ActionOrder::Exit(Reason::Shutdown),
                "kill" => ActionOrder::Kill,
                text => ActionOrder::Exit(Reason::error(text.to_owned())),
            },
            ProcessAction::Suspend => {
                ActionOrder::Suspend(Duration::from_secs(fields.number("seconds", 1, 3600)?))
            }
            ProcessAction::Resume => ActionOrder::Resume,
            ProcessAction::Trace => {
                let items = usize::try_from(fields.number("items", 1, 1000)?).unwrap_or(1000);
                let time = Duration::from_secs(fields.number("seconds", 1, 60)?);
                ActionOrder::Trace(TraceLimits { items, time })
            }
            ProcessAction::Record => {
                let most = RecordedItem::MOST as u64;
                let items = fields.number("items", 0, most)?;
                ActionOrder::Record(usize::try_from(items).unwrap_or(RecordedItem::MOST))
            }
            ProcessAction::Resize => {
                let workers = fields.number("workers", 0, 1024)?;
                let workers = usize::try_from(workers).unwrap_or(usize::MAX);
                ActionOrder::Manage(Management::Resize { workers })
            }
            ProcessAction::TerminateChild => {
                let child = fields.text("child", 1024)?.to_owned();
                ActionOrder::Manage(Management::TerminateChild { child })
            }
            ProcessAction::RestartChild => {
                let child = fields.text("child", 1024)?.to_owned();
                ActionOrder::Manage(Management::RestartChild { child })
            }
            ProcessAction::Drain => ActionOrder::Manage(Management::Drain),
            ProcessAction::Reopen => ActionOrder::Manage(Management::Reopen),
            ProcessAction::Untrace => ActionOrder::Untrace,
        })
    }

    async fn carry_out(self, shared: &Shared, pid: Pid) -> Result<Done, Refusal> {
        let gone = || Refusal::new(Code::NoProcess, format!("{pid} has ended"));
        let mut more = Map::new();
        match self {
            ActionOrder::Kill => {
                if !shared.view.kill(pid) {
                    return Err(gone());
                }
            }
            ActionOrder::Exit(reason) => {
                if !shared.view.exit(pid, reason) {
                    return Err(gone());
                }
            }
            ActionOrder::Suspend(lasts) => {
                suspend(shared, pid, lasts).await?;
                more.insert("resumes_at".to_owned(), rfc3339(SystemTime::now() + lasts).into());
            }
            ActionOrder::Resume => {
                shared.suspensions.take_back(pid);
                if !shared.view.resume(pid) {
                    let message = format!("{pid} is not suspended");
                    return Err(Refusal::new(Code::NotSuspended, message));
                }
            }
            ActionOrder::Manage(request) => manage(shared, pid, request).await?,
            ActionOrder::Trace(limits) => {
                let number = shared.traces.start(&shared.view, pid, limits)?;
                more.insert("trace".to_owned(), number.into());
                return Ok((StatusCode::ACCEPTED, more));
            }
            // A process without a trace is as it should be.
            ActionOrder::Untrace => {
                shared.view.untrace(pid);
            }
            ActionOrder::Record(items) => shared.view.record(pid, items).map_err(|_| gone())?,
        }
        Ok((StatusCode::OK, more))
    }
}

async fn suspend(shared: &Shared, pid: Pid, lasts: Duration) -> Result<(), Refusal> {
    let late = || {
        Refusal::new(
            Code::Timeout,
            format!("{pid} was not suspended within {}", readable(PATIENCE)),
        )
    };
    let keeper = shared.suspensions.keeper().ok_or_else(late)?;
    let asked = keeper.call(|reply| Suspend { pid, lasts, reply }).timeout(PATIENCE).await;
    match asked.map_err(|_| late())? {
        Ok(()) => Ok(()),
        Err(DebugError::NoProcess(_) | DebugError::Terminated { .. }) => {
            Err(Refusal::new(Code::NoProcess, format!("{pid} has ended")))
        }
        Err(DebugError::Timeout { .. }) => Err(late()),
        Err(other) => Err(Refusal::new(Code::NotOffered, other.to_string())),
    }
}
