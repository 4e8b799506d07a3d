//! Starts the pairs, has them measure in turns, and prints the table.

use crate::arguments::ClusterArguments;
use crate::erlang::ErlangCode;
use crate::failure::ClusterFailure;
use crate::figures::{median, shown};
use crate::idle;
use crate::pair::NodePair;
use crate::side_process::{SideName, SideProcess};
use crate::workload::{IDLE, PairWorkload};
use std::net::{Ipv4Addr, TcpListener};

/// A pair that runs.
struct RunningPair {
    pair: NodePair,
    client: SideProcess,
    server: SideProcess,
}

/// Measures what the arguments say.
pub(crate) fn run(arguments: &ClusterArguments) -> Result<(), ClusterFailure> {
    let needs_erlang = arguments.pairs.iter().any(|pair| pair.has_otp());
    let erlang = needs_erlang.then(ErlangCode::compile).transpose()?;
    print_line("", arguments.pairs.iter().map(|pair| (pair.to_string(), None)));
    let mut running = Vec::new();
    let mut queue_bytes = 0;
    for workload in arguments.workloads {
        if queue_bytes != workload.queue_bytes() {
            queue_bytes = workload.queue_bytes();
            // The old ones end first: the new ones have the same addresses.
            running.clear();
            running = start(&arguments.pairs, queue_bytes, erlang.as_ref())?;
        }
        measure(workload, arguments.size_of(workload), arguments.rounds, &mut running)?;
    }
    Ok(())
}

/// Starts all pairs.
fn start(
    pairs: &[NodePair],
    queue_bytes: usize,
    erlang: Option<&ErlangCode>,
) -> Result<Vec<RunningPair>, ClusterFailure> {
    // The nodes have addresses of their own, so a port that is free at one is free at all.
    let port = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?.local_addr()?.port();
    let cookie = format!("bench_cluster_{}", std::process::id());
    let start = |(number, pair): (u8, &NodePair)| {
        let [client, server] = [number, number + 1].map(|number| SideName::new(number, port));
        let start =
            |side, names| SideProcess::start((*pair, side), names, (&cookie, queue_bytes), erlang);
        let serves = start("server", (&server, &client))?;
        Ok(RunningPair {
            pair: *pair,
            client: start("client", (&client, &server))?,
            server: serves,
        })
    };
    (2..).step_by(2).zip(pairs).map(start).collect()
}

/// Measures one workload in all rounds, and prints its lines.
fn measure(
    workload: &PairWorkload,
    size: u64,
    rounds: usize,
    pairs: &mut [RunningPair],
) -> Result<(), ClusterFailure> {
    let mut rows = vec![vec![Vec::new(); pairs.len()]; workload.figures.len()];
    // The first round makes connections and compiles, and does not count. What connections cost is
    // seen at the first ones: later ones use memory again.
    let counted = if workload.name == IDLE { 1..=1 } else { 0..=rounds };
    for round in counted {
        let size = if round == 0 { (size / 10).max(1) } else { size };
        for (at, running) in pairs.iter_mut().enumerate() {
            if !workload.has(running.pair) {
                continue;
            }
            let figures = if workload.name == IDLE {
                idle::measure(&mut running.client, &running.server, size)?
            } else {
                running.client.measure(workload.name, size)?
            };
            for (row, figure) in rows.iter_mut().zip(figures).filter(|_| round > 0) {
                row[at].push(figure);
            }
        }
    }
    let base = pairs.iter().position(|running| running.pair == workload.base());
    for ((name, kind), row) in workload.figures.iter().zip(&rows) {
        let medians: Vec<f64> = row.iter().map(|figures| median(figures)).collect();
        let base = base.map(|base| medians[base]);
        let ratio = |figure| base.map(|base| kind.ratio(figure, base));
        print_line(name, medians.iter().map(|figure| (shown(*figure), ratio(*figure))));
    }
    Ok(())
}

/// Prints a line of a table.
fn print_line(name: &str, cells: impl Iterator<Item = (String, Option<f64>)>) {
    let cells = cells.map(|(figure, ratio)| match ratio {
        Some(ratio) if ratio.is_nan() => format!("{:>19}", "-"),
        Some(ratio) => format!("{figure:>11} {ratio:>5.2} ×"),
        None => format!("{figure:>19}"),
    });
    println!("{name:<38}{}", cells.collect::<String>());
}
