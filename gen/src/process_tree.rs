//! A process with those that it spawned, and so on down.
//!
//! A process may spawn a process that spawns a process, as deep as there is memory. So nothing
//! here recurses: trees are walked, dropped, copied, compared and printed with a list of what is
//! still to do, on whatever stack their holder has.

use crate::{ProcessInfo, Root};
use std::fmt;

/// Generations that are shown by indentation when a tree is printed. With one more indentation
/// for each, the text of a chain would grow with the square of its length.
const INDENTED: usize = 64;

/// A process and the processes it spawned, in the order they were spawned (rule X4).
///
/// A tree may be as deep as there are processes: go through it with [`ProcessTree::walk`] rather
/// than with a function that calls itself. To move the fields out, use [`std::mem::take`] or
/// clone them.
pub struct ProcessTree {
    /// The process.
    pub process: ProcessInfo,
    /// The processes it spawned that are still alive.
    pub children: Vec<ProcessTree>,
}

impl ProcessTree {
    /// The tree of a process and those below it.
    #[must_use]
    pub fn new(process: ProcessInfo, children: Vec<ProcessTree>) -> Self {
        ProcessTree { process, children }
    }

    /// Each process of the tree with its depth, which is 0 for the first: parents before their
    /// children, and these in the order in which they were spawned.
    ///
    /// ```
    /// # use krarup_gen::{Label, Pid, ProcessInfo, ProcessState, ProcessTree};
    /// # let info = |n| ProcessInfo::new(Pid::local(n, 1), Label::of_type("Worker"), ProcessState::Idle);
    /// let tree = ProcessTree::new(info(1), vec![ProcessTree::new(info(2), Vec::new())]);
    /// let depths: Vec<_> = tree.walk().map(|(depth, below)| (depth, below.process.pid.id())).collect();
    /// assert_eq!(depths, [(0, 1), (1, 2)]);
    /// ```
    pub fn walk(&self) -> impl Iterator<Item = (usize, &ProcessTree)> + Clone {
        Walk { ahead: vec![(0, self)] }
    }

    fn processes(&self) -> impl Iterator<Item = (usize, &ProcessInfo)> {
        self.walk().map(|(depth, tree)| (depth, &tree.process))
    }
}

/// The processes of a tree, one by one.
#[derive(Clone)]
struct Walk<'a> {
    /// What comes next is last.
    ahead: Vec<(usize, &'a ProcessTree)>,
}

impl<'a> Iterator for Walk<'a> {
    type Item = (usize, &'a ProcessTree);

    fn next(&mut self) -> Option<Self::Item> {
        let (depth, tree) = self.ahead.pop()?;
        self.ahead.extend(tree.children.iter().rev().map(|child| (depth + 1, child)));
        Some((depth, tree))
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        let mut rest = std::mem::take(&mut self.children);
        while let Some(mut tree) = rest.pop() {
            rest.append(&mut tree.children);
        }
    }
}

impl Clone for ProcessTree {
    fn clone(&self) -> Self {
        let originals: Vec<_> = self.walk().map(|(_, tree)| tree).collect();
        // From the last to the first: the copies of the children of the next one are the last
        // that were made, its first child last of all.
        let mut copies: Vec<ProcessTree> = Vec::new();
        for original in originals.into_iter().rev() {
            let mut children = copies.split_off(copies.len() - original.children.len());
            children.reverse();
            copies.push(ProcessTree::new(original.process.clone(), children));
        }
        // Not reached without one: there is a copy of the first.
        copies.pop().unwrap_or_else(|| ProcessTree::new(self.process.clone(), Vec::new()))
    }
}

/// Depths and processes in the order of a walk make the whole tree.
impl PartialEq for ProcessTree {
    fn eq(&self, other: &Self) -> bool {
        self.processes().eq(other.processes())
    }
}

/// A list of depths and processes, in the order of [`ProcessTree::walk`].
impl fmt::Debug for ProcessTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.processes()).finish()
    }
}

impl fmt::Display for ProcessTree {
    /// A line for each process, two columns further in for each generation; from the 65th on the
    /// line begins with the number of the generation instead. Of the system root is said.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, process) in self.processes() {
            let columns = 2 * depth.min(INDENTED);
            write!(f, "{:columns$}", "")?;
            if depth > INDENTED {
                write!(f, "({depth}) ")?;
            }
            write!(f, "{} ", process.pid)?;
            if let Some(name) = &process.name {
                write!(f, "{name} ")?;
            }
            let below = match process.root {
                Root::System if depth == 0 => " root=system",
                _ => "",
            };
            writeln!(
                f,
                "{} {} main={} handled={}{}",
                process.behavior, process.state, process.main, process.handled, below
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Label, Pid, ProcessState};
    use std::thread;

    fn tree(id: u64, children: Vec<ProcessTree>) -> ProcessTree {
        let process =
            ProcessInfo::new(Pid::local(id, 1), Label::of_type("Worker"), ProcessState::Idle);
        ProcessTree::new(process, children)
    }

    fn chain(length: u64) -> ProcessTree {
        let leaf = tree(length, Vec::new());
        (1..length).rev().fold(leaf, |below, id| tree(id, vec![below]))
    }

    #[test]
    fn x4_a_chain_of_a_hundred_thousand_is_handled_on_a_small_stack() {
        const LENGTH: u64 = 100_000;
        let small = thread::Builder::new().stack_size(64 << 10);
        let handled = small.spawn(|| {
            let chain = chain(LENGTH);
            let copy = chain.clone();
            assert!(copy == chain);
            assert!(copy != self::chain(LENGTH - 1));
            assert_eq!(format!("{copy}").lines().count(), usize::try_from(LENGTH).unwrap());
            let debug = format!("{copy:?}");
            assert!(debug.contains("<0.100000.0>") || debug.contains("100000"));
            assert!(!format!("{copy:#?}").is_empty());
            drop(copy);
            chain.walk().map(|(depth, _)| depth).max()
        });
        let deepest = handled.unwrap().join().unwrap();
        assert_eq!(deepest, Some(usize::try_from(LENGTH).unwrap() - 1));
    }

    #[test]
    fn x4_a_copy_of_a_tree_has_all_its_branches_in_their_order() {
        let grown = tree(
            1,
            vec![
                tree(2, vec![tree(3, vec![]), tree(4, vec![tree(5, vec![])])]),
                tree(6, vec![]),
                tree(7, vec![tree(8, vec![]), tree(9, vec![])]),
            ],
        );
        let copy = grown.clone();
        assert_eq!(copy, grown);
        let walked: Vec<_> = copy.walk().map(|(depth, t)| (depth, t.process.pid.id())).collect();
        let all = [(0, 1), (1, 2), (2, 3), (2, 4), (3, 5), (1, 6), (1, 7), (2, 8), (2, 9)];
        assert_eq!(walked, all);
        assert_eq!(copy.children[0].children[1].children[0], tree(5, vec![]));
        // The same processes in another shape are another tree.
        assert_ne!(
            tree(1, vec![tree(2, vec![tree(3, vec![])])]),
            tree(1, vec![tree(2, vec![]), tree(3, vec![])])
        );
    }

    #[test]
    fn x4_a_printed_tree_is_indented_up_to_a_depth_and_numbered_below_it() {
        let printed = chain(67).to_string();
        let lines: Vec<_> = printed.lines().collect();
        assert!(lines[1].starts_with("  <"), "{}", lines[1]);
        assert!(lines[64].starts_with(&format!("{:128}<", "")), "{}", lines[64]);
        assert!(lines[65].starts_with(&format!("{:128}(65) <", "")), "{}", lines[65]);
        assert!(lines[66].starts_with(&format!("{:128}(66) <", "")), "{}", lines[66]);
    }

    #[test]
    fn x4_a_printed_tree_says_who_each_is_and_below_which_root() {
        let mut service = tree(1, vec![tree(2, vec![])]);
        service.process.root = Root::System;
        service.process.name = Some(crate::Name::new("logs").unwrap());
        (service.process.main, service.process.handled) = (3, 4);
        service.children[0].process.root = Root::System;
        let printed = "<0.1.0> logs Worker idle main=3 handled=4 root=system\n  \
                       <0.2.0> Worker idle main=0 handled=0\n";
        assert_eq!(service.to_string(), printed);
    }
}
