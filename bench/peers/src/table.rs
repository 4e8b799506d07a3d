//! The printed table: medians of all rounds, and their ratios.

use crate::side::PeerSide;
use crate::side_process::Figure;
use crate::workload::Workload;
use std::fmt;

/// What all rounds of a workload have given.
pub(crate) struct RatioTable {
    workload: Workload,
    size: usize,
    rounds: Vec<(PeerSide, Vec<Figure>)>,
}

impl RatioTable {
    pub(crate) const HEAD: &str =
        "| workload | size | figure | krarup | peer | ratio |\n|---|--:|---|--:|--:|--:|";

    pub(crate) fn new(workload: Workload, size: usize) -> Self {
        RatioTable { workload, size, rounds: Vec::new() }
    }

    pub(crate) fn add(&mut self, side: PeerSide, figures: Vec<Figure>) {
        self.rounds.push((side, figures));
    }

    fn median(&self, side: PeerSide, place: usize) -> f64 {
        let of_side = self.rounds.iter().filter(|(of, _)| *of == side);
        let mut values: Vec<f64> =
            of_side.filter_map(|(_, figures)| figures.get(place)).map(|it| it.value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

impl fmt::Display for RatioTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((_, figures)) = self.rounds.first() else { return Ok(()) };
        for (place, Figure { name, more_is_better, .. }) in figures.iter().enumerate() {
            let krarup = self.median(PeerSide::Krarup, place);
            let peer = self.median(PeerSide::Peer, place);
            let ratio = if *more_is_better { krarup / peer } else { peer / krarup };
            let RatioTable { workload, size, .. } = self;
            // Nothing was refused, on one side or both.
            let ratio = if ratio.is_finite() { format!("{ratio:.2}") } else { "-".to_owned() };
            let digits = usize::from(krarup.min(peer) < 100.0);
            writeln!(
                f,
                "| {workload} | {size} | {name} | {krarup:.digits$} | {peer:.digits$} | {ratio} |"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_of_medians_and_above_one_if_krarup_is_better() {
        let mut table = RatioTable::new(Workload::Echo, 7);
        let figure = |value, more_is_better| Figure { name: "f", value, more_is_better };
        for (krarup, peer) in [(1.0, 50.0), (30.0, 10.0), (20.0, 9.0)] {
            table.add(PeerSide::Krarup, vec![figure(krarup, true), figure(krarup, false)]);
            table.add(PeerSide::Peer, vec![figure(peer, true), figure(peer, false)]);
        }
        let lines =
            "| echo | 7 | f | 20.0 | 10.0 | 2.00 |\n| echo | 7 | f | 20.0 | 10.0 | 0.50 |\n";
        assert_eq!(table.to_string(), lines);
    }
}
