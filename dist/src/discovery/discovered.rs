//! Which nodes the discoveries have found, and what is new in an answer or in news.

use krarup_gen::NodeName;
use std::collections::BTreeSet;

/// The last answers of discoveries, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct DiscoveredNodes {
    answers: Vec<LastAnswer>,
}

#[derive(Debug, Default)]
struct LastAnswer {
    nodes: BTreeSet<NodeName>,
    is_asked: bool,
}

impl DiscoveredNodes {
    /// Whether a discovery is to be asked now: it is not being asked already.
    pub(crate) fn ask(&mut self, number: usize) -> bool {
        if self.answers.len() <= number {
            self.answers.resize_with(number + 1, LastAnswer::default);
        }
        !std::mem::replace(&mut self.answers[number].is_asked, true)
    }

    /// Handles an answer; `None` is a failure. Returns the nodes that have appeared, and those that
    /// no discovery names any more, both in the order of their names.
    pub(crate) fn answered(
        &mut self,
        number: usize,
        nodes: Option<Vec<NodeName>>,
    ) -> (Vec<NodeName>, Vec<NodeName>) {
        let Some(answer) = self.answers.get_mut(number) else { return Default::default() };
        answer.is_asked = false;
        let Some(nodes) = nodes else { return Default::default() };
        let nodes: BTreeSet<NodeName> = nodes.into_iter().collect();
        let before = std::mem::replace(&mut answer.nodes, nodes.clone());
        let appeared = nodes.difference(&before).cloned().collect();
        (appeared, self.unnamed(before.difference(&nodes)))
    }

    /// A discovery tells of changes: they are part of its last answer. Returns the nodes that have
    /// appeared, and of those that have disappeared the ones that no discovery names any more.
    pub(crate) fn told(
        &mut self,
        number: usize,
        appeared: Vec<NodeName>,
        disappeared: &[NodeName],
    ) -> (Vec<NodeName>, Vec<NodeName>) {
        if self.answers.len() <= number {
            self.answers.resize_with(number + 1, LastAnswer::default);
        }
        let nodes = &mut self.answers[number].nodes;
        nodes.extend(appeared.iter().cloned());
        nodes.retain(|node| !disappeared.contains(node));
        (appeared, self.unnamed(disappeared))
    }

    fn unnamed<'a>(&self, nodes: impl IntoIterator<Item = &'a NodeName>) -> Vec<NodeName> {
        let is_named = |node: &NodeName| self.answers.iter().any(|it| it.nodes.contains(node));
        nodes.into_iter().filter(|node| !is_named(node)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zlive4_news_are_the_difference_of_two_answers_and_a_failure_is_none() {
        let node = |name: &str| NodeName::new(name).unwrap();
        let (a, b, c) = (node("a@h"), node("b@h"), node("c@h"));
        let mut found = DiscoveredNodes::default();
        assert!(found.ask(0) && !found.ask(0) && found.ask(1));
        let one = vec![b.clone(), a.clone()];
        assert_eq!(found.answered(0, Some(one)), (vec![a.clone(), b.clone()], vec![]));
        for same in [Some(vec![a.clone(), b.clone()]), None] {
            assert!(found.ask(0));
            assert_eq!(found.answered(0, same), (vec![], vec![]));
        }
        assert_eq!(found.answered(1, Some(vec![a.clone()])), (vec![a.clone()], vec![]));
        // Another discovery still names `a`.
        assert_eq!(found.answered(0, Some(vec![c.clone()])), (vec![c], vec![b]));
        assert_eq!(found.answered(1, Some(vec![])), (vec![], vec![a]));
        assert_eq!(found.answered(7, Some(vec![])), (vec![], vec![]));
    }

    #[test]
    fn zlive4_news_are_part_of_the_answer_of_their_discovery() {
        let a = NodeName::new("a@h").unwrap();
        let mut found = DiscoveredNodes::default();
        let one = || vec![a.clone()];
        assert_eq!(found.told(1, one(), &[]), (one(), vec![]));
        assert!(found.ask(0));
        assert_eq!(found.answered(0, Some(one())), (one(), vec![]));
        // The other one still names it.
        assert_eq!(found.told(1, vec![], &one()), (vec![], vec![]));
        assert_eq!(found.told(0, vec![], &one()), (vec![], one()));
        // The next answer names it again.
        assert_eq!(found.answered(0, Some(one())), (one(), vec![]));
    }
}
