//! Pictures of pages: where they are kept, and how they come.

use std::env;
use std::path::{Path, PathBuf};

/// The folder of the screenshots: below the target directory of the workspace.
pub(crate) fn screenshots() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from);
    target.join("observer-screenshots")
}

/// The bytes of a text in base64.
pub(crate) fn base64(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for part in text.as_bytes().chunks(4) {
        let letters: Vec<u8> = part.iter().copied().filter(|letter| *letter != b'=').collect();
        let sum = letters.iter().fold(0_u32, |sum, letter| sum << 6 | u32::from(value(*letter)));
        let sum = sum << (6 * (4 - letters.len()));
        bytes.extend_from_slice(&sum.to_be_bytes()[1..letters.len()]);
    }
    bytes
}
