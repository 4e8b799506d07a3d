//! `/api/v1/tree`: the processes, each below the one that spawned it.

use crate::http::answer::{HttpAnswer, TEXT, answer as text_answer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::{Code, Refusal};
use crate::restarts::KnownRestarts;
use crate::sampling::picture::{Picture, state_text};
use crate::shared::Shared;
use hyper::StatusCode;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

const PARAMETERS: [&str; 5] = ["from", "depth", "children", "max", "format"];

#[derive(Serialize)]
pub(crate) struct TreeBody {
    total: usize,
    shown: usize,
    roots: Vec<TreeNode>,
}

/// T: a process and those below it.
#[derive(Serialize)]
struct TreeNode {
    id: u64,
    pid: String,
    name: Option<String>,
    kind: String,
    behavior: String,
    state: &'static str,
    root: String,
    main: usize,
    handled: u64,
    restarts: u64,
    children: Vec<TreeNode>,
    more: usize,
}

/// How much of the tree is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeQuery {
    from: Option<u64>,
    depth: usize,
    children: usize,
    max: usize,
}

impl Default for TreeQuery {
    fn default() -> Self {
        TreeQuery { from: None, depth: 16, children: 200, max: 2000 }
    }
}

/// `GET /api/v1/tree`.
pub(crate) async fn answer(shared: &Shared, query: Option<&str>) -> Result<HttpAnswer, Refusal> {
    let all = Parameters::read(query, &PARAMETERS)?;
    let size = |name, most, default| {
        all.number(name, 1..=most, default).map(|n| usize::try_from(n).unwrap_or(usize::MAX))
    };
    let asked = TreeQuery {
        from: all.some_number("from", 0..=u64::MAX)?,
        depth: size("depth", 64, 16)?,
        children: size("children", 1000, 200)?,
        max: size("max", 5000, 2000)?,
    };
    let format = all.one_of("format", &["json", "text"])?;
    let picture = shared.picture().await?;
    let tree = body(shared, &picture, asked)?;
    Ok(match format {
        Some("text") => text_answer(StatusCode::OK, TEXT, printed(&tree)),
        _ => json(StatusCode::OK, &tree),
    })
}

pub(crate) fn body(
    shared: &Shared,
    picture: &Picture,
    asked: TreeQuery,
) -> Result<TreeBody, Refusal> {
    let family = Kinship::of(picture);
    let roots = match asked.from {
        Some(id) => {
            let missing = || Refusal::new(Code::NoProcess, format!("no process has the id {id}"));
            vec![picture.rows.place(id).ok_or_else(missing)?]
        }
        None => family.roots.clone(),
    };
    let total = match asked.from {
        Some(_) => family.below(&roots),
        None => picture.rows.len(),
    };
    let shown = family.shown(&roots, asked);
    let restarts = KnownRestarts::of(&shared.view);
    let tree = TreeWriter { picture, family: &family, shown: &shown, restarts: &restarts };
    let roots = roots.iter().filter(|place| shown.contains(place));
    Ok(TreeBody {
        total,
        shown: shown.len(),
        roots: roots.map(|place| tree.node(*place)).collect(),
    })
}

/// Who is whose child, by places in the picture.
struct Kinship {
    roots: Vec<usize>,
    children: BTreeMap<usize, Vec<usize>>,
}

impl Kinship {
    fn of(picture: &Picture) -> Self {
        let mut family = Kinship { roots: Vec::new(), children: BTreeMap::new() };
        for (place, row) in picture.rows.iter().enumerate() {
            let parent = row.sample.parent.filter(|parent| *parent != row.sample.pid);
            let parent = parent.and_then(|parent| {
                let place = picture.rows.place(parent.id())?;
                (picture.rows[place].sample.pid == parent).then_some(place)
            });
            // A parent is older than its child, so there are no circles.
            match parent.filter(|parent| *parent < place) {
                Some(parent) => family.children.entry(parent).or_default().push(place),
                None => family.roots.push(place),
            }
        }
        // The user root first. The sort is stable.
        family.roots.sort_by_key(|place| picture.rows[*place].sample.root);
        family
    }

    fn children(&self, place: usize) -> &[usize] {
        self.children.get(&place).map_or(&[], Vec::as_slice)
    }

    /// How many there are with these and below them.
    fn below(&self, roots: &[usize]) -> usize {
        let (mut ahead, mut count) = (roots.to_vec(), 0);
        while let Some(place) = ahead.pop() {
            count += 1;
            ahead.extend(self.children(place));
        }
        count
    }

    /// Which are shown: generation by generation, until there are enough.
    fn shown(&self, roots: &[usize], asked: TreeQuery) -> BTreeSet<usize> {
        let mut shown = BTreeSet::new();
        let mut ahead: VecDeque<(usize, usize)> = roots.iter().map(|place| (*place, 1)).collect();
        while let Some((place, depth)) = ahead.pop_front() {
            if shown.len() == asked.max {
                break;
            }
            shown.insert(place);
            if depth < asked.depth {
                let below = self.children(place).iter().take(asked.children);
                ahead.extend(below.map(|child| (*child, depth + 1)));
            }
        }
        shown
    }
}

struct TreeWriter<'a> {
    picture: &'a Picture,
    family: &'a Kinship,
    shown: &'a BTreeSet<usize>,
    restarts: &'a KnownRestarts,
}

impl TreeWriter<'_> {
    /// The depth is at most that of a parameter, so this recursion is bounded.
    fn node(&self, place: usize) -> TreeNode {
        let row = &self.picture.rows[place];
        let all = self.family.children(place);
        let children: Vec<TreeNode> = all
            .iter()
            .filter(|child| self.shown.contains(child))
            .map(|child| self.node(*child))
            .collect();
        let pool = self.picture.pools.get(&row.id());
        TreeNode {
            id: row.id(),
            pid: row.sample.pid.to_string(),
            name: row.identity.name.as_ref().map(ToString::to_string),
            kind: row.sample.kind.to_string(),
            behavior: row.identity.behavior.to_string(),
            state: state_text(row.sample.state),
            root: row.sample.root.to_string(),
            main: row.sample.main,
            handled: row.sample.handled,
            restarts: pool
                .map_or_else(|| self.restarts.count(row.sample.pid), |pool| pool.gauges.restarts),
            more: all.len() - children.len(),
            children,
        }
    }
}

/// The tree as text: a line for each process, indented by two columns for each generation.
fn printed(tree: &TreeBody) -> String {
    let mut text = String::new();
    let mut ahead: Vec<(usize, &TreeNode)> =
        tree.roots.iter().rev().map(|root| (0, root)).collect();
    while let Some((depth, node)) = ahead.pop() {
        let name = node.name.as_ref().map_or_else(String::new, |name| escaped(name) + " ");
        let root = if depth == 0 && node.root == "system" { " root=system" } else { "" };
        let more = if node.more > 0 { format!(" more={}", node.more) } else { String::new() };
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "{:indent$}{} {name}{} {} main={} handled={}{root}{more}",
            "",
            node.pid,
            escaped(&node.behavior),
            node.state,
            node.main,
            node.handled,
            indent = 2 * depth,
        );
        ahead.extend(node.children.iter().rev().map(|child| (depth + 1, child)));
    }
    text
}

/// A text without characters that would change a line or a terminal.
fn escaped(text: &str) -> String {
    let strange = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    text.chars().fold(String::with_capacity(text.len()), |mut all, letter| {
        if strange(letter) {
            all.extend(letter.escape_unicode());
        } else {
            all.push(letter);
        }
        all
    })
}
