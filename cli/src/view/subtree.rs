//! The tree of a file, or a part of it, as JSON and as text. As an observer does it. Pure.

use crate::text::printable;
use crate::view::refusal::ViewRefusal;
use serde_json::{Value, json};
use std::collections::{HashSet, VecDeque};
use std::fmt::Write;

/// How much of the tree is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubtreeQuery {
    pub(crate) from: Option<u64>,
    pub(crate) depth: usize,
    pub(crate) children: usize,
    pub(crate) max: usize,
}

/// The tree as far as it is asked for.
pub(crate) fn subtree(tree: &Value, asked: SubtreeQuery) -> Result<Value, ViewRefusal> {
    let all = children(tree, "roots");
    let (roots, total) = match asked.from {
        None => (all.iter().collect(), tree["total"].clone()),
        Some(id) => {
            let missing = || {
                ViewRefusal::new(
                    404,
                    "no_process",
                    format!("the tree of the file has no process of the id {id}"),
                )
            };
            let root = below(all).find(|node| node["id"] == id).ok_or_else(missing)?;
            let total = below([root]).fold(0_u64, |total, node| {
                total.saturating_add(1).saturating_add(node["more"].as_u64().unwrap_or(0))
            });
            (vec![root], json!(total))
        }
    };
    // Generation by generation, until there are enough. A node is known by its place in the file.
    let mut shown: HashSet<*const Value> = HashSet::new();
    let mut ahead: VecDeque<(&Value, usize)> = roots.iter().map(|root| (*root, 1)).collect();
    while let Some((node, depth)) = ahead.pop_front() {
        if shown.len() == asked.max {
            break;
        }
        shown.insert(node);
        if depth < asked.depth {
            let next = children(node, "children").iter().take(asked.children);
            ahead.extend(next.map(|child| (child, depth + 1)));
        }
    }
    let roots: Vec<Value> = roots
        .into_iter()
        .filter(|root| shown.contains(&std::ptr::from_ref(*root)))
        .map(|root| copy(root, &shown))
        .collect();
    Ok(json!({ "total": total, "shown": shown.len(), "roots": roots }))
}

fn children<'a>(node: &'a Value, field: &str) -> &'a [Value] {
    node[field].as_array().map_or(&[], Vec::as_slice)
}

/// These and all below them, the first ones first.
fn below<'a>(roots: impl IntoIterator<Item = &'a Value>) -> impl Iterator<Item = &'a Value> {
    let mut ahead: VecDeque<&Value> = roots.into_iter().collect();
    std::iter::from_fn(move || {
        let node = ahead.pop_front()?;
        ahead.extend(children(node, "children"));
        Some(node)
    })
}

/// A node with those below it that are shown. JSON that was read is not deep.
fn copy(node: &Value, shown: &HashSet<*const Value>) -> Value {
    let all = children(node, "children");
    let kept: Vec<Value> = all
        .iter()
        .filter(|child| shown.contains(&std::ptr::from_ref(*child)))
        .map(|child| copy(child, shown))
        .collect();
    let cut = (all.len() - kept.len()) as u64;
    let more = node["more"].as_u64().unwrap_or(0).saturating_add(cut);
    let fields = node.as_object().into_iter().flatten().filter(|(name, _)| *name != "children");
    let mut copy: serde_json::Map<String, Value> =
        fields.map(|(name, value)| (name.clone(), value.clone())).collect();
    copy.insert("children".to_owned(), kept.into());
    copy.insert("more".to_owned(), more.into());
    copy.into()
}

/// The tree as text: a line for each process, indented by two columns for each generation.
pub(crate) fn printed(tree: &Value) -> String {
    let mut text = String::new();
    let mut ahead: Vec<(usize, &Value)> =
        children(tree, "roots").iter().rev().map(|root| (0, root)).collect();
    while let Some((depth, node)) = ahead.pop() {
        let word = |field: &str| printable(node[field].as_str().unwrap_or_default());
        let name = node["name"].as_str().map_or_else(String::new, |name| printable(name) + " ");
        let root = if depth == 0 && node["root"] == "system" { " root=system" } else { "" };
        let more = node["more"].as_u64().filter(|more| *more > 0);
        let more = more.map_or_else(String::new, |more| format!(" more={more}"));
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "{:indent$}{} {name}{} {} main={} handled={}{root}{more}",
            "",
            word("pid"),
            word("behavior"),
            word("state"),
            node["main"],
            node["handled"],
            indent = 2 * depth,
        );
        ahead.extend(children(node, "children").iter().rev().map(|child| (depth + 1, child)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u64, children: &[Value]) -> Value {
        json!({
            "id": id, "pid": format!("<0.{id}.0>"), "name": if id == 1 { json!("top\n") } else { Value::Null },
            "behavior": "B", "state": "idle", "root": "system", "main": 0, "handled": id,
            "children": children, "more": 0,
        })
    }

    fn tree() -> Value {
        let below = [node(3, &[node(4, &[])]), node(5, &[])];
        json!({ "total": 5, "shown": 5, "roots": [node(1, &[node(2, &below)])] })
    }

    fn ask(from: Option<u64>, depth: usize, children: usize, max: usize) -> Value {
        subtree(&tree(), SubtreeQuery { from, depth, children, max }).unwrap()
    }

    #[test]
    fn v26_a_part_of_a_tree_counts_what_it_leaves_out() {
        assert_eq!(ask(None, 64, 1000, 5000), tree());
        let shallow = ask(None, 2, 1000, 5000);
        assert_eq!((shallow["shown"].as_u64(), shallow["total"].as_u64()), (Some(2), Some(5)));
        assert_eq!(shallow["roots"][0]["children"][0]["more"], 2);
        let from = ask(Some(2), 64, 1, 5000);
        assert_eq!((from["total"].as_u64(), from["shown"].as_u64()), (Some(4), Some(3)));
        assert_eq!(from["roots"][0]["more"], 1);
        assert_eq!(ask(None, 64, 1000, 3)["shown"], 3);
        let missing = SubtreeQuery { from: Some(9), depth: 1, children: 1, max: 1 };
        assert_eq!(subtree(&tree(), missing).unwrap_err().code, "no_process");
    }

    #[test]
    fn v26_v24_a_tree_is_printed_without_what_would_act_on_a_terminal() {
        assert_eq!(
            printed(&ask(None, 2, 1000, 5000)),
            "<0.1.0> top\\u{a} B idle main=0 handled=1 root=system\n  <0.2.0> B idle main=0 handled=2 more=2\n"
        );
    }
}
