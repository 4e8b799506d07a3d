//! The command line. Pure: it is read into a [`CliCommand`], which does the work elsewhere.

use crate::commands::arguments::{self, ApiArguments};
use crate::commands::catalog::{ApiCommand, COMMANDS};
use crate::commands::help;
use crate::target::ObserverUrl;
use crate::top::query::{SORTS, SortColumn};
use crate::usage_error::UsageError;
use lexopt::prelude::{Long, Short, Value, ValueExt};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What the program is told to do.
#[derive(Debug)]
pub(crate) enum CliCommand {
    /// Prints a text.
    Print(String),
    Top(TopArguments),
    Tree(TreeArguments),
    View(ViewArguments),
    Mcp(McpArguments),
    Api(ApiArguments),
}

/// `krarup top`.
#[derive(Debug)]
pub(crate) struct TopArguments {
    pub(crate) url: ObserverUrl,
    pub(crate) token_file: Option<PathBuf>,
    /// One frame, and the end.
    pub(crate) once: bool,
    pub(crate) period_ms: u64,
    pub(crate) sort: SortColumn,
}

/// `krarup tree`.
#[derive(Debug)]
pub(crate) struct TreeArguments {
    pub(crate) url: ObserverUrl,
    pub(crate) token_file: Option<PathBuf>,
    /// The number of the process whose tree is asked for.
    pub(crate) from: Option<u64>,
    pub(crate) depth: Option<u64>,
}

/// `krarup mcp`.
#[derive(Debug)]
pub(crate) struct McpArguments {
    pub(crate) url: ObserverUrl,
    pub(crate) token_file: Option<PathBuf>,
}

/// `krarup view`.
#[derive(Debug)]
pub(crate) struct ViewArguments {
    pub(crate) file: PathBuf,
    pub(crate) listen: SocketAddr,
}

/// The beginning of the help; the commands of the API follow.
const LIVE: &str = "\
krarup: looks into a running Krarup node by its observer, and acts on its processes

    top URL                              load, findings and processes, live
    tree URL                             the tree of processes as text
    view FILE                            the observer's page on a file of /api/v1/snapshot,
                                         or on that of a failing seed of a simulation
    mcp URL                              the observer's tools for language models, on stdio
";

/// The end of the help.
const OPTIONS: &str = "
URL is the address of an observer, such as http://127.0.0.1:9414. PROCESS is a number, a
pid or a name: 42, '<0.42.0>', 0.42.0, stock; name:42 if the name is 42.

All but view: --token-file FILE has a token, if the observer wants one for reading, and for
what acts; else that of KRARUP_OBSERVER_TOKEN is used. --json prints the answer as it came.
krarup COMMAND --help tells the other options of a command.

-h, --help and -V, --version print and end. Exit codes: 0 done, 1 failed, 2 wrong usage.
";

const TOP: &str = "\
krarup top URL: load, findings and processes, live

--once                     prints one frame and ends
--sort COLUMN              cpu (default), main, growth, handled_rate, head_wait_ms,
                           running_ms, name, behavior, state or id
--period-ms N              200 to 60000 (1000)
--token-file FILE          a token; else that of KRARUP_OBSERVER_TOKEN
";

const TREE: &str = "\
krarup tree URL: the tree of processes as text

--from ID                  the processes below that of this number
--depth N                  1 to 64 (16) generations
--token-file FILE          a token; else that of KRARUP_OBSERVER_TOKEN
";

const VIEW: &str = "\
krarup view FILE: the observer's page on a file

--listen ADDRESS           a loopback address (127.0.0.1:0, which is any port)
";

const MCP: &str = "\
krarup mcp URL: the observer's tools for language models, on stdio

--token-file FILE          a token; else that of KRARUP_OBSERVER_TOKEN
";

/// The help of the program.
fn help() -> String {
    let (reading, acting) = (help::list(false), help::list(true));
    format!("{LIVE}\nreading:\n{reading}\nacting, with the action token:\n{acting}{OPTIONS}")
}

/// Reads the arguments, without the program's own name.
pub(crate) fn read(all: impl IntoIterator<Item = OsString>) -> Result<CliCommand, UsageError> {
    let mut parser = lexopt::Parser::from_args(all);
    match parser.next()? {
        Some(Short('h') | Long("help")) => Ok(CliCommand::Print(help())),
        Some(Short('V') | Long("version")) => {
            Ok(CliCommand::Print(concat!("krarup ", env!("CARGO_PKG_VERSION"), "\n").to_owned()))
        }
        Some(Value(name)) => match name.string()?.as_str() {
            "top" => top(&mut parser),
            "tree" => tree(&mut parser),
            "view" => view(&mut parser),
            "mcp" => mcp(&mut parser),
            name => match ApiCommand::find(name) {
                Some(command) => api(command, &mut parser),
                None => Err(unknown(name)),
            },
        },
        Some(other) => Err(other.unexpected().into()),
        None => Err(UsageError::missing("a command")),
    }
}

fn top(parser: &mut lexopt::Parser) -> Result<CliCommand, UsageError> {
    let (mut url, mut token_file) = (None, None);
    let (mut once, mut period_ms, mut sort) = (false, 1000, SortColumn::default());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("once") => once = true,
            Long("token-file") => token_file = Some(parser.value()?.into()),
            Long("period-ms") => {
                period_ms = whole("--period-ms", parser.value()?.string()?, 200, 60_000)?;
            }
            Long("sort") => sort = column(parser.value()?.string()?)?,
            Short('h') | Long("help") => return Ok(CliCommand::Print(TOP.to_owned())),
            Value(text) if url.is_none() => url = Some(ObserverUrl::read(&text.string()?)?),
            other => return Err(other.unexpected().into()),
        }
    }
    let url = url.ok_or_else(|| UsageError::missing("URL"))?;
    Ok(CliCommand::Top(TopArguments { url, token_file, once, period_ms, sort }))
}

fn tree(parser: &mut lexopt::Parser) -> Result<CliCommand, UsageError> {
    let (mut url, mut token_file, mut from, mut depth) = (None, None, None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("token-file") => token_file = Some(parser.value()?.into()),
            Long("from") => from = Some(whole("--from", parser.value()?.string()?, 0, u64::MAX)?),
            Long("depth") => depth = Some(whole("--depth", parser.value()?.string()?, 1, 64)?),
            Short('h') | Long("help") => return Ok(CliCommand::Print(TREE.to_owned())),
            Value(text) if url.is_none() => url = Some(ObserverUrl::read(&text.string()?)?),
            other => return Err(other.unexpected().into()),
        }
    }
    let url = url.ok_or_else(|| UsageError::missing("URL"))?;
    Ok(CliCommand::Tree(TreeArguments { url, token_file, from, depth }))
}

fn mcp(parser: &mut lexopt::Parser) -> Result<CliCommand, UsageError> {
    let (mut url, mut token_file) = (None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("token-file") => token_file = Some(parser.value()?.into()),
            Short('h') | Long("help") => return Ok(CliCommand::Print(MCP.to_owned())),
            Value(text) if url.is_none() => url = Some(ObserverUrl::read(&text.string()?)?),
            other => return Err(other.unexpected().into()),
        }
    }
    let url = url.ok_or_else(|| UsageError::missing("URL"))?;
    Ok(CliCommand::Mcp(McpArguments { url, token_file }))
}

fn view(parser: &mut lexopt::Parser) -> Result<CliCommand, UsageError> {
    let (mut file, mut listen) = (None, SocketAddr::from(([127, 0, 0, 1], 0)));
    while let Some(argument) = parser.next()? {
        match argument {
            Long("listen") => listen = loopback(parser.value()?.string()?)?,
            Short('h') | Long("help") => return Ok(CliCommand::Print(VIEW.to_owned())),
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(CliCommand::View(ViewArguments {
        file: file.ok_or_else(|| UsageError::missing("FILE"))?,
        listen,
    }))
}

fn api(
    command: &'static ApiCommand,
    parser: &mut lexopt::Parser,
) -> Result<CliCommand, UsageError> {
    let asked = arguments::read(command, parser)?;
    Ok(asked.map_or_else(|| CliCommand::Print(help::details(command)), CliCommand::Api))
}

fn unknown(name: &str) -> UsageError {
    let known: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
    let known = format!("top tree view mcp {}", known.join(" "));
    UsageError::Unknown { name: name.to_owned(), known }
}

fn whole(option: &'static str, value: String, least: u64, most: u64) -> Result<u64, UsageError> {
    match value.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => {
            let expected = format!("a whole number from {least} to {most}");
            Err(UsageError::value(option, value, expected))
        }
    }
}

fn column(value: String) -> Result<SortColumn, UsageError> {
    SortColumn::find(&value).ok_or_else(|| {
        let names: Vec<&str> = SORTS.iter().map(|sort| sort.name).collect();
        UsageError::value("--sort", value, format!("one of {}", names.join(" ")))
    })
}

/// A file may tell what is nobody else's matter, and there is no token.
fn loopback(value: String) -> Result<SocketAddr, UsageError> {
    match value.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(address),
        _ => {
            let expected = "a loopback address with a port, such as 127.0.0.1:9415".to_owned();
            Err(UsageError::value("--listen", value, expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<CliCommand, UsageError> {
        read(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn v81_a_command_line_is_read() {
        let Ok(CliCommand::Top(top)) = of("top --once --sort main --period-ms=500 127.0.0.1:9414")
        else {
            panic!("it is a command line of top")
        };
        assert!(top.once && top.period_ms == 500 && top.sort.name() == "main");
        assert_eq!(top.url.as_str(), "http://127.0.0.1:9414");
        let Ok(CliCommand::Tree(tree)) = of("tree http://h:1 --from 7 --depth 3 --token-file t")
        else {
            panic!("it is a command line of tree")
        };
        assert_eq!((tree.from, tree.depth, tree.token_file), (Some(7), Some(3), Some("t".into())));
        let Ok(CliCommand::View(view)) = of("view f.json --listen [::1]:9") else {
            panic!("it is a command line of view")
        };
        assert_eq!(view.listen.to_string(), "[::1]:9");
        for (line, told) in [
            ("-h", help().as_str()),
            ("--help", help().as_str()),
            ("top --help", TOP),
            ("tree -h", TREE),
            ("view -h", VIEW),
            ("mcp a -h", MCP),
        ] {
            assert!(matches!(of(line), Ok(CliCommand::Print(text)) if text == told), "{line}");
        }
        for sort in SORTS {
            assert!(TOP.contains(sort.name), "{} is not told", sort.name);
        }
    }

    #[test]
    fn v81_a_wrong_command_line_is_told_what_is_wrong() {
        for (line, wrong) in [
            ("", "a command is missing"),
            ("bottom", "\"bottom\" is no command: there are top tree view mcp node"),
            ("top", "URL is missing"),
            ("view", "FILE is missing"),
            ("--nothing", "--nothing"),
            ("top a b", "\"b\""),
            ("top --sort color h:1", "--sort=\"color\" is not one of cpu"),
            ("top --period-ms 1 h:1", "--period-ms=\"1\" is not a whole number from 200 to 60000"),
            ("tree --depth 65 h:1", "--depth=\"65\" is not a whole number from 1 to 64"),
            ("view f --listen 0.0.0.0:1", "--listen=\"0.0.0.0:1\" is not a loopback address"),
            ("view f --listen localhost:1", "--listen=\"localhost:1\" is not a loopback address"),
        ] {
            let error = of(line).unwrap_err().to_string();
            assert!(error.contains(wrong), "{line}: {error}");
        }
    }
}
