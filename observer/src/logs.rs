//! The newest events of `tracing`, with the process in whose turn they were.

use crate::event_ring::{After, EventRing, Page};
use crate::text::cut;
use crate::time::rfc3339;
use krarup_act::current_pid;
use krarup_gen::Pid;
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// The levels, the worst first.
pub(crate) use krarup_page::words::LOG_LEVELS as LEVELS;

/// The most fields of an event that are kept, and the most bytes of all their texts.
const FIELDS: usize = 32;
const BYTES: usize = 8192;

/// A layer of `tracing-subscriber` that keeps the newest events: see [`recent_logs`].
#[derive(Clone)]
pub struct RecentLogs {
    ring: Arc<EventRing<LogEvent>>,
    level: Level,
}

/// Returns a layer that keeps the newest `events` of warnings and errors, with the pid of the
/// process in whose turn they were. Give it to the subscriber and to the observer.
///
/// ```
/// # use krarup_observer::{Observer, recent_logs};
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let logs = recent_logs(1000);
/// let subscriber = tracing_subscriber::registry().with(logs.clone());
/// let observer = Observer::new().logs(logs);
/// # drop((subscriber, observer));
/// ```
#[must_use]
pub fn recent_logs(events: usize) -> RecentLogs {
    RecentLogs { ring: Arc::new(EventRing::new(events.max(1))), level: Level::WARN }
}

impl RecentLogs {
    /// Keeps events of this level and worse ones.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    pub(crate) fn page(
        &self,
        after: After,
        limit: usize,
        wanted: impl Fn(&LogEvent) -> bool,
    ) -> Page<LogEvent> {
        self.ring.page(after, limit, wanted)
    }
}

impl<S: Subscriber> Layer<S> for RecentLogs {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        if *metadata.level() > self.level {
            return;
        }
        let mut fields = EventFields::default();
        event.record(&mut fields);
        self.ring.push(LogEvent {
            at: SystemTime::now(),
            level: level_text(*metadata.level()),
            target: metadata.target().to_owned(),
            pid: current_pid(),
            message: fields.message,
            fields: fields.others,
        });
    }
}

impl fmt::Debug for RecentLogs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecentLogs").field("level", &self.level).finish_non_exhaustive()
    }
}

/// An event that was logged.
pub(crate) struct LogEvent {
    at: SystemTime,
    pub(crate) level: &'static str,
    target: String,
    pub(crate) pid: Option<Pid>,
    message: String,
    fields: Map<String, Value>,
}

impl LogEvent {
    pub(crate) fn item(&self, seq: u64) -> Value {
        json!({
            "seq": seq,
            "at": rfc3339(self.at),
            "level": self.level,
            "target": self.target,
            "pid": self.pid.map(|pid| pid.to_string()),
            "message": self.message,
            "fields": self.fields,
        })
    }
}

fn level_text(level: Level) -> &'static str {
    match level {
        Level::ERROR => LEVELS[0],
        Level::WARN => LEVELS[1],
        Level::INFO => LEVELS[2],
        Level::DEBUG => LEVELS[3],
        Level::TRACE => LEVELS[4],
    }
}

/// The fields of an event.
#[derive(Default)]
struct EventFields {
    message: String,
    others: Map<String, Value>,
    bytes: usize,
}

impl EventFields {
    /// Counts the text of a field, if there is room for it.
    fn has_room(&mut self, value: &Value) -> bool {
        let bytes = self.bytes + value.as_str().map_or(0, str::len);
        let fits = bytes <= BYTES;
        if fits {
            self.bytes = bytes;
        }
        fits
    }

    fn set(&mut self, field: &Field, value: Value) {
        if field.name() == "message" {
            self.message = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        } else if self.others.len() < FIELDS && self.has_room(&value) {
            self.others.insert(field.name().to_owned(), value);
        }
    }
}

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, cut(&format!("{value:?}")).into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, cut(value).into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt;

    #[test]
    fn v48_the_newest_warnings_and_errors_are_kept_with_their_fields() {
        let logs = recent_logs(2);
        let subscriber = tracing_subscriber::registry().with(logs.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("not this");
            tracing::error!("fell out");
            tracing::warn!(left = 3, who = "x", "first {}", 1);
            tracing::error!(target: "shop", "second");
        });
        let page = logs.page(After::Number(0), 10, |_| true);
        let items: Vec<Value> = page.items.iter().map(|(seq, event)| event.item(*seq)).collect();
        assert_eq!((page.first_seq, page.next_seq, page.lost), (2, 4, 1));
        assert_eq!((&items[0]["message"], &items[0]["level"]), (&json!("first 1"), &json!("warn")));
        assert_eq!(items[0]["fields"], json!({ "left": 3, "who": "x" }));
        assert_eq!((&items[1]["target"], &items[1]["pid"]), (&json!("shop"), &Value::Null));
    }

    #[test]
    fn v43_an_event_keeps_a_bounded_number_of_bytes() {
        let logs = recent_logs(1);
        let subscriber = tracing_subscriber::registry().with(logs.clone());
        let long = "x".repeat(100_000);
        tracing::subscriber::with_default(subscriber, || {
            tracing::error!(a = long, b = ?long, c = long, d = "short", e = 5, "{long}");
        });
        let page = logs.page(After::Newest, 1, |_| true);
        let item = page.items[0].1.item(1);
        assert!(item.to_string().len() < BYTES + 5000, "{}", item.to_string().len());
        assert_eq!((&item["fields"]["c"], &item["fields"]["e"]), (&Value::Null, &json!(5)));
    }
}
