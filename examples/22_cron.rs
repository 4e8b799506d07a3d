//! Jobs at the times of the wall clock: a report in each night, a clean-up each ten minutes, and a
//! launch at one date. A simulation passes the week
//! in which the clocks of Berlin go forward in no time.
//!
//! ```sh
//! cargo run --example 22_cron --features cron
//! ```

use krarup::cron::{AddJobError, Cron, CronCalls, Job, Missed, RunsAtOnce};
use krarup::prelude::*;
use std::time::{Duration, SystemTime};

const HOUR: Duration = Duration::from_secs(3600);

/// Saturday, 28 March 2026, 00:00 UTC.
const SATURDAY: Duration = Duration::from_secs(1_774_656_000);

enum Make {
    Daily,
    Launch,
}

#[derive(Default)]
struct Reports {
    made: u32,
}

impl Actor for Reports {
    type Message = Make;

    async fn handle_message(&mut self, ctx: &mut Context<Make>, make: Make) -> Result {
        let hours = ctx.wall_time().duration_since(SystemTime::UNIX_EPOCH + SATURDAY)?;
        let hours = hours.div_duration_f64(HOUR);
        match make {
            Make::Daily => {
                self.made += 1;
                println!("report {} after {hours} hours", self.made);
            }
            Make::Launch => println!("launch after {hours} hours"),
        }
        Ok(())
    }
}

fn main() -> Result {
    let node = Simulation::new(1);
    node.set_wall_time(SystemTime::UNIX_EPOCH + SATURDAY);
    let reports = node.spawn(Reports::default).name("reports").wait()?;
    let cron = node.spawn_system(|| Cron::new().zone("Europe/Berlin")).name("cron").wait()?;

    // At 02:30 in Berlin. On Sunday there is no 02:30: it runs at 03:00, and on Monday as always.
    let report = Job::new("report", "30 2 * * *").missed(Missed::Once).grace(6 * HOUR);
    cron.add(report.send_to(&reports, || Make::Daily)).wait()?;

    // Each ten minutes, by a process of its own. If one goes on for longer, the next is left out.
    let clean = Job::new("clean", "*/10 * * * *").overlap(RunsAtOnce::Skip).task(|| async {
        krarup::behavior::yield_now().await;
    });
    cron.add(clean).wait()?;

    let launch = Job::once("launch", node.wall_time() + 30 * HOUR);
    cron.add(launch.send_to_name("reports", || Make::Launch)).wait()?;

    // A pattern that never comes, a pattern that is none, a name twice: nothing is changed.
    for (name, pattern) in [("leap", "0 0 31 2 *"), ("wrong", "each day"), ("clean", "@daily")] {
        let refused: AddJobError =
            cron.add(Job::new(name, pattern).task(|| async {})).wait().unwrap_err();
        println!("{refused}");
    }

    node.advance(72 * HOUR);

    // The machine sleeps for ten hours: the report of the night is made up for.
    cron.pause("clean").wait()?;
    node.advance(20 * HOUR);
    node.set_wall_time(node.wall_time() + 10 * HOUR);
    node.advance(HOUR);

    for job in cron.jobs().wait()? {
        println!("{}: {} runs, {} missed, {} failed", job.name, job.runs, job.missed, job.failures);
    }
    node.stop().wait()
}
