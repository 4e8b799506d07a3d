//! A file of `/api/v1/snapshot`: what a node was like at one moment. Or one of a failing seed, which
//! has the steps of a simulation as its part `replay`, and no other part. Pure.

use serde_json::Value;
use thiserror::Error;

/// What was read of a node.
#[derive(Debug)]
pub(crate) struct SnapshotFile {
    text: String,
    all: Value,
}

/// Why a text is no snapshot.
#[derive(Debug, Error)]
pub(crate) enum SnapshotError {
    #[error("it is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("it is no snapshot of an observer: it does not begin with {{\"snapshot\":\"krarup\"")]
    Other,
    #[error("it is a snapshot of the API {0}; this program reads v1")]
    Version(String),
    #[error("its replay has no {0}")]
    Replay(&'static str),
}

impl SnapshotFile {
    /// The parts that a route answers with whole.
    const WHOLE: [&str; 7] = ["health", "pools", "cluster", "findings", "turns", "node", "replay"];

    pub(crate) fn read(text: String) -> Result<Self, SnapshotError> {
        let mut all: Value = serde_json::from_str(&text)?;
        if all["snapshot"] != "krarup" {
            return Err(SnapshotError::Other);
        }
        if all["api"] != "v1" {
            return Err(SnapshotError::Version(all["api"].to_string()));
        }
        let replay = &all["replay"];
        if !replay.is_null() {
            let missing = |field: &&str| match *field {
                "expression" => !replay["expression"].is_string(),
                list => !replay[list].is_array(),
            };
            if let Some(field) = ["expression", "processes", "steps"].into_iter().find(missing) {
                return Err(SnapshotError::Replay(field));
            }
        }
        // A file allows nothing, whatever its node did.
        if let Some(access) = all.get_mut("node").and_then(|node| node.get_mut("access")) {
            *access = serde_json::json!({ "actions": false, "read_token": false });
        }
        Ok(SnapshotFile { text, all })
    }

    /// The file as it is.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// A part of it; `null` if an older observer wrote the file.
    pub(crate) fn part(&self, name: &str) -> &Value {
        &self.all[name]
    }

    /// A part that is the answer of the route of this name.
    pub(crate) fn whole(&self, name: &str) -> Option<&Value> {
        SnapshotFile::WHOLE.contains(&name).then(|| self.part(name)).filter(|it| it.is_object())
    }

    /// The expression that makes the simulation again, if it is the file of a seed.
    pub(crate) fn expression(&self) -> Option<&str> {
        self.part("replay")["expression"].as_str()
    }

    /// The details of the process of this number.
    pub(crate) fn process(&self, id: u64) -> Option<&Value> {
        let details = self.part("process_details").as_array()?;
        details.iter().find(|process| process["id"] == id)
    }

    /// The crash of this number, with all that was known of it.
    pub(crate) fn crash(&self, seq: u64) -> Option<&Value> {
        let details = self.part("crash_details").as_array()?;
        details.iter().find(|crash| crash["seq"] == seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v26_a_file_is_a_snapshot_of_this_api_or_refused() {
        let wrong = |text: &str| SnapshotFile::read(text.to_owned()).unwrap_err().to_string();
        assert!(wrong("").starts_with("it is not JSON"));
        assert!(wrong("[]").starts_with("it is no snapshot"));
        assert!(wrong(r#"{"snapshot":"krarup","api":"v2"}"#).contains("\"v2\""));
        let deep = "[".repeat(100_000);
        assert!(wrong(&deep).starts_with("it is not JSON"));
        let text = r#"{"snapshot":"krarup","api":"v1","node":{"access":{"actions":true,"read_token":true}}}"#;
        let file = SnapshotFile::read(text.to_owned()).unwrap();
        assert_eq!(file.whole("node").unwrap()["access"]["actions"], false);
        assert_eq!(file.text(), text);
        assert!(file.whole("pools").is_none() && file.whole("snapshot").is_none());
        assert!(file.process(1).is_none() && file.crash(1).is_none());
        assert_eq!(file.expression(), None);
    }

    #[test]
    fn v83_the_file_of_a_seed_has_its_expression_and_steps_or_is_refused() {
        let of = |replay: &str| {
            let head = "{\"snapshot\":\"krarup\",\"api\":\"v1\"";
            SnapshotFile::read(format!("{head},\"replay\":{replay}}}"))
        };
        let file = of(r#"{"expression":"Simulation::new(7)","processes":[],"steps":[]}"#).unwrap();
        assert_eq!(file.expression(), Some("Simulation::new(7)"));
        assert!(file.whole("replay").is_some() && file.whole("node").is_none());
        for (replay, missing) in [
            ("7", "expression"),
            (r#"{"expression":7,"processes":[],"steps":[]}"#, "expression"),
            (r#"{"expression":"","processes":{},"steps":[]}"#, "processes"),
            (r#"{"expression":"","processes":[]}"#, "steps"),
        ] {
            assert_eq!(of(replay).unwrap_err().to_string(), format!("its replay has no {missing}"));
        }
    }
}
