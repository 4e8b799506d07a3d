//! TLS between a socket and its codec: certificates, and the layer that uses them (rule Zhs11).
//!
//! ```text
//!   codec ── plain bytes ──► TlsStream ── records ──► TCP socket, or another transport
//!                               │
//!                            rustls: a state machine without I/O
//! ```
//!
//! Both sides prove themselves: each sends a certificate of the given authority, and refuses a peer
//! without one. A client also refuses a server whose certificate is not for the name that it has
//! dialled. Sessions are not resumed, so each connection is proved anew, with the certificates of
//! its time.
//!
//! | file | what |
//! |---|---|
//! | `configs` | PEM texts become the configurations of rustls |
//! | `stream` | the layer: a transport over a transport |
//! | `peer`, `certificate_names` | how a peer has proved itself, and the names in its certificate |
//! | `version`, `error` | the versions of TLS; why certificates cannot be used |

pub(crate) mod certificate_names;
mod configs;
pub(crate) mod error;
pub(crate) mod peer;
pub(crate) mod stream;
pub(crate) mod version;

use self::configs::{TlsConfigs, TlsPem};
use self::error::TlsError;
use self::version::TlsVersion;
use parking_lot::{Mutex, RwLock};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

/// The certificates of this side, and the authority by which the other side is judged (feature `io-tls`).
///
/// A clone is another handle on the same certificates. [`Tls::reload`] replaces them for all
/// handles and all connections to come; those that are open stay as they are.
///
/// ```no_run
/// # use krarup_gen::Result;
/// # use krarup_io::{Acceptor, Channel, Lines, Protocol, Tls};
/// # use krarup_node::Node;
/// # use std::convert::Infallible;
/// # struct Echo;
/// # impl Protocol for Echo {
/// #     type Message = Infallible;
/// #     type Codec = Lines;
/// #     fn codec(&self) -> Lines { Lines::new(1024) }
/// #     async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
/// #         channel.send_or_wait(&line).await?;
/// #         Ok(())
/// #     }
/// # }
/// # fn main() -> Result {
/// # let node = Node::start("echo@localhost")?;
/// let tls = Tls::from_files("echo.pem", "echo.key", "authority.pem")?;
/// let port = ([0, 0, 0, 0], 7_000).into();
/// let with = tls.clone();
/// node.spawn(move || Acceptor::new(port, || Echo).tls(with)).wait()?;
/// tls.reload()?; // After the files have been replaced.
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Tls {
    shared: Arc<TlsShared>,
}

struct TlsShared {
    files: Option<[PathBuf; 3]>,
    only: Option<TlsVersion>,
    current: RwLock<Arc<TlsConfigs>>,
    reloading: Mutex<()>,
}

impl Tls {
    /// Uses these certificates: the own one with those that lead to the authority, the key of the
    /// own one, and the certificates of the authority. All are PEM. The own certificate serves both
    /// sides: if it restricts its use, then to `serverAuth` and `clientAuth`.
    ///
    /// # Errors
    /// [`TlsError`] names the text that cannot be used.
    pub fn from_pem(certificates: &[u8], key: &[u8], authority: &[u8]) -> Result<Self, TlsError> {
        Tls::new(None, None, &TlsPem { certificates, key, authority })
    }

    /// Uses the certificates in these files, as [`Tls::from_pem`] does.
    ///
    /// # Errors
    /// [`TlsError`] names the file or the text that cannot be used.
    pub fn from_files(
        certificates: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
        authority: impl Into<PathBuf>,
    ) -> Result<Self, TlsError> {
        let files = [certificates.into(), key.into(), authority.into()];
        let [certificates, key, authority] = &read(&files)?;
        Tls::new(Some(files), None, &TlsPem { certificates, key, authority })
    }

    fn new(
        files: Option<[PathBuf; 3]>,
        only: Option<TlsVersion>,
        pem: &TlsPem<'_>,
    ) -> Result<Self, TlsError> {
        let current = RwLock::new(Arc::new(TlsConfigs::new(pem, only)?));
        Ok(Tls {
            shared: Arc::new(TlsShared { files, only, current, reloading: Mutex::default() }),
        })
    }

    /// Reads the files again, for the connections to come. If they cannot be used, everything stays
    /// as it is. It blocks: on a process, use it in
    /// [`Context::block`](krarup_act::Context::block).
    ///
    /// # Errors
    /// [`TlsError`] names the file or the text that cannot be used;
    /// [`TlsError::NotFromFiles`] after [`Tls::from_pem`].
    pub fn reload(&self) -> Result<(), TlsError> {
        let files = self.shared.files.as_ref().ok_or(TlsError::NotFromFiles)?;
        // Of two calls at a time the later one reads later.
        let _one = self.shared.reloading.lock();
        let [certificates, key, authority] = &read(files)?;
        self.replace_pem(certificates, key, authority)
    }

    /// Uses other certificates, for the connections to come. If they cannot be used, everything
    /// stays as it is.
    ///
    /// # Errors
    /// Those of [`Tls::from_pem`].
    pub fn replace_pem(
        &self,
        certificates: &[u8],
        key: &[u8],
        authority: &[u8],
    ) -> Result<(), TlsError> {
        let pem = TlsPem { certificates, key, authority };
        let configs = Arc::new(TlsConfigs::new(&pem, self.shared.only)?);
        let before = std::mem::replace(&mut *self.shared.current.write(), configs);
        drop(before);
        Ok(())
    }

    /// Speaks this version only, from now on and for all handles made of the returned one. Without
    /// it, both sides take the newest that both know.
    ///
    /// # Errors
    /// [`TlsError`] if the certificates cannot be used with this version.
    pub fn only(self, version: TlsVersion) -> Result<Self, TlsError> {
        let configs = Arc::new(self.configs().only(version)?);
        let TlsShared { files, .. } = &*self.shared;
        let (files, current) = (files.clone(), RwLock::new(configs));
        let reloading = Mutex::default();
        let only = Some(version);
        Ok(Tls { shared: Arc::new(TlsShared { files, only, current, reloading }) })
    }

    fn configs(&self) -> Arc<TlsConfigs> {
        Arc::clone(&self.shared.current.read())
    }

    /// The state of a connection that was accepted.
    pub(crate) fn accepting(&self) -> io::Result<Connection> {
        let server = ServerConnection::new(Arc::clone(&self.configs().server));
        server.map(Connection::Server).map_err(io::Error::other)
    }

    /// The state of a connection to a server that must have a certificate for this name.
    pub(crate) fn dialling(&self, server: &str) -> io::Result<Connection> {
        let name = ServerName::try_from(server.to_owned()).map_err(|_| {
            io::Error::new(ErrorKind::InvalidInput, TlsError::ServerName(server.to_owned()))
        })?;
        let client = ClientConnection::new(Arc::clone(&self.configs().client), name);
        client.map(Connection::Client).map_err(io::Error::other)
    }
}

fn read(files: &[PathBuf; 3]) -> Result<[Vec<u8>; 3], TlsError> {
    let read = |path: &PathBuf| {
        fs::read(path).map_err(|source| TlsError::File { path: path.clone(), source })
    };
    Ok([read(&files[0])?, read(&files[1])?, read(&files[2])?])
}

/// Keys are never printed.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("files", &self.shared.files)
            .field("only", &self.shared.only)
            .finish_non_exhaustive()
    }
}
