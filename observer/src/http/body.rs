//! The body of a request: one JSON object, small and in time.

use crate::http::parameters::there_are;
use crate::http::refusal::{Code, Refusal};
use crate::limits;
use crate::text::cut;
use crate::time::readable;
use bytes::Buf;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::time::Duration;
use tokio::time::timeout;

/// Reads a body of at most [`limits::BODY`] bytes within a time.
pub(crate) async fn read(body: Incoming, within: Duration) -> Result<Vec<u8>, Refusal> {
    if body.size_hint().lower() > limits::BODY as u64 {
        return Err(too_large());
    }
    timeout(within, collect(body)).await.unwrap_or_else(|_| {
        Err(Refusal::new(
            Code::TooSlow,
            format!("the body was not there after {}", readable(within)),
        ))
    })
}

async fn collect(mut body: Incoming) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::new(Code::BadBody, "the body breaks off"))?;
        if let Ok(mut data) = frame.into_data() {
            if bytes.len() + data.remaining() > limits::BODY {
                return Err(too_large());
            }
            bytes.extend_from_slice(&data.copy_to_bytes(data.remaining()));
        }
    }
    Ok(bytes)
}

fn too_large() -> Refusal {
    Refusal::new(Code::TooLarge, format!("the body has more than {} bytes", limits::BODY))
}

/// The fields of a body that is one object.
#[derive(Debug)]
pub(crate) struct BodyFields {
    all: Map<String, Value>,
}

impl BodyFields {
    /// Reads an object whose fields are all among `known`.
    pub(crate) fn read(body: &[u8], known: &[&str]) -> Result<Self, Refusal> {
        let bad = |message: String| Refusal::new(Code::BadBody, message);
        let OneObject(all) =
            serde_json::from_slice(body).map_err(|error| bad(format!("the body: {error}")))?;
        if let Some(strange) = all.keys().find(|name| !known.contains(&name.as_str())) {
            let message = format!("there is no field {strange:?}; {}", there_are(known));
            return Err(Refusal::parameter(Code::BadBody, strange, message));
        }
        Ok(BodyFields { all })
    }

    /// A whole number within a range, which must be there.
    pub(crate) fn number(&self, name: &str, least: u64, most: u64) -> Result<u64, Refusal> {
        let number = self.all.get(name).and_then(Value::as_u64);
        number
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| self.bad(name, &format!("a whole number from {least} to {most}")))
    }

    /// A text of 1 to `most` bytes, which must be there.
    pub(crate) fn text(&self, name: &str, most: usize) -> Result<&str, Refusal> {
        let text = self.all.get(name).and_then(Value::as_str);
        text.filter(|text| (1..=most).contains(&text.len()))
            .ok_or_else(|| self.bad(name, &format!("a text of 1 to {most} bytes")))
    }

    /// A refusal of the value of a field.
    fn bad(&self, name: &str, expected: &str) -> Refusal {
        let message = match self.all.get(name) {
            Some(value) => cut(&format!("{name}={value} is not {expected}")),
            None => format!("{name} is not there; it is {expected}"),
        };
        Refusal::parameter(Code::BadBody, name, message)
    }

    /// All fields, for the record of an action.
    pub(crate) fn all(&self) -> &Map<String, Value> {
        &self.all
    }
}

/// A JSON object that has each field once. Of a field that comes twice two readers may take two
/// different values.
struct OneObject(Map<String, Value>);

impl<'de> Deserialize<'de> for OneObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OneObjectVisitor)
    }
}

struct OneObjectVisitor;

impl<'de> Visitor<'de> for OneObjectVisitor {
    type Value = OneObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<OneObject, A::Error> {
        let mut all = Map::new();
        while let Some((name, value)) = fields.next_entry::<String, Value>()? {
            if all.contains_key(&name) {
                return Err(A::Error::custom(format_args!("the field {name:?} is there twice")));
            }
            all.insert(name, value);
        }
        Ok(OneObject(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v39_a_body_is_one_object_with_known_fields() {
        let long = format!("{{\"reason\":\"{}\"}}", "x".repeat(201));
        let twice = "{\"reason\":\"x\",\"reason\":\"y\"}";
        for bad in ["", "[]", "1", "null", "{", "{\"resaon\":\"x\"}", "{}{}", "\u{1}", twice] {
            assert_eq!(
                BodyFields::read(bad.as_bytes(), &["reason"]).unwrap_err().code,
                Code::BadBody,
                "{bad}"
            );
        }
        for bad in ["{}", "{\"reason\":1}", "{\"reason\":\"\"}", "{\"reason\":null}", &long] {
            let fields = BodyFields::read(bad.as_bytes(), &["reason"]).unwrap();
            assert_eq!(fields.text("reason", 200).unwrap_err().code, Code::BadBody, "{bad}");
        }
        for bad in ["0", "3601", "-1", "1.5", "\"1\"", "1e9", "true"] {
            let body = format!("{{\"seconds\":{bad}}}");
            let fields = BodyFields::read(body.as_bytes(), &["seconds"]).unwrap();
            assert!(fields.number("seconds", 1, 3600).is_err(), "{bad}");
        }
        let refused = |body: &str, known: &[&str]| {
            let fields = BodyFields::read(body.as_bytes(), known);
            let refusal = fields.and_then(|all| all.number("workers", 0, 1024)).unwrap_err();
            (refusal.parameter.unwrap_or_default(), refusal.message)
        };
        for (body, message) in [
            ("{\"workers\":5000}", "workers=5000 is not a whole number from 0 to 1024"),
            ("{\"workers\":\"4\"}", "workers=\"4\" is not a whole number from 0 to 1024"),
            ("{}", "workers is not there; it is a whole number from 0 to 1024"),
        ] {
            assert_eq!(refused(body, &["workers"]), ("workers".to_owned(), message.to_owned()));
        }
        for (known, message) in [
            (&["workers"][..], "there is no field \"size\"; there are: workers"),
            (&[], "there is no field \"size\"; there are none"),
        ] {
            assert_eq!(refused("{\"size\":1}", known), ("size".to_owned(), message.to_owned()));
        }
        let nested = "[".repeat(10_000);
        assert!(BodyFields::read(nested.as_bytes(), &[]).is_err());
    }
}
