//! Names of nodes with wildcards.

use std::fmt;
use std::str::FromStr;

/// The names of some nodes: a name, in which each `*` stands for any characters or none.
///
/// It has exactly one `@`, as the names of nodes have, so `*@*` are all of them.
///
/// ```
/// # mod krarup { pub use krarup_dist as cluster; }
/// use krarup::cluster::NodePattern;
///
/// let pattern: NodePattern = "web*@10.0.0.*".parse()?;
/// assert!(pattern.matches("web1@10.0.0.7"));
/// assert!(!pattern.matches("db1@10.0.0.7") && !pattern.matches("web1@10.0.1.7"));
/// assert!("web*".parse::<NodePattern>().is_err());
/// # Ok::<(), krarup_dist::NodePatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodePattern(Box<str>);

/// The text is no pattern of names of nodes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} stands for no nodes: it must be NAME@HOST, each of which may have *")]
pub struct NodePatternError {
    /// The text, cut at 100 characters.
    pub pattern: String,
}

impl FromStr for NodePattern {
    type Err = NodePatternError;

    fn from_str(text: &str) -> Result<Self, NodePatternError> {
        let is_name = |part: &str| {
            !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || c.is_control())
        };
        match text.split_once('@') {
            Some((alive, host)) if is_name(alive) && is_name(host) && !host.contains('@') => {
                Ok(NodePattern(text.into()))
            }
            _ => Err(NodePatternError { pattern: text.chars().take(100).collect() }),
        }
    }
}

impl NodePattern {
    /// Whether the node with this name is one of them.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let (Some((alive, host)), Some((named, at))) =
            (self.0.split_once('@'), name.split_once('@'))
        else {
            return false;
        };
        part_matches(alive, named) && part_matches(host, at)
    }
}

/// Whether a text is a pattern's, in linear time for each `*`: the parts between the stars are found
/// one behind the other, each as early as it can be.
fn part_matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

impl fmt::Display for NodePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zsec3_a_star_stands_for_any_characters_of_its_part_or_none() {
        for (pattern, name, is_one) in [
            ("a@b", "a@b", true),
            ("a@b", "aa@b", false),
            ("a@b", "a@bb", false),
            ("*@*", "a@b", true),
            ("*@b", "x@b", true),
            ("*@b", "x@cb", false),
            ("a*@b", "a@b", true),
            ("a*c@b", "abc@b", true),
            ("a*c@b", "ac@b", true),
            ("a*a@b", "a@b", false),
            ("a*b*c@h", "a-b-b-c@h", true),
            ("a*b*c@h", "a-c-b@h", false),
            ("*ab@h", "aab@h", true),
            ("*ab@h", "aba@h", false),
            // A star does not reach over the at sign.
            ("a*b@h", "a@b@h", false),
            ("a*@h", "a@x@h", false),
            ("**@*", "é@h", true),
            ("é*@h", "éa@h", true),
            ("a@b", "a", false),
        ] {
            let found = pattern.parse::<NodePattern>().unwrap().matches(name);
            assert_eq!(found, is_one, "{pattern} and {name}");
        }
    }

    #[test]
    fn zsec3_what_is_no_pattern_is_an_error_that_names_it() {
        for odd in ["", "a", "*", "@", "a@", "@b", "a@b@c", "a b@c", "a@b\n"] {
            let error = odd.parse::<NodePattern>().unwrap_err();
            assert!(error.to_string().starts_with(&format!("{odd:?} stands")), "{error}");
        }
        let long = "x".repeat(1_000).parse::<NodePattern>().unwrap_err();
        assert_eq!(long.pattern.len(), 100);
    }
}
