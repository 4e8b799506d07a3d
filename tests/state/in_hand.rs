//! Messages that a state actor or a step process has received and not handled: rule M13.

use crate::state_support::{Doer, HOUR, SECOND, doer, job};
use crate::support::{Log, boom, simulations};
use krarup::prelude::*;
use krarup::state::{StateCalls, StateMessage, Stateful};

fn when_handled<M: Send + 'static, C: Send + 'static>(of: &Address<M, C>, log: &Log, name: &str) {
    let (log, name) = (log.clone(), name.to_owned());
    of.when_handled(move || log.note(name));
}

#[test]
fn m13_a_function_waits_for_the_handlers_in_flight_and_for_what_a_barrier_holds_back() {
    for sim in simulations(10) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        sim.run_until_idle();
        log.take();
        doer.notice(job("slow").waiting(3 * SECOND)).unwrap();
        when_handled(&doer, &log, "first");
        doer.notice(job("quick").waiting(SECOND)).unwrap();
        when_handled(&doer, &log, "second");
        doer.notice(job("endless").waiting(HOUR)).unwrap();
        sim.advance(2 * SECOND);
        assert_eq!(log.take(), ["notice slow", "notice quick", "notice endless", "quick done"]);
        sim.advance(SECOND);
        assert_eq!(log.take(), ["slow done", "first", "second"]);
        doer.send(StateMessage::Ask(job("wall").barrier().waiting(SECOND))).unwrap();
        sim.run_until_idle();
        doer.notice(job("behind")).unwrap();
        when_handled(&doer, &log, "third");
        sim.advance(SECOND / 2);
        assert_eq!(log.take(), ["ask wall"]);
        sim.advance(SECOND);
        assert_eq!(log.take(), ["wall done", "notice behind"]);
        // The endless one is before it.
        sim.advance(HOUR);
        assert_eq!(log.take(), ["endless done", "third"]);
    }
}

#[test]
fn m13_a_batch_is_handled_when_its_handler_has_ended() {
    for sim in simulations(10) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        sim.run_until_idle();
        log.take();
        doer.send(StateMessage::Ask(job("wall").barrier().waiting(SECOND))).unwrap();
        sim.run_until_idle();
        doer.notice(job("1").batch()).unwrap();
        doer.notice(job("2").batch()).unwrap();
        when_handled(&doer, &log, "handled");
        sim.advance(SECOND / 2);
        assert_eq!(log.take(), ["ask wall"]);
        sim.advance(SECOND);
        assert_eq!(log.take(), ["wall done", "notices 1 2", "handled"]);
    }
}

#[test]
fn m13_a_function_runs_when_a_state_actor_restarts_or_ends_with_handlers_in_flight() {
    for sim in simulations(10) {
        let log = Log::new();
        let kept = log.clone();
        let doer = sim
            .spawn(move || Stateful::new(Doer::restarting(&kept, Ok(()))).restarts(9, HOUR))
            .wait()
            .unwrap();
        doer.notice(job("slow").waiting(HOUR)).unwrap();
        when_handled(&doer, &log, "abandoned");
        sim.run_until_idle();
        assert!(!log.take().contains(&"abandoned".to_owned()));
        doer.notice(job("bad").failing(boom())).unwrap();
        sim.run_until_idle();
        assert!(log.take().contains(&"abandoned".to_owned()));
        doer.notice(job("slow").waiting(HOUR)).unwrap();
        when_handled(&doer, &log, "killed");
        sim.run_until_idle();
        assert!(!log.take().contains(&"killed".to_owned()));
        sim.kill(doer.pid());
        sim.run_until_idle();
        assert!(log.take().contains(&"killed".to_owned()));
        when_handled(&doer, &log, "at once");
        assert_eq!(log.take(), ["at once"]);
    }
}
