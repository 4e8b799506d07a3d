//! Cases that neither a simulation nor threads can be made to produce.

use super::*;
use crate::child_spec::ChildSpec;
use crate::spec::{Strategy, SupervisorFlags};
use krarup_act::{Context, behavior_fn};
use krarup_node::Simulation;
use std::sync::mpsc;

/// On threads a child can start, fail and call its supervisor before the supervisor handles its
/// start: then the plan does not know its process yet.
#[test]
fn s10_a_child_that_fails_before_its_start_is_known_is_restarted_in_place() {
    let sim = Simulation::new(1);
    let supervisor = sim
        .spawn(|| {
            behavior_fn(|mut ctx: SupervisorContext<ChildSpec>| async move {
                let starts = || {
                    behavior_fn(|ctx: Context<()>| async move {
                        ctx.sleep(Duration::from_secs(9)).await;
                        Ok(())
                    })
                };
                let spec = ChildSpec::worker("a", starts).name("a");
                let mut plan = Plan::new(SupervisorFlags::new(Strategy::OneForOne));
                plan.add(spec.rules, spec.start);
                let mut executor = PlanExecutor::new(plan, &ctx);
                executor.carry_out(&mut ctx, PlanEvent::Begin).await;
                Ok(())
            })
        })
        .start()
        .unwrap();
    sim.run_until_idle();
    let a = sim.whereis("a").unwrap();
    let asks = |pid| {
        let reason = Reason::error("boom");
        let request = move |reply| {
            SupervisorCommand(Command::MayRestartInPlace(InPlaceRequest { pid, reason, reply }))
        };
        supervisor.call_max(request).timeout(Duration::from_secs(1)).wait()
    };
    assert_eq!(asks(supervisor.pid()), Ok(false));
    assert_eq!(asks(a), Ok(true));
    assert_eq!(asks(a), Ok(false), "one restart is the limit");
}

/// A supervisor lives long, and its children end often.
#[test]
fn s4_nothing_is_kept_of_a_process_that_has_ended() {
    let sim = Simulation::new(1);
    let (tell, told) = mpsc::channel();
    let supervisor = behavior_fn(move |mut ctx: SupervisorContext<ChildSpec>| async move {
        ctx.trap_exits(true);
        let ends = || {
            behavior_fn(|mut ctx: Context<()>| async move {
                ctx.initialised();
                Ok(())
            })
        };
        let spec = ChildSpec::worker("a", ends);
        let mut plan = Plan::new(SupervisorFlags {
            intensity: 3,
            ..SupervisorFlags::new(Strategy::OneForOne)
        });
        plan.add(spec.rules, spec.start);
        let mut executor = PlanExecutor::new(plan, &ctx);
        executor.carry_out(&mut ctx, PlanEvent::Begin).await;
        loop {
            let Received::Exit(exit) = executor.receive(&mut ctx).await else { continue };
            let outcome = executor.exited(&mut ctx, exit).await;
            tell.send(executor.running.len()).unwrap();
            if let EventOutcome::Ends(reason) = outcome {
                return Err(reason);
            }
        }
    });
    let supervisor = sim.spawn(move || supervisor).start().unwrap();
    assert_eq!(supervisor.watch().wait().unwrap().reason, Reason::Shutdown);
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [1, 1, 1, 0]);
}
