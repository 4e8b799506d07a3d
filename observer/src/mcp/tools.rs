//! The tools as clients are told of them: the schemas of their arguments and of their answers.
//! Pure.

use krarup_page::tools::{ArgumentValues, ToolArgument};
pub(crate) use krarup_page::tools::{ObserverTool, TOOLS, ToolRoute};
use serde_json::{Map, Value, json as value};

/// The schema of the arguments of a tool.
pub(crate) fn input(tool: &ObserverTool) -> Map<String, Value> {
    let properties: Map<String, Value> =
        tool.arguments.iter().map(|it| (it.name.to_owned(), schema(it))).collect();
    let needed = tool.arguments.iter().filter(|it| it.required);
    let needed: Vec<&str> = needed.map(|it| it.name).collect();
    object(&[
        ("type", "object".into()),
        ("properties", properties.into()),
        ("required", needed.into()),
        ("additionalProperties", false.into()),
    ])
}

/// The schema of the answers of a tool.
pub(crate) fn output(tool: &ObserverTool) -> Map<String, Value> {
    let fields = tool.gives.split_ascii_whitespace();
    let fields: Vec<(&str, &str)> = fields.filter_map(|field| field.split_once(':')).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|(name, kind)| ((*name).to_owned(), value!({ "type": kind }))).collect();
    let needed: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    object(&[
        ("type", "object".into()),
        ("properties", properties.into()),
        ("required", needed.into()),
    ])
}

fn schema(argument: &ToolArgument) -> Value {
    let mut schema = match argument.values {
        ArgumentValues::Whole(least, None) => value!({ "type": "integer", "minimum": least }),
        ArgumentValues::Whole(least, Some(most)) => {
            value!({ "type": "integer", "minimum": least, "maximum": most })
        }
        ArgumentValues::Text(most) => {
            value!({ "type": "string", "minLength": 1, "maxLength": most })
        }
        ArgumentValues::Words(words) => value!({ "type": "string", "enum": words }),
    };
    if let Some(default) = argument.default {
        schema["default"] = default.into();
    }
    if !argument.about.is_empty() {
        schema["description"] = argument.about.into();
    }
    schema
}

fn object(fields: &[(&str, Value)]) -> Map<String, Value> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::route::ObserverRoute;
    use std::collections::BTreeSet;

    #[test]
    fn v51_each_tool_is_a_route_with_a_name_of_its_own() {
        let names: BTreeSet<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), TOOLS.len());
        assert!(TOOLS.is_sorted_by_key(ObserverTool::acts), "those that read come first");
        for tool in TOOLS {
            let path = match tool.does {
                ToolRoute::Reads(path) => path.to_owned(),
                ToolRoute::Acts(action) => format!("/api/v1/processes/{{id}}/{action}"),
                ToolRoute::Explains => continue,
            };
            let route = ObserverRoute::find(&path.replace("{id}", "1").replace("{seq}", "1"));
            let route = route.unwrap_or_else(|| panic!("{path}"));
            assert_eq!(route.methods() == "POST", tool.acts(), "{}", tool.name);
            for part in ["id", "seq"] {
                let has = tool.arguments.iter().any(|it| it.name == part && it.required);
                assert_eq!(has, path.contains(&format!("{{{part}}}")), "{}", tool.name);
            }
        }
    }

    #[test]
    fn v51_lists_have_twenty_entries_by_default() {
        for tool in TOOLS {
            for argument in tool.arguments.iter().filter(|it| it.name == "limit") {
                assert_eq!(argument.default, Some(20), "{}", tool.name);
            }
        }
    }
}
