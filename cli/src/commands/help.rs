//! The help: the list of commands, and the details of one. Pure.

use crate::commands::arguments::{option, placeholder};
use crate::commands::catalog::{ApiCommand, COMMANDS};
use krarup_page::tools::{ArgumentValues, ToolArgument};
use std::fmt::Write;

/// A line for each command that reads, or for each that acts.
pub(crate) fn list(acting: bool) -> String {
    let mut text = String::new();
    for command in COMMANDS.iter().filter(|it| it.route().acts() == acting) {
        let usage = usage(command);
        // Writing to a text cannot fail.
        let _ = writeln!(text, "    {usage:36} {}", command.about);
    }
    text
}

/// All that is to know of one command.
pub(crate) fn details(command: &ApiCommand) -> String {
    let mut text = format!("krarup {}: {}\n", usage(command), command.about);
    let mut options = command.route().arguments.iter().filter(|it| !it.required).peekable();
    let needed = command.route().arguments.iter().filter(|it| it.required);
    if command.route().arguments.iter().any(|it| placeholder(it) == "PROCESS") {
        text.push_str(
            "\nPROCESS is a number, a pid or a name: 42, '<0.42.0>', 0.42.0, stock. A name that looks\n\
             like a number or a pid has name: before it: name:42.\n",
        );
    }
    for argument in needed.filter(|it| it.name != "id") {
        let _ = write!(text, "\n{} is {}", placeholder(argument), values(argument));
        let _ =
            if argument.about.is_empty() { Ok(()) } else { write!(text, ": {}", argument.about) };
        text.push('.');
    }
    if options.peek().is_some() || text.ends_with('.') {
        text.push('\n');
    }
    for argument in options {
        let process = placeholder(argument) == "PROCESS";
        let about = if process { "" } else { argument.about };
        let between = if about.is_empty() { "" } else { "; " };
        let written = format!("--{} {}", option(argument), placeholder(argument));
        let _ = writeln!(text, "{written:26} {}{between}{about}", values(argument));
    }
    text.push('\n');
    if command.follows() {
        text.push_str("--follow                   prints events as they come, until it is ended\n");
    }
    text.push_str(
        "--json                     prints the answer as it came\n\
         --token-file FILE          a token; else that of KRARUP_OBSERVER_TOKEN\n",
    );
    text
}

fn usage(command: &ApiCommand) -> String {
    let needed = command.route().arguments.iter().filter(|it| it.required);
    let mut words = vec![command.name.to_owned(), "URL".to_owned()];
    words.extend(needed.map(placeholder));
    words.extend(command.one().map(|_| "[SEQ]".to_owned()));
    words.join(" ")
}

fn values(argument: &ToolArgument) -> String {
    match argument.values {
        _ if placeholder(argument) == "PROCESS" => "a process".to_owned(),
        ArgumentValues::Whole(least, Some(most)) => format!("{least} to {most}"),
        ArgumentValues::Whole(least, None) => format!("a whole number from {least} on"),
        ArgumentValues::Text(most) => format!("a text of 1 to {most} bytes"),
        ArgumentValues::Words(words) => format!("one of {}", words.join(" ")),
    }
}
