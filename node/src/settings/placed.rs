//! Values with their places, the paths of keys, and the errors that name both.

use super::error::{Origin, SettingsError, SettingsFault};
use super::keys::listed;
use super::tree::Given;

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Placed<T> {
    pub(crate) value: T,
    pub(crate) at: Origin,
}

pub(super) fn not_a_table(at: &Origin, key: &str, given: &Given) -> SettingsError {
    let (key, takes) = (key.to_owned(), "a table".to_owned());
    at.error(SettingsFault::WrongType { key, found: given.found(), takes })
}

pub(super) fn unknown<'a>(
    at: &Origin,
    key: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> SettingsError {
    at.error(SettingsFault::UnknownKey { key: key.to_owned(), known: listed(known) })
}

/// The path of a key below another; quoted if it must be, as in a file.
pub(crate) fn path(above: &str, key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !key.is_empty() && key.chars().all(bare) {
        format!("{above}.{key}")
    } else {
        format!("{above}.{key:?}")
    }
}

/// Whether a key is written in another case, or with another separator.
pub(super) fn are_alike(key: &str, other: &str) -> bool {
    let same = |a: u8, b: u8| match a {
        b'_' | b'-' | b'.' => matches!(b, b'_' | b'-' | b'.'),
        _ => a.eq_ignore_ascii_case(&b),
    };
    key.len() == other.len() && key.bytes().zip(other.bytes()).all(|(a, b)| same(a, b))
}
