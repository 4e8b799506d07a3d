//! The engine of a machine with the process that it sets alarms in.

use crate::state_machine::engine::MachineEngine;
use crate::state_machine::state_machine::StateMachine;
use crate::state_machine::timeouts::AlarmOrder;
use krarup_act::OwnProcess;

/// An engine, and the process whose alarms it orders. They are one value, so that a machine that handles an event has
/// one reference on both.
pub(crate) struct DrivenEngine<S: StateMachine> {
    pub(crate) engine: MachineEngine<S>,
    /// For alarms, and to count what waits when it is dropped. `None` before `init`.
    pub(crate) own: Option<OwnProcess<S::Message>>,
}

impl<S: StateMachine> DrivenEngine<S> {
    pub(crate) const fn new() -> Self {
        DrivenEngine { engine: MachineEngine::new(), own: None }
    }

    /// Sets the alarms that time-outs need, and cancels those that none needs: the process waits. While
    /// events are postponed it is not passivated.
    #[inline]
    pub(crate) fn arm(&mut self) {
        if self.engine.has_agenda() {
            self.arm_all();
        }
    }

    #[inline(never)]
    fn arm_all(&mut self) {
        let DrivenEngine { engine, own } = self;
        let Some(own) = own else { return };
        while let Some(order) = engine.alarm() {
            match order {
                AlarmOrder::Cancel(key) => own.cancel_alarm(key),
                AlarmOrder::Set { kind, at } => {
                    let alarm = own.set_alarm(at);
                    engine.armed(&kind, alarm);
                }
                AlarmOrder::Ring => {
                    let alarm = own.ring_alarm();
                    engine.rung(alarm);
                }
            }
        }
        own.set_holds_messages(engine.postponed() > 0);
        engine.release();
    }
}
