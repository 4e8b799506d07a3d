//! A supervisor whose children are started with an argument each.

use krarup::prelude::*;
use krarup::supervisor::{ChildTemplate, SupervisorAddress};
use std::fmt::Write;
use std::time::Duration;

enum JobRequest {
    Name(Reply<&'static str>),
    Fail,
    Finish,
}

/// Runs until it is told to end.
struct NamedJob(&'static str);

impl Actor for NamedJob {
    type Message = JobRequest;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<JobRequest>,
        request: JobRequest,
    ) -> Result {
        match request {
            JobRequest::Name(reply) => reply.send(self.0),
            JobRequest::Fail => return Err(Reason::error("fail")),
            JobRequest::Finish => ctx.stop(),
        }
        Ok(())
    }
}

pub(crate) fn run(sim: &Simulation) -> Result<String> {
    let mut trace = String::new();
    let job = ChildTemplate::worker("job", NamedJob).restart(RestartType::Transient);
    let jobs = || Supervisor::simple_one_for_one(job).intensity(2, Duration::from_secs(5));
    let jobs: SupervisorAddress<&'static str> = sim.spawn(jobs).wait()?;
    for name in ["one", "two", "three"] {
        jobs.start_child(name).wait()?;
    }
    let _ = writeln!(trace, "> simple one for one\n  {}", names(sim, &jobs)?);
    find(sim, &jobs, "two")?.send(JobRequest::Fail)?;
    sim.run_until_idle();
    let _ = writeln!(trace, "> fail two\n  {}", names(sim, &jobs)?);
    find(sim, &jobs, "three")?.send(JobRequest::Finish)?;
    sim.run_until_idle();
    let _ = writeln!(trace, "> normal three\n  {}", names(sim, &jobs)?);
    Ok(trace)
}

type Jobs = Vec<(&'static str, Address<JobRequest>)>;

/// Returns the jobs, with their names, the first started first.
fn all(sim: &Simulation, jobs: &SupervisorAddress<&'static str>) -> Result<Jobs> {
    let pids = jobs.which_children().wait()?.into_iter().rev().filter_map(|job| job.state.pid());
    pids.map(|pid| {
        let job: Address<JobRequest> = sim.address_of(pid)?;
        Ok((job.call(JobRequest::Name).wait()?, job))
    })
    .collect()
}

fn names(sim: &Simulation, jobs: &SupervisorAddress<&'static str>) -> Result<String> {
    let names: Vec<_> = all(sim, jobs)?.into_iter().map(|(name, _)| name).collect();
    Ok(names.join(" "))
}

fn find(
    sim: &Simulation,
    jobs: &SupervisorAddress<&'static str>,
    name: &str,
) -> Result<Address<JobRequest>> {
    let found = all(sim, jobs)?.into_iter().find(|(other, _)| *other == name);
    found.map(|(_, job)| job).ok_or_else(|| Reason::error(format!("no job is called {name:?}")))
}
