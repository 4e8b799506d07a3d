//! From the arguments of a call to a path, a query or a body. Pure.

use crate::http::refusal::{Code, Refusal};
use crate::mcp::tools::ObserverTool;
use crate::text::cut;
use serde_json::{Map, Value};
use std::fmt::Write;

/// The path and the query of a tool that reads. The route checks the values in the query.
pub(super) fn target(
    tool: &ObserverTool,
    path: &str,
    given: &Map<String, Value>,
) -> Result<String, Refusal> {
    let (mut target, inside) = match path.split_once('{') {
        Some((before, rest)) => {
            let (part, after) = rest.split_once('}').unwrap_or((rest, ""));
            (format!("{before}{}{after}", path_number(part, given)?), Some(part))
        }
        None => (path.to_owned(), None),
    };
    let mut first = true;
    let mut add = |name: &str, value: &str| {
        let mark = if std::mem::take(&mut first) { '?' } else { '&' };
        // Writing to a text cannot fail.
        let _ = write!(target, "{mark}{}={}", encoded(name), encoded(value));
    };
    for (name, value) in given.iter().filter(|(name, _)| Some(name.as_str()) != inside) {
        match value {
            // A model that has nothing to say may say null.
            Value::Null => {}
            Value::String(text) => add(name, text),
            Value::Number(number) => add(name, &number.to_string()),
            _ => {
                let message = format!("{name} is neither a number nor a text");
                return Err(Refusal::parameter(Code::BadParameter, name, message));
            }
        }
    }
    let missing = tool.arguments.iter().filter(|it| given.get(it.name).is_none_or(Value::is_null));
    for (name, default) in missing.filter_map(|it| Some((it.name, it.default?))) {
        add(name, &default.to_string());
    }
    Ok(target)
}

/// A number that stands in a path.
pub(super) fn path_number(name: &str, given: &Map<String, Value>) -> Result<u64, Refusal> {
    let number = match given.get(name) {
        Some(Value::String(text)) => text.parse().ok(),
        Some(value) => value.as_u64(),
        None => None,
    };
    number.ok_or_else(|| {
        let expected = format!("a whole number from 0 to {}", u64::MAX);
        let example = if name == "id" { ", such as 42 of the pid <0.42.0>" } else { "" };
        let message = match given.get(name) {
            None | Some(Value::Null) => format!("{name} is not there; it is {expected}{example}"),
            Some(value) => cut(&format!("{name}={value} is not {expected}{example}")),
        };
        Refusal::parameter(Code::BadParameter, name, message)
    })
}

/// A text as a part of a query.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(name: &str, given: &Value) -> Result<String, (Code, Option<String>)> {
        use crate::mcp::tools::ToolRoute;
        let tool = ObserverTool::find(name).unwrap();
        let ToolRoute::Reads(path) = tool.does else { panic!("{name}") };
        let target = target(tool, path, given.as_object().unwrap());
        target.map_err(|refusal| (refusal.code, refusal.parameter))
    }

    #[test]
    fn v51_arguments_are_the_parameters_of_the_route_and_the_parts_of_its_path() {
        for (name, given, expected) in [
            ("node", json!({}), "/api/v1/node"),
            ("list_processes", json!({}), "/api/v1/processes?limit=20"),
            ("list_processes", json!({"limit": 3}), "/api/v1/processes?limit=3"),
            (
                "list_processes",
                json!({"q": "a&b=c d/ä", "sort": null}),
                "/api/v1/processes?q=a%26b%3Dc%20d%2F%C3%A4&limit=20",
            ),
            ("process_info", json!({"id": 42}), "/api/v1/processes/42"),
            ("inspect", json!({"id": "42"}), "/api/v1/processes/42/inspect?timeout_ms=1000"),
            ("crashes", json!({}), "/api/v1/crashes?after=-1&limit=20"),
            ("crashes", json!({"after": 7, "limit": 1}), "/api/v1/crashes?after=7&limit=1"),
            // The route says that it has no such parameter.
            ("node", json!({"x?&": 1.5}), "/api/v1/node?x%3F%26=1.5"),
        ] {
            assert_eq!(read(name, &given).as_deref(), Ok(expected), "{given}");
        }
    }

    #[test]
    fn v51_a_path_has_whole_numbers_alone() {
        for bad in [
            json!({}),
            json!({"id": -1}),
            json!({"id": 1.5}),
            json!({"id": "1/kill"}),
            json!({"id": null}),
            json!({"id": [1]}),
            json!({"id": "../node"}),
            json!({"id": ""}),
        ] {
            let refused = Err((Code::BadParameter, Some("id".to_owned())));
            assert_eq!(read("process_info", &bad), refused, "{bad}");
        }
        let message = |name: &str, given: &Value| {
            path_number(name, given.as_object().unwrap()).unwrap_err().message
        };
        let range = "a whole number from 0 to 18446744073709551615";
        let example = "such as 42 of the pid <0.42.0>";
        for (name, given, expected) in [
            ("id", json!({"id": -1}), format!("id=-1 is not {range}, {example}")),
            ("id", json!({}), format!("id is not there; it is {range}, {example}")),
            (
                "seq",
                json!({"seq": "18446744073709551616"}),
                format!("seq=\"18446744073709551616\" is not {range}"),
            ),
            ("seq", json!({}), format!("seq is not there; it is {range}")),
        ] {
            assert_eq!(message(name, &given), expected, "{given}");
        }
        let nested = read("list_processes", &json!({"q": {"a": 1}}));
        assert_eq!(nested, Err((Code::BadParameter, Some("q".to_owned()))));
    }
}
