//! Records as data, for JSON and the like (feature `serde`): snapshots, counters, inspections,
//! trees, reports.
//!
//! Most of them derive it at their types: a field has its name in Rust, a variant its name in
//! lower case with underscores, a [`std::time::Duration`] seconds and nanoseconds as serde writes
//! them. Here are those for which that would be wrong.
//!
//! | type | as | read back |
//! |---|---|---|
//! | [`Name`], [`NodeName`] | its text | checked as by `new` |
//! | [`Timestamp`] | nanoseconds | yes |
//! | [`Label`] | its full text | no: a label holds the text of a type |
//! | [`Inspection`] | a map in the order of its items, each value as what it is | no: a duration could not be told from a record |
//! | [`ProcessTree`] | the list of its processes in the order of [`ProcessTree::walk`], each with its depth | no |
//! | [`Recorded`] | its number, time and item | yes, if the item is |
//!
//! A tree may be as deep as there are processes. As a list it is written without recursion, and a
//! reader with a limit of depth takes it.

use crate::{
    Inspection, Label, Name, NodeName, ProcessInfo, ProcessTree, Recorded, Timestamp, Value,
};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use std::sync::Arc;

/// Writes a shared text.
pub(crate) fn text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        Name::new(text).map_err(D::Error::custom)
    }
}

impl Serialize for NodeName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for NodeName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        NodeName::new(text).map_err(D::Error::custom)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.as_nanos())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Timestamp::from_nanos)
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.full())
    }
}

impl Serialize for Inspection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Number(number) => number.serialize(serializer),
            Value::Negative(number) => number.serialize(serializer),
            Value::Float(float) => float.serialize(serializer),
            Value::Flag(flag) => flag.serialize(serializer),
            Value::Text(text) => text.serialize(serializer),
            Value::Duration(duration) => duration.serialize(serializer),
            Value::List(values) => values.serialize(serializer),
            Value::Record(record) => record.serialize(serializer),
        }
    }
}

/// A process of a tree.
#[derive(serde::Serialize)]
struct AtDepth<'a> {
    depth: usize,
    process: &'a ProcessInfo,
}

impl Serialize for ProcessTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let processes = self.walk().map(|(depth, tree)| AtDepth { depth, process: &tree.process });
        serializer.collect_seq(processes)
    }
}

/// The fields of a [`Recorded`].
#[derive(serde::Serialize, serde::Deserialize)]
struct RecordedFields<T> {
    seq: u64,
    at: Timestamp,
    item: T,
}

impl<T: Serialize> Serialize for Recorded<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RecordedFields { seq: self.seq, at: self.at, item: &*self.item }.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Recorded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RecordedFields { seq, at, item } = RecordedFields::<T>::deserialize(deserializer)?;
        Ok(Recorded::new(seq, at, Arc::new(item)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Class, CrashCauseKind, DeadLetterCause, DispatcherStats, ItemKind, Lane, Latency,
        NodeStats, Pid, ProcessKind, ProcessState, ReasonKind, RecordedPage, RefusalCause,
        RestartKind, Root, Sample, SupervisionAction, Target, TraceEnd, WaitKind, WorkerStats,
    };
    use serde::de::DeserializeOwned;
    use serde_json::{from_str, json, to_string, to_value};
    use std::fmt::{Debug, Display};
    use std::time::Duration;

    fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
        let text = to_string(value).unwrap();
        assert_eq!(from_str::<T>(&text).ok().as_ref(), Some(value), "{text}");
    }

    fn is_word<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, word: &dyn Display) {
        assert_eq!(to_value(value).unwrap(), word.to_string());
        comes_back(value);
    }

    #[test]
    fn x15_a_variant_is_the_word_that_it_prints() {
        use CrashCauseKind::{Kill, Link, Own, Parent, Signal};
        use ProcessKind::{Actor, Connection, Grains, Pool, Process, Stateful, Step, Supervisor};
        use ProcessState::{Idle, Init, Running, Scheduled, Suspended, Terminated, Waiting};
        use SupervisionAction::{EndedInOrder, GaveUp, InPlace};
        use TraceEnd::{Ended, Items, Overload, Time, Untraced};

        for state in [Init, Idle, Scheduled, Running, Waiting, Suspended, Terminated] {
            is_word(&state, &state);
        }
        for kind in [Process, Actor, Supervisor, Pool, Stateful, Step, Grains, Connection] {
            is_word(&kind, &kind);
        }
        [Class::Normal, Class::High, Class::Varying].iter().for_each(|it| is_word(it, it));
        [Root::User, Root::System].iter().for_each(|it| is_word(it, it));
        [WaitKind::Call, WaitKind::Room].iter().for_each(|it| is_word(it, it));
        [Lane::Urgent, Lane::System, Lane::Main].iter().for_each(|it| is_word(it, it));
        [Items, Time, Overload, Untraced, Ended].iter().for_each(|it| is_word(it, it));
        [Own, Link, Signal, Parent, Kill].iter().for_each(|it| is_word(it, it));
        [ItemKind::Message, ItemKind::Stop, ItemKind::Manage].iter().for_each(|it| is_word(it, it));
        [InPlace, GaveUp, EndedInOrder].iter().for_each(|it| is_word(it, it));
        ReasonKind::ALL.iter().for_each(|it| is_word(it, it));
        RefusalCause::ALL.iter().for_each(|it| is_word(it, it));
        RestartKind::ALL.iter().for_each(|it| is_word(it, it));
        DeadLetterCause::ALL.iter().for_each(|it| is_word(it, &it.as_str()));
    }

    #[test]
    fn x15_counters_come_back_as_they_were() {
        let worker =
            WorkerStats::default().with(|it| (it.turns, it.messages_per_turn.sum) = (3, 9));
        let mut dispatcher = DispatcherStats::new("default".to_owned(), 2);
        dispatcher.set_each(vec![worker, worker]);
        dispatcher.longest_turn = Duration::new(1, 5);
        let stats = NodeStats::default().with(|stats| {
            stats.ended = ReasonKind::counts(&[7, 0, 2]);
            stats.dead_letters_by_cause = [(DeadLetterCause::Expired, 1)].into();
            stats.spawned = u64::MAX;
            stats.dispatchers = vec![dispatcher];
        });
        comes_back(&stats);
        let shown = to_value(&stats).unwrap();
        assert_eq!(shown["ended"]["noproc"], 0);
        assert_eq!(shown["dispatchers"][0]["turns"], 6);
        assert_eq!(shown["dispatchers"][0]["longest_turn"], json!({ "secs": 1, "nanos": 5 }));
        // A counter that an older version did not have is at zero.
        assert_eq!(from_str::<NodeStats>(r#"{"spawned": 4}"#).unwrap().spawned, 4);
        comes_back(&Latency::default().with(|it| it.at_most[3] = 2));
        comes_back(&Sample::new(Pid::local(7, 0), ProcessKind::Process, ProcessState::Idle));
    }

    #[test]
    fn x15_names_are_checked_when_they_are_read() {
        comes_back(&Name::new("stock").unwrap());
        comes_back(&NodeName::new("shop@host").unwrap());
        comes_back(&Timestamp::from_nanos(u64::MAX));
        comes_back(&Target::Name(Name::new("stock").unwrap(), Some(Pid::local(7, 0))));
        let long = to_string(&"x".repeat(256)).unwrap();
        for text in [r#""""#, &long, "7", "null"] {
            assert!(from_str::<Name>(text).is_err(), "{text}");
            assert!(from_str::<NodeName>(text).is_err(), "{text}");
        }
        let error = from_str::<NodeName>(r#""shop""#).unwrap_err().to_string();
        assert!(error.contains("shop"), "{error}");
        // Also from text with escapes, which a reader cannot lend.
        assert_eq!(from_str::<Name>(r#""a\u0062""#).unwrap().as_str(), "ab");
    }

    #[test]
    fn x15_an_inspection_is_a_map_in_its_own_order() {
        let record = Inspection::new().with("z", 1_u64).with("a", true);
        let shown = record
            .with("mean", 0.5)
            .with("name", "stock")
            .with("took", Duration::from_millis(1500))
            .with(
                "list",
                vec![Value::from(1_u64), Value::from(Inspection::new().with("b", 2_u64))],
            );
        let text = to_string(&shown).unwrap();
        let took = r#""took":{"secs":1,"nanos":500000000}"#;
        let expected =
            format!(r#"{{"z":1,"a":true,"mean":0.5,"name":"stock",{took},"list":[1,{{"b":2}}]}}"#);
        assert_eq!(text, expected);
    }

    #[test]
    fn x15_a_tree_is_the_list_of_its_processes_with_their_depths_however_deep_it_is() {
        use ProcessState::Idle;

        let info = |id| ProcessInfo::new(Pid::local(id, 1), Label::of_type("shop::Desk"), Idle);
        let mut chain = ProcessTree::new(info(100_000), Vec::new());
        for id in (1..100_000).rev() {
            chain = ProcessTree::new(info(id), vec![chain]);
        }
        let small = std::thread::Builder::new().stack_size(128 * 1024);
        let shown = small.spawn(move || to_value(&chain).unwrap()).unwrap().join().unwrap();
        assert_eq!(shown.as_array().unwrap().len(), 100_000);
        let last = &shown[99_999];
        assert_eq!(
            (&last["depth"], &last["process"]["pid"]),
            (&json!(99_999), &json!("<0.100000.0>"))
        );
        assert_eq!(last["process"]["behavior"], "shop::Desk");
        assert_eq!(last["process"]["state"], "idle");
    }

    #[test]
    fn x15_a_page_of_records_comes_back_if_its_items_do() {
        let record = Recorded::new(7, Timestamp::from_nanos(9), Name::new("a").unwrap());
        comes_back(&RecordedPage::new(7, 8, 0, vec![record]));
    }
}
