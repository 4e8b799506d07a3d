//! `krarup view`: the observer's page on a file, offline. It listens on a loopback address, has the
//! guard of an observer, and nothing can be written.

mod lists;
mod parameters;
mod refusal;
mod request;
mod routes;
mod server;
mod snapshot;
mod subtree;

use crate::arguments::ViewArguments;
use routes::ViewedFile;
use snapshot::{SnapshotError, SnapshotFile};
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use thiserror::Error;

/// The most bytes of a file. An observer writes at most 4 MiB.
const LARGEST: u64 = 64 << 20;

/// Why a file is not shown.
#[derive(Debug, Error)]
pub(crate) enum ViewError {
    #[error("{0:?} cannot be read: {1}")]
    File(PathBuf, io::Error),
    #[error("{0:?} has more than 64 MiB")]
    Large(PathBuf),
    #[error("{0:?} is not shown: {1}")]
    Snapshot(PathBuf, SnapshotError),
    #[error("listening on {0} failed: {1}")]
    Listen(SocketAddr, io::Error),
}

/// Serves the file until the program is ended. `tell` is told the address of the page.
pub(crate) fn run(
    asked: &ViewArguments,
    tell: impl FnOnce(&str) -> io::Result<()>,
) -> Result<Infallible, ViewError> {
    let failed = |error| ViewError::File(asked.file.clone(), error);
    let mut text = String::new();
    let source = File::open(&asked.file).map_err(failed)?;
    source.take(LARGEST + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > LARGEST {
        return Err(ViewError::Large(asked.file.clone()));
    }
    let file =
        SnapshotFile::read(text).map_err(|error| ViewError::Snapshot(asked.file.clone(), error))?;
    let unheard = |error| ViewError::Listen(asked.listen, error);
    let listener = TcpListener::bind(asked.listen).map_err(unheard)?;
    let address = listener.local_addr().map_err(unheard)?;
    tell(&format!("http://{address}")).map_err(unheard)?;
    let name = asked.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    server::serve(&listener, ViewedFile { file, name })
}
