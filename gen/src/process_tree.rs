//! Trees of processes: a process with its children, their children, and so on.
//!
//! A chain of processes may be as deep as memory allows. So no function here recurses: trees
//! are walked, dropped, copied, compared and printed with an explicit list of pending nodes, on
//! a stack of any size.

use crate::one_line::OneLine;
use crate::{Name, Pid, ProcessInfo, Root};
use std::collections::BTreeMap;
use std::fmt;

/// How many generations are shown by indentation when a tree is printed. If every generation
/// were indented, the text of a chain would grow with the square of its length.
const INDENTED: usize = 64;

/// A process and the processes it spawned, in the order in which they were spawned (rule X4).
///
/// A tree may be as deep as there are processes. Iterate with [`ProcessTree::walk`] instead of
/// a recursive function. To move the fields out, use [`std::mem::take`] or clone them.
pub struct ProcessTree {
    /// The process.
    pub process: ProcessInfo,
    /// The live processes that it spawned.
    pub children: Vec<ProcessTree>,
}

impl ProcessTree {
    /// Creates the tree of a process and its children.
    #[must_use]
    pub fn new(process: ProcessInfo, children: Vec<ProcessTree>) -> Self {
        ProcessTree { process, children }
    }

    /// Arranges processes as trees, each below the process that spawned it: first those of the
    /// user root, then those of the system root (rule X6). The trees of an application stand
    /// together, where its first one would (rule A12). A process whose parent is not among
    /// them is a root. `processes` may be in any order; processes of one parent are in the order
    /// in which they were spawned.
    #[must_use]
    pub fn arrange(processes: impl IntoIterator<Item = ProcessInfo>) -> Vec<ProcessTree> {
        let mut infos: BTreeMap<Pid, ProcessInfo> =
            processes.into_iter().map(|process| (process.pid, process)).collect();
        let mut children: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
        for (pid, info) in &infos {
            if let Some(parent) = info.parent {
                children.entry(parent).or_default().push(*pid);
            }
        }
        // Children have greater pids than their parents. So in descending order every subtree is
        // complete when its root is reached, without recursion.
        let mut trees: BTreeMap<Pid, ProcessTree> = BTreeMap::new();
        while let Some((pid, process)) = infos.pop_last() {
            let below = children.get(&pid).into_iter().flatten();
            let below = below.filter_map(|child| trees.remove(child)).collect();
            trees.insert(pid, ProcessTree::new(process, below));
        }
        let mut trees: Vec<_> = trees.into_values().collect();
        // The sort is stable: below each root, and within an application, they stay in the order
        // in which they were spawned. An application comes where its first process does.
        let mut first: BTreeMap<Option<Name>, Pid> = BTreeMap::new();
        for tree in trees.iter().filter(|tree| tree.process.application.is_some()) {
            first.entry(tree.process.application.clone()).or_insert(tree.process.pid);
        }
        trees.sort_by_key(|tree| {
            let place = first.get(&tree.process.application).copied();
            (tree.process.root, place.unwrap_or(tree.process.pid))
        });
        trees
    }

    /// Returns each process of the tree with its depth, which is 0 for the first. Parents come
    /// before their children, and children in the order in which they were spawned.
    ///
    /// ```
    /// # use krarup_gen::{Label, Pid, ProcessInfo, ProcessState, ProcessTree};
    /// # let info = |n| ProcessInfo::new(Pid::local(n, 1), Label::of_type("Worker"), ProcessState::Idle);
    /// let tree = ProcessTree::new(info(1), vec![ProcessTree::new(info(2), Vec::new())]);
    /// let depths: Vec<_> = tree.walk().map(|(depth, below)| (depth, below.process.pid.id())).collect();
    /// assert_eq!(depths, [(0, 1), (1, 2)]);
    /// ```
    pub fn walk(&self) -> impl Iterator<Item = (usize, &ProcessTree)> + Clone {
        TreeWalk { ahead: vec![(0, self)] }
    }

    fn processes(&self) -> impl Iterator<Item = (usize, &ProcessInfo)> {
        self.walk().map(|(depth, tree)| (depth, &tree.process))
    }
}

/// An iterator over the processes of a tree.
#[derive(Clone)]
struct TreeWalk<'a> {
    /// The pending nodes; the next one is last.
    ahead: Vec<(usize, &'a ProcessTree)>,
}

impl<'a> Iterator for TreeWalk<'a> {
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
        // In reverse order: the copies of the children of the next node are then the last that
        // were made, and its first child is the very last.
        let mut copies: Vec<ProcessTree> = Vec::new();
        for original in originals.into_iter().rev() {
            let mut children = copies.split_off(copies.len() - original.children.len());
            children.reverse();
            copies.push(ProcessTree::new(original.process.clone(), children));
        }
        // The fallback is unreachable: there is always a copy of the first node.
        copies.pop().unwrap_or_else(|| ProcessTree::new(self.process.clone(), Vec::new()))
    }
}

/// Depths and processes in the order of a walk determine the whole tree.
impl PartialEq for ProcessTree {
    fn eq(&self, other: &Self) -> bool {
        self.processes().eq(other.processes())
    }
}

/// Prints a list of depths and processes, in the order of [`ProcessTree::walk`].
impl fmt::Debug for ProcessTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.processes()).finish()
    }
}

impl fmt::Display for ProcessTree {
    /// Prints a line for each process, indented by two columns per generation. From the 65th
    /// generation on, the line begins with the number of the generation instead. The system
    /// root and the application are marked.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, process) in self.processes() {
            let columns = 2 * depth.min(INDENTED);
            write!(f, "{:columns$}", "")?;
            if depth > INDENTED {
                write!(f, "({depth}) ")?;
            }
            write!(f, "{} ", process.pid)?;
            if let Some(name) = &process.name {
                write!(f, "{} ", OneLine(name.as_str()))?;
            }
            let below = match process.root {
                Root::System if depth == 0 => " root=system",
                _ => "",
            };
            write!(
                f,
                "{} {} main={} handled={}{}",
                process.behavior, process.state, process.main, process.handled, below
            )?;
            if let Some(application) = process.application.as_ref().filter(|_| depth == 0) {
                write!(f, " application={}", OneLine(application.as_str()))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Label, Pid, ProcessState};
    use std::thread;

    #[test]
    fn x4_a_name_with_a_line_break_is_one_line_of_a_tree() {
        let mut one = tree(7, vec![]);
        one.process.name = Some(Name::new("bob\n<0.9.0> admin").unwrap());
        assert_eq!(one.to_string().lines().count(), 1);
        assert!(one.to_string().contains("bob\\n<0.9.0> admin"), "{one}");
        one.process.application = Some(Name::new("shop\n<0.8.0> admin").unwrap());
        assert_eq!(one.to_string().lines().count(), 1);
        assert!(one.to_string().ends_with("application=shop\\n<0.8.0> admin\n"), "{one}");
    }

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
        // The same processes in another shape are a different tree.
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
    fn a12_the_trees_of_an_application_stand_together_and_are_marked() {
        let of = |id, application: &str| {
            let mut info = tree(id, vec![]).process.clone();
            info.application = (!application.is_empty()).then(|| Name::new(application).unwrap());
            info
        };
        let all = [of(1, ""), of(2, "shop"), of(3, "logs"), of(4, ""), of(5, "shop")];
        let trees = ProcessTree::arrange(all);
        let order: Vec<_> = trees.iter().map(|tree| tree.process.pid.id()).collect();
        assert_eq!(order, [1, 2, 5, 3, 4]);
        let printed = "<0.2.0> Worker idle main=0 handled=0 application=shop\n";
        assert_eq!(trees[1].to_string(), printed);
    }

    #[test]
    fn x4_a_printed_tree_shows_each_process_and_its_root() {
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
