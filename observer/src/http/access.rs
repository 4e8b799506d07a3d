//! Which requests a door lets in: its settings, as its owner made them.

use crate::token::Token;

/// The settings of the guard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    /// Opens the actions, and reading.
    pub(crate) action_token: Option<Token>,
    /// If there is one, reading needs it.
    pub(crate) read_token: Option<Token>,
    /// Host names in lower case, beside `localhost` and addresses.
    pub(crate) hosts: Vec<String>,
    /// Origins beside the door's own.
    pub(crate) origins: Vec<String>,
}

/// Which door a connection came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// Everything, behind the guard.
    Main,
    /// The probes and the metrics alone, open.
    Probes,
}

/// Whether a text can be the name of a host, without a port.
pub(crate) fn is_host_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    !text.is_empty() && text.len() <= 253 && text.bytes().all(letter)
}

/// Whether a text can be an origin: a scheme and a host.
pub(crate) fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    host.is_some_and(|host| {
        !host.is_empty() && host.bytes().all(|b| b.is_ascii_graphic() && !b"/?#@\\".contains(&b))
    })
}
