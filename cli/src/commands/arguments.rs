//! The arguments of a command of the API: those that its route needs stand in their order, the
//! others are options. Pure.

use crate::commands::catalog::{ApiCommand, ReportText};
use crate::commands::process_name::ProcessName;
use crate::target::ObserverUrl;
use crate::usage_error::UsageError;
use krarup_page::tools::{ArgumentValues, ObserverTool, ToolArgument};
use lexopt::prelude::{Long, Short, Value, ValueExt};
use std::path::PathBuf;

/// A command of the API with its arguments.
#[derive(Debug)]
pub(crate) struct ApiArguments {
    pub(crate) command: &'static ApiCommand,
    pub(crate) url: ObserverUrl,
    pub(crate) token_file: Option<PathBuf>,
    /// The body as it came.
    pub(crate) json: bool,
    /// Events are printed as they come.
    pub(crate) follow: bool,
    /// The process that stands in the path.
    pub(crate) process: Option<ProcessName>,
    /// The number of one item of a ring.
    pub(crate) seq: Option<String>,
    pub(crate) given: Vec<GivenArgument>,
}

impl ApiArguments {
    /// The route of one item of a ring, and its text, if a number is given.
    pub(crate) fn one(&self) -> Option<(&'static ObserverTool, ReportText)> {
        self.command.one().filter(|_| self.seq.is_some())
    }

    /// The route that is asked for.
    pub(crate) fn route(&self) -> &'static ObserverTool {
        self.one().map_or_else(|| self.command.route(), |(route, _)| route)
    }

    /// The number that is given for an argument.
    pub(crate) fn number(&self, name: &str) -> Option<i128> {
        self.given.iter().find_map(|given| match given.value {
            GivenValue::Number(number) if given.argument.name == name => Some(number),
            _ => None,
        })
    }

    /// The first field that its answer always has.
    pub(crate) fn first_field(&self) -> &'static str {
        self.route().gives.split(':').next().unwrap_or_default()
    }
}

/// An argument of a route, within its bounds.
#[derive(Debug)]
pub(crate) struct GivenArgument {
    pub(crate) argument: &'static ToolArgument,
    pub(crate) value: GivenValue,
}

/// What is given for an argument.
#[derive(Debug)]
pub(crate) enum GivenValue {
    Number(i128),
    Text(String),
    /// The number of this process.
    Process(ProcessName),
}

/// Reads what stands behind the name of a command. `None`: its help is asked for.
pub(crate) fn read(
    command: &'static ApiCommand,
    parser: &mut lexopt::Parser,
) -> Result<Option<ApiArguments>, UsageError> {
    let (mut url, mut token_file, mut json, mut follow) = (None, None, false, false);
    let (mut process, mut seq, mut given) = (None, None, Vec::new());
    let mut needed = needed(command);
    let options = || command.route().arguments.iter().filter(|it| !it.required);
    while let Some(next) = parser.next()? {
        match next {
            Short('h') | Long("help") => return Ok(None),
            Long("json") => json = true,
            Long("token-file") => token_file = Some(parser.value()?.into()),
            Long("follow") if command.follows() => follow = true,
            Long(name) => {
                let Some(argument) = options().find(|it| option(it) == name) else {
                    return Err(Long(name).unexpected().into());
                };
                let written = format!("--{name}");
                let text = parser.value()?.string()?;
                let twice = |it: &GivenArgument| it.argument.name == argument.name;
                if given.iter().any(twice) {
                    return Err(UsageError::Together(written.clone(), "itself: it is given twice"));
                }
                given.push(GivenArgument { argument, value: value(argument, &written, text)? });
            }
            Value(text) if url.is_none() => url = Some(ObserverUrl::read(&text.string()?)?),
            Value(text) => {
                let text = text.string()?;
                match needed.pop() {
                    Some(argument) if argument.name == "id" => process = Some(process_of(&text)?),
                    Some(argument) => {
                        let value = value(argument, &placeholder(argument), text)?;
                        given.push(GivenArgument { argument, value });
                    }
                    None if seq.is_none() && command.one().is_some() => {
                        seq = Some(whole("SEQ", text, 1, u64::MAX.into())?.to_string());
                    }
                    None => return Err(Value(text.into()).unexpected().into()),
                }
            }
            other @ Short(_) => return Err(other.unexpected().into()),
        }
    }
    let url = url.ok_or_else(|| UsageError::missing("URL"))?;
    if let Some(argument) = needed.pop() {
        return Err(UsageError::Missing(placeholder(argument)));
    }
    if seq.is_some() && (follow || !given.is_empty()) {
        let other = given.first().map_or("follow".to_owned(), |it| option(it.argument));
        return Err(UsageError::Together(format!("--{other}"), "SEQ"));
    }
    Ok(Some(ApiArguments { command, url, token_file, json, follow, process, seq, given }))
}

/// The arguments that stand in their order, the last one first.
fn needed(command: &ApiCommand) -> Vec<&'static ToolArgument> {
    command.route().arguments.iter().rev().filter(|it| it.required).collect()
}

/// The option of an argument, without its dashes.
pub(crate) fn option(argument: &ToolArgument) -> String {
    argument.name.replace('_', "-")
}

/// What stands for an argument in a line of usage.
pub(crate) fn placeholder(argument: &ToolArgument) -> String {
    if is_process(argument) { "PROCESS".to_owned() } else { argument.name.to_ascii_uppercase() }
}

/// Whether an argument is the number of a process.
fn is_process(argument: &ToolArgument) -> bool {
    ["id", "pid", "parent"].contains(&argument.name)
}

fn process_of(text: &str) -> Result<ProcessName, UsageError> {
    if text.is_empty() {
        let expected = "a number, a pid or a name".to_owned();
        return Err(UsageError::value("PROCESS", text.to_owned(), expected));
    }
    Ok(ProcessName::read(text))
}

fn value(argument: &ToolArgument, written: &str, text: String) -> Result<GivenValue, UsageError> {
    match argument.values {
        _ if is_process(argument) => process_of(&text).map(GivenValue::Process),
        ArgumentValues::Whole(least, most) => {
            let most = most.map_or(u64::MAX.into(), i128::from);
            whole(written, text, least.into(), most).map(GivenValue::Number)
        }
        ArgumentValues::Text(most) if text.is_empty() || text.len() > most => {
            let expected = format!("a text of 1 to {most} bytes");
            Err(UsageError::value(written, text, expected))
        }
        ArgumentValues::Words(words) if !words.contains(&text.as_str()) => {
            Err(UsageError::value(written, text, format!("one of {}", words.join(" "))))
        }
        ArgumentValues::Text(_) | ArgumentValues::Words(_) => Ok(GivenValue::Text(text)),
    }
}

fn whole(written: &str, text: String, least: i128, most: i128) -> Result<i128, UsageError> {
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => {
            let expected = format!("a whole number from {least} to {most}");
            Err(UsageError::value(written, text, expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Option<ApiArguments>, UsageError> {
        let mut words = line.split_whitespace();
        let command = ApiCommand::find(words.next().unwrap()).unwrap();
        read(command, &mut lexopt::Parser::from_args(words))
    }

    #[test]
    fn v84_what_a_route_needs_stands_in_its_order_and_the_rest_are_options() {
        let asked = of("trace h:1 stock 5 60 --json").unwrap().unwrap();
        assert_eq!(asked.process, Some(ProcessName::Name("stock".to_owned())));
        assert!(asked.json && !asked.follow && asked.seq.is_none());
        let given: Vec<_> = asked.given.iter().map(|it| (it.argument.name, &it.value)).collect();
        let [("items", GivenValue::Number(5)), ("seconds", GivenValue::Number(60))] = given[..]
        else {
            panic!("{given:?}")
        };
        let asked = of("logs --pid <0.7.0> --level=warn h:1 --after -1 --follow").unwrap().unwrap();
        assert!(asked.follow);
        assert!(matches!(&asked.given[0].value, GivenValue::Process(ProcessName::Id(7))));
        assert!(matches!(&asked.given[1].value, GivenValue::Text(text) if text == "warn"));
        assert!(matches!(&asked.given[2].value, GivenValue::Number(-1)));
        let asked = of("ps h:1 --min-main 18446744073709551615").unwrap().unwrap();
        assert_eq!(asked.given[0].argument.name, "min_main");
        assert_eq!(of("crashes h:1 7").unwrap().unwrap().seq.as_deref(), Some("7"));
        for line in ["ps -h", "kill --help", "crashes h:1 --help"] {
            assert!(of(line).unwrap().is_none(), "{line}");
        }
    }

    #[test]
    fn v84_a_wrong_argument_is_named_with_its_value() {
        for (line, wrong) in [
            ("ps", "URL is missing"),
            ("info h:1", "PROCESS is missing"),
            ("exit h:1 7", "REASON is missing"),
            ("record h:1 7", "ITEMS is missing"),
            ("ps h:1 stock", "\"stock\""),
            ("ps h:1 --limit 0", "--limit=\"0\" is not a whole number from 1 to 500"),
            ("ps h:1 --limit 5x", "--limit=\"5x\" is not a whole number"),
            ("ps h:1 --limit", "--limit"),
            ("ps h:1 --limit 1 --limit 2", "--limit does not go with itself"),
            ("ps h:1 --sort color", "--sort=\"color\" is not one of id name"),
            ("ps h:1 --follow", "--follow"),
            ("ps h:1 --id 7", "--id"),
            ("ps h:1 --parent=", "PROCESS=\"\" is not a number, a pid or a name"),
            ("ps h:1 --q=", "--q=\"\" is not a text of 1 to 64 bytes"),
            ("crashes h:1 0", "SEQ=\"0\" is not a whole number from 1"),
            ("crashes h:1 7 8", "\"8\""),
            ("crashes h:1 7 --follow", "--follow does not go with SEQ"),
            ("crashes h:1 7 --after 3", "--after does not go with SEQ"),
            ("suspend h:1 7 3601", "SECONDS=\"3601\" is not a whole number from 1 to 3600"),
            ("kill https://h:1 7", "needs TLS"),
            ("kill h:1 7 -x", "-x"),
        ] {
            let error = of(line).unwrap_err().to_string();
            assert!(error.contains(wrong), "{line}: {error}");
        }
    }
}
