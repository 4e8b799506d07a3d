//! The news for a view: a stream of the node and its findings on one thread, pages of processes as
//! they are asked for on another, keys on a third. A lost stream is opened again for as long as the
//! view lives.
//!
//! The stream makes the view a watcher: the observer then takes pictures at the asked period, or at
//! a longer one if they cost too much, and the pages are of these pictures.

use crate::client::{ApiClient, ApiFailure};
use crate::events::next_event;
use crate::top::query::TopQuery;
use crate::top::state::{TopInput, TopKey, TopNews, TopState};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use serde_json::Value;
use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::thread;
use std::time::{Duration, Instant};

const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Rates need two pictures; the third is for an observer whose last picture was old.
const ROUNDS: usize = 3;

/// Starts the threads. Pages of the queries that are sent, of the newest only, come as news.
pub(crate) fn start(
    client: &Arc<ApiClient>,
    period_ms: u64,
    tell: &SyncSender<TopInput>,
) -> io::Result<Sender<TopQuery>> {
    let (ask, asked) = channel();
    let (follower, news) = (Arc::clone(client), tell.clone());
    spawn("stream", move || follow(&follower, period_ms, &news))?;
    let (pager, news) = (Arc::clone(client), tell.clone());
    spawn("pages", move || answer(&pager, &asked, &news))?;
    let keys = tell.clone();
    spawn("keys", move || read_keys(&keys))?;
    end_by_signal(tell)?;
    Ok(ask)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(|_| ())
}

/// Follows the stream until the view has ended.
fn follow(client: &ApiClient, period_ms: u64, tell: &SyncSender<TopInput>) {
    let mut wait = FIRST_WAIT;
    loop {
        let mut heard = false;
        let route = format!("/api/v1/stream?topics=node,findings&period_ms={period_ms}");
        let lost =
            client.stream(&route, None).map_err(|failure| failure.to_string()).and_then(|source| {
                each_event(source, |news| {
                    heard = true;
                    tell.send(TopInput::News(news)).is_ok()
                })
            });
        let why = match lost {
            Ok(FollowEnd::Unwanted) => return,
            Ok(FollowEnd::Closed) => "the node closed the stream".to_owned(),
            Err(why) => why,
        };
        if tell.send(TopInput::News(TopNews::Lost(why))).is_err() {
            return;
        }
        wait = if heard { FIRST_WAIT } else { LONGEST_WAIT.min(2 * wait) };
        thread::sleep(wait);
    }
}

/// Why a stream is read no further.
enum FollowEnd {
    /// It has no more events.
    Closed,
    /// Nobody wants more.
    Unwanted,
}

/// Reads the events of a stream, as long as more are wanted.
fn each_event(
    mut source: impl BufRead,
    mut wants_more: impl FnMut(TopNews) -> bool,
) -> Result<FollowEnd, String> {
    loop {
        let event = match next_event(&mut source).map_err(|error| error.to_string())? {
            Some(event) if event.name != "bye" => event,
            _ => return Ok(FollowEnd::Closed),
        };
        let body: Value = serde_json::from_str(&event.data)
            .map_err(|_| "the stream is none of an observer".to_owned())?;
        let news = match event.name.as_str() {
            "node" => TopNews::Node(body),
            "findings" => TopNews::Findings(body),
            _ => continue,
        };
        if !wants_more(news) {
            return Ok(FollowEnd::Unwanted);
        }
    }
}

/// Answers queries, the newest only.
fn answer(client: &ApiClient, asked: &Receiver<TopQuery>, tell: &SyncSender<TopInput>) {
    while let Ok(first) = asked.recv() {
        let query = asked.try_iter().last().unwrap_or(first);
        let answer = page(client, &query).map_err(|failure| failure.to_string());
        if tell.send(TopInput::News(TopNews::Processes(query, answer))).is_err() {
            return;
        }
    }
}

fn page(client: &ApiClient, query: &TopQuery) -> Result<Value, ApiFailure> {
    client.json(&format!("/api/v1/processes?{}", query.parameters()))
}

/// How long a picture takes at most: its rounds, which are late if the observer is busy.
fn longest_picture(period_ms: u64) -> Duration {
    const LATE: Duration = Duration::from_secs(30);
    let rounds = u64::try_from(ROUNDS).unwrap_or(u64::MAX);
    LATE.saturating_add(Duration::from_millis(period_ms.saturating_mul(rounds)))
}

/// One picture with its rates: of two rounds of a stream. It fails if the observer only says that it is alive.
pub(crate) fn one_picture(
    client: &ApiClient,
    period_ms: u64,
    top: &mut TopState,
) -> Result<(), ApiFailure> {
    let began = Instant::now();
    let route = format!("/api/v1/stream?topics=node,findings&period_ms={period_ms}");
    let source = client.stream(&route, Some(longest_picture(period_ms)))?;
    let mut failure = None;
    let mut rounds = 0;
    let ended = each_event(source, |news| {
        let complete = matches!(news, TopNews::Findings(_));
        top.apply(TopInput::News(news), began.elapsed());
        if !complete {
            return true;
        }
        rounds += 1;
        match page(client, &top.query) {
            Ok(body) => {
                let has_rates = body["sample"]["window_ms"].is_number() && rounds > 1;
                let news = TopNews::Processes(top.query.clone(), Ok(body));
                top.apply(TopInput::News(news), began.elapsed());
                !has_rates && rounds < ROUNDS
            }
            Err(error) => {
                failure = Some(error);
                false
            }
        }
    });
    match (failure, ended) {
        (Some(failure), _) => Err(failure),
        (None, Ok(FollowEnd::Unwanted)) => Ok(()),
        (None, Ok(FollowEnd::Closed)) => Err(client.lost("the node closed the stream")),
        (None, Err(why)) => Err(client.lost(&why)),
    }
}

/// Reads keys until the view has ended. A terminal that cannot be read ends the view.
fn read_keys(tell: &SyncSender<TopInput>) {
    loop {
        let input = match event::read() {
            Ok(Event::Key(key)) => key_of(key).map(TopInput::Key),
            Ok(Event::Resize(_, height)) => Some(TopInput::Height(height)),
            Ok(_) => None,
            Err(_) => Some(TopInput::End),
        };
        let ends = matches!(input, Some(TopInput::End));
        if input.is_some_and(|input| tell.send(input).is_err()) || ends {
            return;
        }
    }
}

fn key_of(key: KeyEvent) -> Option<TopKey> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => Some(TopKey::Interrupt),
        KeyCode::Char(letter) if !control => Some(TopKey::Letter(letter)),
        KeyCode::Enter => Some(TopKey::Enter),
        KeyCode::Esc => Some(TopKey::Escape),
        KeyCode::Backspace => Some(TopKey::Erase),
        KeyCode::PageDown | KeyCode::Down => Some(TopKey::NextPage),
        KeyCode::PageUp | KeyCode::Up => Some(TopKey::PreviousPage),
        KeyCode::Home => Some(TopKey::FirstPage),
        _ => None,
    }
}

/// A signal to end gives the terminal back first.
#[cfg(unix)]
fn end_by_signal(tell: &SyncSender<TopInput>) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let tell = tell.clone();
    spawn("signals", move || {
        if signals.forever().next().is_some() {
            // Without a receiver the view has ended.
            let _ = tell.send(TopInput::End);
        }
    })
}

#[cfg(not(unix))]
fn end_by_signal(_: &SyncSender<TopInput>) -> io::Result<()> {
    Ok(())
}
