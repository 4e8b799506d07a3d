//! The sums of a picture: counts over all its processes, in one pass.

use crate::sampling::row::state_place;
use crate::sampling::rows::Rows;
use krarup_gen::Root;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is counted over the processes of a picture.
#[derive(Debug, Default)]
pub(crate) struct PictureSums {
    pub(crate) user: usize,
    pub(crate) system: usize,
    pub(crate) by_state: [usize; 6],
    pub(crate) urgent: u64,
    pub(crate) system_lane: u64,
    pub(crate) main: u64,
    pub(crate) deepest: usize,
    /// Processes by the depth of their mailbox: 0, 1, to 9, to 99, to 999, to 9999, more.
    pub(crate) depths: [usize; 7],
    /// By the label of their behaviour.
    pub(crate) behaviors: BTreeMap<Arc<str>, ProcessesAlike>,
    /// By dispatcher.
    pub(crate) dispatchers: BTreeMap<Arc<str>, ProcessesAlike>,
}

/// Processes that have a text in common.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProcessesAlike {
    pub(crate) count: usize,
    /// Their share of a core.
    pub(crate) cpu: f64,
}

impl PictureSums {
    pub(crate) fn of(rows: &Rows) -> Self {
        let mut sums = PictureSums::default();
        for row in rows.iter() {
            let (sample, identity) = (&row.sample, &row.identity);
            match sample.root {
                Root::System => sums.system += 1,
                _ => sums.user += 1,
            }
            sums.by_state[state_place(sample.state)] += 1;
            sums.urgent += sample.urgent as u64;
            sums.system_lane += sample.system as u64;
            sums.main += sample.main as u64;
            let depth = sample.urgent + sample.system + sample.main;
            sums.deepest = sums.deepest.max(depth);
            let place = match depth {
                0 => 0,
                1 => 1,
                _ => (depth.ilog10() as usize + 2).min(6),
            };
            sums.depths[place] += 1;
            let cpu = row.rates.map_or(0.0, |rates| rates.cpu);
            add(&mut sums.behaviors, &identity.behavior, cpu);
            add(&mut sums.dispatchers, &identity.dispatcher, cpu);
        }
        sums
    }
}

fn add(by: &mut BTreeMap<Arc<str>, ProcessesAlike>, text: &Arc<str>, cpu: f64) {
    match by.get_mut(text) {
        Some(alike) => {
            alike.count += 1;
            alike.cpu += cpu;
        }
        None => {
            by.insert(Arc::clone(text), ProcessesAlike { count: 1, cpu });
        }
    }
}
