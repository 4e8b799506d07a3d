//! What no simulation and no thread can be made to do.

use super::*;
use crate::child_spec::ChildSpec;
use crate::spec::{Flags, Strategy};
use krarup_act::{Context, behavior_fn};
use krarup_node::Simulation;

/// On threads a child can start, fail and ask while its supervisor looks away for a
/// moment: then the plan does not know its process yet.
#[test]
fn s10_a_child_that_fails_before_its_start_was_heard_of_goes_on() {
    let sim = Simulation::new(1);
    let supervisor = sim
        .spawn(|| {
            behavior_fn(|mut ctx: SupervisorContext<ChildSpec>| async move {
                let idle = || behavior_fn(|_: Context<()>| async { Ok(()) });
                let spec = ChildSpec::worker("a", idle);
                let mut plan = Plan::new(Flags::new(Strategy::OneForOne));
                plan.add(spec.rules, spec.start);
                let mut carrier = Carrier::new(plan, ctx.pid());
                if let Some(Action::Start(key)) = carrier.plan.step(Event::Begin, moment(&ctx)) {
                    carrier.starting = Some((Pid::local(77, 0), key));
                }
                loop {
                    let item = carrier.receive(&mut ctx).await;
                    carrier.hold(&ctx, item);
                }
            })
        })
        .wait()
        .unwrap();
    let asks = |pid| {
        let (pid, reason) = (Pid::local(pid, 0), Reason::error("boom"));
        let plea = move |reply| SupervisorCommand(Command::MayGoOn(Plea { pid, reason, reply }));
        supervisor.call_max(plea).wait()
    };
    assert_eq!(asks(78), Ok(false));
    assert_eq!(asks(77), Ok(true));
}
