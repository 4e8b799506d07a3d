//! Names of nodes.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The name of a node of a cluster: `alive@host`, both parts of at least one byte, at most 255
/// bytes in all, without blanks and control characters (rule Zid9).
///
/// Cloning shares the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeName(Arc<str>);

impl NodeName {
    /// The greatest length of a name in bytes.
    pub const MAX_BYTES: usize = 255;

    /// Creates a name from a text.
    ///
    /// # Errors
    /// [`InvalidNodeName`] if the text has not the form `alive@host`, or is too long.
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidNodeName> {
        let text = text.as_ref();
        let parts = text.split_once('@');
        let valid = parts.is_some_and(|(alive, host)| {
            !alive.is_empty() && !host.is_empty() && !host.contains('@')
        });
        let is_plain = !text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        if valid && is_plain && text.len() <= Self::MAX_BYTES {
            return Ok(NodeName(text.into()));
        }
        Err(InvalidNodeName { name: text.chars().take(Self::MAX_BYTES).collect() })
    }

    /// Returns the text of the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the part before the `@`, under which the node is known to its port mapper.
    #[must_use]
    pub fn alive(&self) -> &str {
        self.0.split_once('@').map_or(&*self.0, |(alive, _)| alive)
    }

    /// Returns the part behind the `@`.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, host)| host)
    }
}

impl FromStr for NodeName {
    type Err = InvalidNodeName;

    fn from_str(text: &str) -> Result<Self, InvalidNodeName> {
        NodeName::new(text)
    }
}

impl AsRef<str> for NodeName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// The error of a text that is not the name of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is not the name of a node (expected a form like shop@host without blanks, of at most {} bytes)",
    NodeName::MAX_BYTES
)]
pub struct InvalidNodeName {
    /// The text, cut at 255 characters.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zid9_a_node_name_has_two_parts() {
        let name = NodeName::new("shop@10.0.0.7").unwrap();
        assert_eq!((name.alive(), name.host()), ("shop", "10.0.0.7"));
        assert_eq!(name.to_string().parse(), Ok(name));
        let long = format!("a@{}", "x".repeat(254));
        for wrong in ["", "@", "shop", "shop@", "@host", "a@b@c", "a b@c", "a@c\n", "a\0@c", &long]
        {
            let error = NodeName::new(wrong).unwrap_err();
            assert!(wrong.starts_with(&error.name), "{error}");
        }
        assert!(NodeName::new(format!("a@{}", "x".repeat(253))).is_ok());
    }
}
