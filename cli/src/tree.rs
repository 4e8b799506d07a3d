//! `krarup tree`: the tree of processes, as the observer prints it.

use crate::arguments::TreeArguments;
use crate::client::{ApiClient, ApiFailure};
use crate::text::printable_lines;
use std::fmt::Write;

/// The printed tree.
pub(crate) fn printed(client: &ApiClient, asked: &TreeArguments) -> Result<String, ApiFailure> {
    let mut route = "/tree?format=text".to_owned();
    for (name, value) in [("from", asked.from), ("depth", asked.depth)] {
        if let Some(value) = value {
            // Writing to a text cannot fail.
            let _ = write!(route, "&{name}={value}");
        }
    }
    // The observer has made it harmless. This is for what only looks like one.
    client.text(&route).map(|text| printable_lines(&text))
}
