//! Why curves were not measured.

use std::io;
use std::process::ExitCode;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CurvesFailure {
    #[error("usage: bench-curves [--rounds N] [--tiny] FOLDER [CHART ..]")]
    Usage,
    #[error("no chart {0:?}")]
    NoChart(String),
    #[error("{command:?} failed: {text}")]
    Run { command: String, text: String },
    #[error("{command:?} printed no figure: {text:?}")]
    NoFigure { command: String, text: String },
    #[error("cannot draw: {0}")]
    Drawing(String),
    #[error("cannot run or write: {0}")]
    File(#[from] io::Error),
}

impl CurvesFailure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            CurvesFailure::Usage | CurvesFailure::NoChart(_) => 1,
            _ => 2,
        })
    }
}
