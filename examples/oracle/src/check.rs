//! Checks a scenario file before it is replayed: an error names the bad line.

use crate::scenario::{Declaration, Scenario};
use std::collections::HashSet;

/// Checks the lines of a scenario, and returns what is wrong with the first bad one.
pub(crate) fn check(scenario: &Scenario) -> Result<(), String> {
    let input = scenario.lines.iter().filter(|line| !line.starts_with("= "));
    let is_tree = scenario.is_tree();
    let nodes: Vec<Declaration> =
        scenario.lines.iter().filter_map(|line| Declaration::parse(line)).collect();
    let mut processes = HashSet::new();
    for line in input {
        let words: Vec<&str> = line.split(' ').collect();
        let checked = match (is_tree, words[0]) {
            (_, "=") => Err("an empty expectation"),
            (true, "sup" | "child") => declaration(&words),
            (true, "plan") => plan(&words, &nodes),
            (true, "queue") if words.get(1) == Some(&"start") => Err("`start` is queued"),
            (true, "queue") => step(&words[1..], &nodes),
            (true, _) => step(&words, &nodes),
            (false, "proc") if words.len() > 1 => {
                processes.insert(words[1].to_owned());
                Ok(())
            }
            (false, "step") => process_step(&words[1..], &mut processes),
            _ => Err("this line is none of a scenario"),
        };
        checked.map_err(|fault| format!("bad line `{line}`: {fault}"))?;
    }
    if is_tree { tree(&nodes) } else { Ok(()) }
}

/// Checks that there is one root, and that each id is declared once, under a declared
/// supervisor.
fn tree(nodes: &[Declaration]) -> Result<(), String> {
    let roots = nodes.iter().filter(|node| node.parent == "-");
    if !roots.map(|node| &node.id).eq(["root"]) {
        return Err("the scenario does not declare one root supervisor `root`".to_owned());
    }
    for (index, node) in nodes.iter().enumerate() {
        let fault = |what: &str| Err(format!("`{}`: {what}", node.id));
        let parent = nodes.iter().position(|other| other.id == node.parent);
        if nodes[..index].iter().any(|other| other.id == node.id) {
            return fault("declared twice");
        }
        let is_below = parent.is_some_and(|at| nodes[at].is_supervisor);
        if !is_below && !matches!(node.parent.as_str(), "-" | "+") {
            return fault("its parent is no declared supervisor");
        }
        let mut above = parent;
        for _ in nodes {
            above = above.and_then(|at| nodes.iter().position(|n| n.id == nodes[at].parent));
        }
        if above.is_some() {
            return fault("it is below itself");
        }
        let below = nodes.iter().filter(|other| other.parent == node.id).count();
        if node.is_simple() && below != 1 {
            return fault("simple_one_for_one has one child, its template");
        }
    }
    Ok(())
}

fn declaration(words: &[&str]) -> Result<(), &'static str> {
    if words.len() < 3 {
        return Err("an id and a parent are needed");
    }
    let is_supervisor = words[0] == "sup";
    let is_root = is_supervisor && words[2] == "-";
    let mut needed: Vec<&str> = match (is_supervisor, is_root) {
        (true, true) => vec!["strategy", "intensity", "period", "auto"],
        (true, false) => {
            vec!["strategy", "intensity", "period", "auto", "restart", "shutdown", "significant"]
        }
        (false, _) if words[2] == "-" => return Err("the root is a supervisor"),
        (false, _) => vec!["kind", "restart", "shutdown", "significant"],
    };
    for word in &words[3..] {
        let (key, value) = word.split_once('=').ok_or("a setting is KEY=VALUE")?;
        let at = needed.iter().position(|other| *other == key);
        needed.swap_remove(at.ok_or("a setting that it does not have, or has twice")?);
        if !is_setting(key, value) {
            return Err("a setting has no such value");
        }
    }
    if needed.is_empty() { Ok(()) } else { Err("a setting is missing") }
}

fn is_setting(key: &str, value: &str) -> bool {
    match key {
        "strategy" => {
            ["one_for_one", "one_for_all", "rest_for_one", "simple_one_for_one"].contains(&value)
        }
        "intensity" => value.parse::<u32>().is_ok(),
        "period" => value.parse::<u64>().is_ok_and(|period| period > 0),
        "auto" => ["never", "any", "all"].contains(&value),
        "kind" => ["plain", "trap", "badterm", "hang"].contains(&value),
        "restart" => ["permanent", "transient", "temporary"].contains(&value),
        "shutdown" => ["brutal", "infinity"].contains(&value) || value.parse::<u64>().is_ok(),
        _ => ["yes", "no"].contains(&value),
    }
}

fn plan(words: &[&str], nodes: &[Declaration]) -> Result<(), &'static str> {
    let id = words.get(1).ok_or("an id is needed")?;
    if !nodes.iter().any(|node| node.id == **id && !node.is_supervisor) {
        return Err("no worker of that id is declared");
    }
    let is_outcome = |word: &&str| {
        let word = word.strip_prefix("gate:").unwrap_or(word);
        let argued = ["stop(", "crash("].iter().any(|start| word.starts_with(start));
        matches!(word, "ok" | "ignore") || argued && word.ends_with(')')
    };
    if words[2..].iter().all(is_outcome) { Ok(()) } else { Err("no such outcome") }
}

fn step(words: &[&str], nodes: &[Declaration]) -> Result<(), &'static str> {
    let (&act, arguments) = words.split_first().ok_or("nothing to do")?;
    let node = |id: &str| nodes.iter().find(|node| node.id == id);
    let supervisor =
        |id: &str| node(id.split('#').next().unwrap_or(id)).filter(|n| n.is_supervisor);
    let is_supervisor = |id: &str| supervisor(id).is_some();
    match (act, arguments) {
        ("crash", [id, _]) if is_supervisor(id) => Err("a supervisor cannot be made to crash"),
        ("start", []) | ("shutdown_root", [_]) | ("exit" | "stop" | "crash", [_, _]) => Ok(()),
        ("which_children" | "count_children", [id]) if is_supervisor(id) => Ok(()),
        ("start_child", [id]) => match supervisor(id) {
            Some(node) if node.is_simple() => Ok(()),
            _ => Err("only simple_one_for_one starts a child without an id"),
        },
        ("start_child", [id, child]) => match supervisor(id) {
            Some(parent) if !parent.is_simple() && node(child).is_some() => Ok(()),
            _ => Err("no such supervisor, or no such child"),
        },
        ("terminate_child" | "restart_child" | "delete_child", [id, _]) if is_supervisor(id) => {
            Ok(())
        }
        _ => Err("no such step"),
    }
}

/// Checks that every process that is named was declared or spawned before.
fn process_step(words: &[&str], known: &mut HashSet<String>) -> Result<(), &'static str> {
    const UNKNOWN: &str = "no process of that name is declared";
    match words {
        ["driver", "exit" | "send", name, _] => {
            return if known.contains(*name) { Ok(()) } else { Err(UNKNOWN) };
        }
        [name, _, ..] if known.contains(*name) => {}
        [_, _, ..] => return Err(UNKNOWN),
        _ => return Err("a process and what it does are needed"),
    }
    for act in words[1..].split(|word| *word == ";") {
        match act {
            ["link" | "unlink" | "unlink_flush", peer] | ["monitor" | "send" | "exit", peer, _] => {
                if !known.contains(*peer) {
                    return Err(UNKNOWN);
                }
            }
            ["spawn", name, ..] => {
                known.insert((*name).to_owned());
            }
            [
                "demonitor" | "demonitor_flush" | "die" | "crash" | "register" | "unregister"
                | "whereis",
                _,
            ]
            | ["monitor_name", _, _]
            | ["trap", "on" | "off"]
            | ["return"] => {}
            _ => return Err("no such act"),
        }
    }
    Ok(())
}
