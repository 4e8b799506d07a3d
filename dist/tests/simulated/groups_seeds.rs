//! Groups of four nodes that restart, lose each other and lose their scopes, over many seeds (rule
//! Zpg6).

use crate::sim_support::groups::{
    carrying, carrying_all, check_told, known, mesh, process, view, watched,
};
use crate::sim_support::{Choices, Member, Order, some_turns};
use krarup_dist::SimNetwork;
use krarup_gen::Result;
use krarup_node::Simulation;
use std::time::Duration;

#[test]
fn zpg6_watchers_miss_nothing_and_hear_nothing_twice_whatever_happens() {
    Simulation::explore(0..80, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let names = ["a@sim", "b@sim", "c@sim", "d@sim"];
        let mut nodes: Vec<Member> = carrying_all::<4>(sim, &net)?.into();
        mesh(&nodes.iter().collect::<Vec<_>>());
        let mut told = nodes.iter().map(watched).collect::<Result<Vec<_>>>()?;
        let mut members = Vec::new();
        for at in 0..8 {
            members.push((at % 4, process(&nodes[at % 4])?));
        }
        for _ in 0..30 {
            let (of, member) = &members[choices.below(members.len())];
            let node = &nodes[*of].node;
            let group = ["stock", "desk"][choices.below(2)];
            match choices.below(14) {
                0..=4 => drop(node.groups().join(group, &member.recipient::<Order>())),
                5 | 6 => drop(node.groups().leave(group, member.pid())),
                7 => node.kill(member.pid()),
                8 => drop(net.reset(names[choices.below(4)], names[choices.below(4)])),
                9 => net.partition(&names[..=choices.below(2)], &names[2..]),
                10 => net.heal(),
                11 => mesh(&nodes.iter().collect::<Vec<_>>()),
                12 => {
                    if let Some(scope) = node.whereis("pg") {
                        node.kill(scope);
                    }
                }
                _ => {
                    // The node starts anew, with the same numbers.
                    let at = *of;
                    let gone = nodes.remove(at);
                    drop(gone.cluster);
                    gone.node.stop().wait()?;
                    drop(gone.node);
                    nodes.insert(at, carrying(sim, &net, names[at])?);
                    told[at] = watched(&nodes[at])?;
                    for (of, member) in &mut members {
                        if *of == at {
                            *member = process(&nodes[at])?;
                        }
                    }
                }
            }
            some_turns(sim, choices.below(40));
            if choices.below(5) == 0 {
                sim.advance(choices.millis(30_000));
            }
        }
        net.heal();
        sim.advance(Duration::from_secs(180));
        mesh(&nodes.iter().collect::<Vec<_>>());
        sim.advance(Duration::from_secs(180));
        for group in ["stock", "desk"] {
            let mut expected = Vec::new();
            for of in &nodes {
                let local = of.node.groups().local_pids(group);
                expected.extend(local.into_iter().map(|pid| known(of, pid)));
            }
            expected.sort();
            for of in &nodes {
                assert_eq!(view(of, group), expected, "{} {group}", of.name);
            }
        }
        for (of, told) in nodes.iter().zip(&told) {
            check_told(of, told);
        }
        Ok(())
    });
}
