//! Supervisors with three transient children, and at most two restarts in five seconds.

use krarup::prelude::*;
use krarup::supervisor::{AutoShutdown, ChildInfo, SupervisorAddress};
use std::fmt::Write;
use std::time::Duration;

/// How a child ends.
#[derive(Clone, Copy)]
enum End {
    Fail,
    Normal,
}

struct Child;

impl Actor for Child {
    type Message = End;

    async fn handle_message(&mut self, ctx: &mut Context<End>, end: End) -> Result {
        match end {
            End::Fail => return Err(Reason::error("fail")),
            End::Normal => ctx.stop(),
        }
        Ok(())
    }
}

/// Adds the children and the limit that all have.
fn three(supervisor: Supervisor, auto_shutdown: AutoShutdown) -> Supervisor {
    let child = |id| {
        ChildSpec::worker(id, || Child)
            .name(id)
            .restart(RestartType::Transient)
            .significant(auto_shutdown == AutoShutdown::AllSignificant)
    };
    supervisor
        .intensity(2, Duration::from_secs(5))
        .auto_shutdown(auto_shutdown)
        .child(child("a"))
        .child(child("b"))
        .child(child("c"))
}

/// Makes a supervisor with one of the strategies.
type NewSupervisor = fn() -> Supervisor;

pub(crate) fn run(sim: &Simulation) -> Result<String> {
    let mut trace = String::new();
    let strategies: [(&str, NewSupervisor); 3] = [
        ("one for one", Supervisor::one_for_one),
        ("all for one", Supervisor::one_for_all),
        ("rest for one", Supervisor::rest_for_one),
    ];
    for (name, strategy) in strategies {
        let stays = move || three(strategy(), AutoShutdown::Never);
        let ends = move || three(strategy(), AutoShutdown::AllSignificant);
        let _ = writeln!(trace, "> {name}");
        let fails = [("b", End::Fail), ("a", End::Fail), ("c", End::Fail)];
        watch(sim, &sim.spawn(stays).wait()?, fails, &mut trace)?;
        let _ = writeln!(trace, "> {name}");
        let one_is_done = [("b", End::Normal), ("a", End::Fail)];
        watch(sim, &sim.spawn(stays).wait()?, one_is_done, &mut trace)?;
        let _ = writeln!(trace, "> {name}, with automatic shutdown");
        let all_are_done = [("a", End::Normal), ("b", End::Normal), ("c", End::Normal)];
        watch(sim, &sim.spawn(ends).wait()?, all_are_done, &mut trace)?;
    }
    Ok(trace)
}

/// Ends children one after the other, says what has changed, and ends the supervisor.
fn watch<const N: usize>(
    sim: &Simulation,
    supervisor: &SupervisorAddress,
    ends: [(&str, End); N],
    trace: &mut String,
) -> Result {
    for (id, end) in ends {
        let before = supervisor.which_children().wait()?;
        let child: Address<End> = sim.lookup(id)?;
        child.send(end)?;
        sim.run_until_idle();
        let word = match end {
            End::Fail => "fail",
            End::Normal => "normal",
        };
        let _ = writeln!(trace, "> {word} {id}");
        let _ = match supervisor.which_children().wait() {
            Ok(after) => writeln!(trace, "  {}", changes(&before, &after)),
            Err(_) => writeln!(trace, "  the supervisor has ended"),
        };
    }
    if supervisor.is_alive() {
        supervisor.stop().wait()?;
    }
    Ok(())
}

fn changes(before: &[ChildInfo], after: &[ChildInfo]) -> String {
    let both = before.iter().zip(after).rev();
    let changes = both.filter_map(|(before, after)| match after.state.pid() {
        None => Some(format!("no {}", after.id)),
        pid if pid != before.state.pid() => Some(format!("new {}", after.id)),
        Some(_) => None,
    });
    changes.collect::<Vec<_>>().join(", ")
}
