//! `/api/v1/waits`: who waits for whom.
//!
//! A process waits for one other at most, so the graph is a forest whose trees may end in a
//! circle instead of a root.

use crate::http::answer::{HttpAnswer, json};
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::sampling::picture::Picture;
use crate::shared::Shared;
use crate::time::ms;
use hyper::StatusCode;
use krarup_gen::Pid;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The most chains, processes waited for and circles of an answer.
const LISTED: usize = 20;
/// The most processes of a chain.
const LONGEST: usize = 1000;

#[derive(Serialize)]
pub(crate) struct WaitsBody {
    edges: Vec<WaitEdge>,
    more: usize,
    chains: Vec<Chain>,
    most_waited_for: Vec<WaitedFor>,
    cycles: Vec<Vec<String>>,
}

#[derive(Serialize)]
struct WaitEdge {
    from: String,
    from_name: Option<String>,
    to: String,
    to_name: Option<String>,
    kind: String,
    seen_ms: f64,
}

#[derive(Serialize)]
struct Chain {
    pids: Vec<String>,
    seen_ms: f64,
}

#[derive(Serialize)]
struct WaitedFor {
    pid: String,
    name: Option<String>,
    by: usize,
}

/// `GET /api/v1/waits`.
pub(crate) async fn answer(shared: &Shared, query: Option<&str>) -> Result<HttpAnswer, Refusal> {
    let limit = limit(&Parameters::read(query, &["limit"])?)?;
    let picture = shared.picture().await?;
    Ok(json(StatusCode::OK, &body(&picture, limit)))
}

pub(crate) fn limit(all: &Parameters) -> Result<usize, Refusal> {
    Ok(usize::try_from(all.number("limit", 1..=2000, 500)?).unwrap_or(500))
}

pub(crate) fn body(picture: &Picture, limit: usize) -> WaitsBody {
    let graph = Graph::of(picture);
    let mut edges: Vec<_> = graph.edges.iter().collect();
    edges.sort_by(|(a, one), (b, other)| other.1.cmp(&one.1).then_with(|| a.cmp(b)));
    let edge = |(from, (on, seen, kind)): &(&Pid, &(Pid, Duration, String))| WaitEdge {
        from: from.to_string(),
        from_name: picture.name(**from),
        to: on.to_string(),
        to_name: picture.name(*on),
        kind: kind.clone(),
        seen_ms: ms(*seen),
    };
    let chains = graph.chains().into_iter().map(|(pids, seen)| Chain {
        pids: pids.iter().map(ToString::to_string).collect(),
        seen_ms: ms(seen),
    });
    let waited_for = graph.most_waited_for().into_iter();
    let waited_for =
        waited_for.map(|(pid, by)| WaitedFor { pid: pid.to_string(), name: picture.name(pid), by });
    let cycles = graph.cycles().into_iter().take(LISTED);
    WaitsBody {
        edges: edges.iter().take(limit).map(edge).collect(),
        more: edges.len().saturating_sub(limit),
        chains: chains.take(LISTED).collect(),
        most_waited_for: waited_for.take(LISTED).collect(),
        cycles: cycles.map(|cycle| cycle.iter().map(ToString::to_string).collect()).collect(),
    }
}

/// Who waits for whom, for how long as far as was seen, and for what.
struct Graph {
    edges: BTreeMap<Pid, (Pid, Duration, String)>,
}

impl Graph {
    fn of(picture: &Picture) -> Self {
        let waits = picture.rows.iter().filter_map(|row| {
            let wait = row.sample.waits?;
            let seen = row.since().waits.map_or(Duration::ZERO, |since| picture.at.since(since));
            Some((row.sample.pid, (wait.on, seen, wait.kind.to_string())))
        });
        Graph { edges: waits.collect() }
    }

    fn next(&self, pid: Pid) -> Option<(Pid, Duration)> {
        self.edges.get(&pid).map(|(on, seen, _)| (*on, *seen))
    }

    /// How many wait for each process, directly or through others, the most first.
    fn most_waited_for(&self) -> Vec<(Pid, usize)> {
        let mut direct: BTreeMap<Pid, usize> = BTreeMap::new();
        for (on, _, _) in self.edges.values() {
            *direct.entry(*on).or_default() += 1;
        }
        let mut by: BTreeMap<Pid, usize> = BTreeMap::new();
        let mut done: Vec<Pid> =
            self.edges.keys().filter(|pid| !direct.contains_key(pid)).copied().collect();
        // Those for whom nobody is left to wait are added to the one that they wait for.
        while let Some(pid) = done.pop() {
            let Some((on, _)) = self.next(pid) else { continue };
            let more = by.get(&pid).copied().unwrap_or(0) + 1;
            *by.entry(on).or_default() += more;
            if let Some(left) = direct.get_mut(&on) {
                *left -= 1;
                if *left == 0 {
                    done.push(on);
                }
            }
        }
        // In a circle everyone waits for everyone.
        for cycle in self.cycles() {
            let inflow: usize = cycle.iter().map(|pid| by.get(pid).copied().unwrap_or(0)).sum();
            by.extend(cycle.iter().map(|pid| (*pid, inflow + cycle.len() - 1)));
        }
        let mut by: Vec<_> = by.into_iter().collect();
        by.sort_by(|(a, one), (b, other)| other.cmp(one).then_with(|| a.cmp(b)));
        by
    }

    /// The chains of three and more, the longest first. Each begins with one for whom nobody
    /// waits.
    fn chains(&self) -> Vec<(Vec<Pid>, Duration)> {
        let waited_for: BTreeSet<Pid> = self.edges.values().map(|(on, _, _)| *on).collect();
        let mut chains = Vec::new();
        for first in self.edges.keys().filter(|pid| !waited_for.contains(pid)) {
            let (mut pids, mut shortest) = (vec![*first], Duration::MAX);
            let mut met = BTreeSet::from([*first]);
            while let Some((on, seen)) = self.next(pids[pids.len() - 1]) {
                shortest = shortest.min(seen);
                if !met.insert(on) || pids.len() == LONGEST {
                    break;
                }
                pids.push(on);
            }
            if pids.len() >= 3 {
                chains.push((pids, shortest));
            }
        }
        chains.sort_by(|(one, _), (other, _)| {
            other.len().cmp(&one.len()).then_with(|| one.cmp(other))
        });
        chains
    }

    /// The circles, each from its smallest pid on.
    fn cycles(&self) -> Vec<Vec<Pid>> {
        let mut seen: BTreeSet<Pid> = BTreeSet::new();
        let mut cycles = Vec::new();
        for start in self.edges.keys() {
            let mut path: Vec<Pid> = Vec::new();
            let mut place: BTreeMap<Pid, usize> = BTreeMap::new();
            let mut at = *start;
            while seen.insert(at) {
                place.insert(at, path.len());
                path.push(at);
                let Some((on, _)) = self.next(at) else { break };
                at = on;
            }
            if let Some(begin) = place.get(&at).filter(|_| self.edges.contains_key(&at)) {
                let mut cycle = path.split_off(*begin);
                let closes = cycle
                    .last()
                    .and_then(|last| self.next(*last))
                    .is_some_and(|(on, _)| on == cycle[0]);
                if closes {
                    let least = cycle.iter().enumerate().min_by_key(|(_, pid)| **pid);
                    let least = least.map_or(0, |(place, _)| place);
                    cycle.rotate_left(least);
                    cycles.push(cycle);
                }
            }
        }
        cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(u64, u64)]) -> Graph {
        let pid = |n| Pid::local(n, 1);
        let edge = |(from, on): &(u64, u64)| {
            (pid(*from), (pid(*on), Duration::from_millis(*from), "call".to_owned()))
        };
        Graph { edges: edges.iter().map(edge).collect() }
    }

    fn ids(pids: &[Pid]) -> Vec<u64> {
        pids.iter().map(|pid| pid.id()).collect()
    }

    #[test]
    fn v12_a_chain_of_ten_is_one_chain_and_its_last_is_most_waited_for() {
        let edges: Vec<_> = (1..10).map(|n| (n, n + 1)).collect();
        let chain = graph(&edges);
        let chains = chain.chains();
        assert_eq!(chains.len(), 1);
        assert_eq!(ids(&chains[0].0), (1..=10).collect::<Vec<_>>());
        assert_eq!(chains[0].1, Duration::from_millis(1));
        assert_eq!(chain.most_waited_for()[0], (Pid::local(10, 1), 9));
        assert!(chain.cycles().is_empty());
        assert!(graph(&[(1, 2)]).chains().is_empty(), "two are no chain");
    }

    #[test]
    fn v13_circles_are_found_with_those_who_wait_for_them() {
        let both = graph(&[(5, 3), (3, 4), (4, 5), (1, 2), (2, 4), (8, 9)]);
        let cycles: Vec<_> = both.cycles().iter().map(|cycle| ids(cycle)).collect();
        assert_eq!(cycles, [[3, 4, 5]]);
        let chains: Vec<_> = both.chains().iter().map(|(pids, _)| ids(pids)).collect();
        assert_eq!(chains, [[1, 2, 4, 5, 3]]);
        let most = both.most_waited_for();
        assert_eq!(most[0], (Pid::local(3, 1), 4));
        assert_eq!(graph(&[(7, 7)]).cycles().len(), 1);
    }
}
