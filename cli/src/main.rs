//! The program `krarup`: looks into a running Krarup node by its observer, over HTTP.
//!
//! Most commands are one request to its API each, see [`commands`]. `top` is a live view on a terminal, `tree` prints the processes, `view` serves the observer's
//! page on a file of `/api/v1/snapshot`, `mcp` has its tools for language models on stdio.

#![forbid(unsafe_code)]

mod arguments;
mod client;
mod commands;
mod events;
mod figures;
mod mcp;
mod target;
mod text;
mod token;
mod top;
mod tree;
mod usage_error;
mod view;

use arguments::CliCommand;
use client::{ApiClient, ApiFailure};
use commands::ApiCommandError;
use std::env;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use target::ObserverUrl;
use text::printable;
use thiserror::Error;
use token::{ReadToken, ReadTokenError};
use top::TopError;
use usage_error::UsageError;
use view::ViewError;

/// Why the program fails.
#[derive(Debug, Error)]
enum CliError {
    #[error("{0}\nkrarup --help tells the usage")]
    Usage(#[from] UsageError),
    #[error("{0}")]
    Token(#[from] ReadTokenError),
    #[error("{0}")]
    Api(#[from] ApiFailure),
    #[error("{0}")]
    Top(#[from] TopError),
    #[error("{0}")]
    Command(#[from] ApiCommandError),
    #[error("{0}")]
    View(#[from] ViewError),
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
}

impl CliError {
    /// 2 for what was wrong before anything was done, else 1.
    fn code(&self) -> u8 {
        match self {
            CliError::Usage(_) | CliError::Token(_) | CliError::Top(TopError::NoTerminal) => 2,
            _ => 1,
        }
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            for line in error.to_string().lines() {
                eprintln!("krarup: {}", printable(line));
            }
            error.code().into()
        }
    }
}

fn run() -> Result<(), CliError> {
    match arguments::read(env::args_os().skip(1))? {
        CliCommand::Print(text) => print(&text),
        CliCommand::Top(asked) => {
            let client = client(&asked.url, asked.token_file.as_deref())?;
            if asked.once {
                print(&top::once(&client, &asked)?)
            } else {
                Ok(top::live(client, &asked)?)
            }
        }
        CliCommand::Tree(asked) => {
            let client = client(&asked.url, asked.token_file.as_deref())?;
            print(&tree::printed(&client, &asked)?)
        }
        CliCommand::Mcp(asked) => {
            let client = client(&asked.url, asked.token_file.as_deref())?;
            Ok(mcp::serve(&client, io::stdin().lock(), io::stdout().lock())?)
        }
        CliCommand::Api(asked) => {
            let client = client(&asked.url, asked.token_file.as_deref())?;
            let mut output = Ok(true);
            let done = commands::run(&client, &asked, |text| {
                output = printed(text);
                matches!(output, Ok(true))
            });
            output?;
            Ok(done?)
        }
        CliCommand::View(asked) => {
            let file = printable(&asked.file.to_string_lossy());
            match view::run(&asked, |url| writeln!(io::stdout(), "krarup: {file} is on {url}/"))? {}
        }
    }
}

fn client(url: &ObserverUrl, token_file: Option<&Path>) -> Result<ApiClient, ReadTokenError> {
    Ok(ApiClient::new(url.clone(), ReadToken::find(token_file)?))
}

fn print(text: &str) -> Result<(), CliError> {
    printed(text)?;
    Ok(())
}

/// Prints a text. A reader that has enough of it is no error: then it is false.
fn printed(text: &str) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        done => done.map(|()| true),
    }
}
