//! `krarup top`: load, findings and processes of a node on a terminal.

pub(crate) mod columns;
mod feed;
mod frame;
pub(crate) mod query;
mod screen;
mod shares;
mod state;

use crate::arguments::TopArguments;
use crate::client::{ApiClient, ApiFailure};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::terminal::size;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How often the ages on the screen are drawn anew.
const TICK: Duration = Duration::from_secs(1);
/// Inputs that wait while the terminal is slow.
const WAITING: usize = 64;
/// The size of a frame where there is no terminal.
const SIZE: (u16, u16) = (80, 24);

/// Why the view ended.
#[derive(Debug, Error)]
pub(crate) enum TopError {
    #[error("there is no terminal; krarup top --once prints one frame without one")]
    NoTerminal,
    #[error("{0}")]
    Api(#[from] ApiFailure),
    #[error("the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// One frame as text.
pub(crate) fn once(client: &ApiClient, asked: &TopArguments) -> Result<String, TopError> {
    let screen = if io::stdout().is_terminal() { size().ok() } else { None };
    let (width, height) =
        screen.filter(|(width, height)| *width > 0 && *height > 0).unwrap_or(SIZE);
    let period = Duration::from_millis(asked.period_ms);
    let mut top = state::TopState::new(asked.sort, period, height);
    feed::one_picture(client, asked.period_ms, &mut top)?;
    // A picture in memory: drawing it does not fail.
    let mut terminal = Terminal::new(TestBackend::new(width, height)).map_err(io::Error::other)?;
    terminal.draw(|frame| frame::draw(frame, &top)).map_err(io::Error::other)?;
    let lines = screen::lines_of(terminal.backend().buffer());
    // The last line tells the keys, of which there are none here.
    let shown = &lines[..lines.len().saturating_sub(1)];
    Ok(shown.join("\n").trim_end().to_owned() + "\n")
}

/// The live view, until a key or a signal ends it.
pub(crate) fn live(client: ApiClient, asked: &TopArguments) -> Result<(), TopError> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(TopError::NoTerminal);
    }
    // Where nothing answers the message is worth more than an empty screen.
    client.json("/api/v1/node")?;
    let client = Arc::new(client);
    let (tell, inputs) = sync_channel(WAITING);
    let mut screen = screen::TopScreen::take()?;
    let period = Duration::from_millis(asked.period_ms);
    let mut top = state::TopState::new(asked.sort, period, screen.height()?);
    let began = Instant::now();
    let ask = feed::start(&client, asked.period_ms, &tell)?;
    loop {
        screen.draw(&top)?;
        let input = match inputs.recv_timeout(TICK) {
            Ok(input) => input,
            Err(RecvTimeoutError::Timeout) => state::TopInput::Tick,
            // All threads have ended, so nothing more will come.
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        match top.apply(input, began.elapsed()) {
            state::TopStep::Quit => return Ok(()),
            state::TopStep::Draw => {}
            // The thread lives as long as this sender.
            state::TopStep::Ask => drop(ask.send(top.query.clone())),
        }
    }
}
