//! The arguments of a command of the API: those that its route needs stand in their order, the
//! others are options. Pure.

use crate::commands::catalog::ApiCommand;
use crate::commands::process_name::ProcessName;
use crate::target::ObserverUrl;
use crate::usage_error::UsageError;
use krarup_page::tools::{ArgumentValues, ToolArgument};
use lexopt::prelude::{Long, Short, Value, ValueExt};
use std::path::PathBuf;

/// A command of the API with its arguments.
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

/// An argument of a route, within its bounds.
pub(crate) struct GivenArgument {
    pub(crate) argument: &'static ToolArgument,
    pub(crate) value: GivenValue,
}

/// What is given for an argument.
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
