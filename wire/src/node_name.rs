//! Names of nodes in the form that the protocol requires: `alive@host`.

use crate::etf::Atom;

/// Checks the name of a node: `alive@host`, both parts of at least one byte, at most 255
/// bytes in all, without blanks and control characters (rule Zid9).
///
/// # Errors
/// [`NodeNameError`] with the name.
pub fn node_name(text: &str) -> Result<Atom, NodeNameError> {
    let parts = text.split_once('@').filter(|(alive, host)| !alive.is_empty() && !host.is_empty());
    let error = NodeNameError { name: text.chars().take(MAX_BYTES).collect() };
    let is_plain = !text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
    if parts.is_none() || !is_plain || text.len() > MAX_BYTES || text.matches('@').count() > 1 {
        return Err(error);
    }
    Atom::new(text).map_err(|_| error)
}

const MAX_BYTES: usize = 255;

/// The text is not a valid name of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is not the name of a node (expected a form like shop@host without blanks, of at most 255 bytes)"
)]
pub struct NodeNameError {
    /// The text, cut at 255 characters.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zid9_a_node_name_has_two_parts() {
        assert_eq!(node_name("shop@10.0.0.7").unwrap(), "shop@10.0.0.7");
        let long = format!("a@{}", "x".repeat(254));
        for wrong in ["", "@", "shop", "shop@", "@host", "a@b@c", "a b@c", "a@c\n", "a\0@c", &long]
        {
            let error = node_name(wrong).unwrap_err();
            assert!(wrong.starts_with(&error.name) && error.name.len() <= 255, "{error}");
        }
        assert!(node_name(&format!("a@{}", "x".repeat(253))).is_ok());
    }
}
