//! The identity of a topic.

use crate::{Name, Ref};
use std::fmt;

/// The identity of a topic (rule E1). A topic that is opened again under the same name has
/// another identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TopicId {
    /// The name; `None` if the topic has none.
    pub name: Option<Name>,
    /// A reference that no other topic of the node has.
    pub reference: Ref,
}

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "topic {:?}", name.as_str()),
            None => write!(f, "topic {}", self.reference),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e1_a_topic_prints_its_name_or_its_reference() {
        let reference = Ref::new(7);
        let unnamed = TopicId { name: None, reference };
        let named = TopicId { name: Name::new("prices").ok(), reference };
        assert_eq!(unnamed.to_string(), "topic #Ref<0.7>");
        assert_eq!(named.to_string(), "topic \"prices\"");
        let reopened = TopicId { reference: Ref::new(8), ..named.clone() };
        assert_ne!(named, reopened);
    }
}
