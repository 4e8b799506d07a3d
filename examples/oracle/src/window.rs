//! Replays the restart windows: kills at given seconds of virtual time.

use krarup::supervisor::{ChildSpec, Supervisor};
use krarup::testing::Simulation;
use krarup::{Actor, Context, Result, Timestamp};
use std::time::Duration;

struct Idle;

impl Actor for Idle {
    type Message = ();

    async fn handle_message(&mut self, _ctx: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

/// Returns the line `window ..` as it comes out here; `None` if the line is not of that form.
pub(crate) fn replay(line: &str, seed: u64) -> Option<String> {
    let setting = |key: &str| {
        let words = line.strip_prefix("window ")?.split(' ');
        words.filter_map(|word| word.split_once('=')).find(|(k, _)| *k == key).map(|(_, v)| v)
    };
    let intensity: u32 = setting("intensity")?.parse().ok()?;
    let period: u64 = setting("period")?.parse().ok()?;
    let times: Vec<u64> = setting("times")?.split(',').filter_map(|t| t.parse().ok()).collect();

    let sim = Simulation::new(seed);
    let supervisor = sim
        .spawn(move || {
            Supervisor::one_for_one()
                .intensity(intensity, Duration::from_secs(period))
                .child(ChildSpec::worker("a", || Idle).name("a"))
        })
        .wait()
        .ok()?;
    let mut results = Vec::new();
    for &time in &times {
        let due = Timestamp::ZERO + Duration::from_secs(time);
        sim.advance(due - sim.now());
        sim.kill(sim.whereis("a")?);
        sim.run_until_idle();
        let lives = supervisor.is_alive();
        results.push(if lives { "restart" } else { "shutdown" });
        if !lives {
            break;
        }
    }
    let times: Vec<String> = times.iter().map(u64::to_string).collect();
    let (times, results) = (times.join(","), results.join(","));
    Some(format!("window intensity={intensity} period={period} times={times} results={results}"))
}
