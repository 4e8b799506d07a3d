//! The node as its processes see it: the implementation of [`Host`].

use super::DispatcherHost;
use crate::block_on::block_on;
use crate::dispatcher::any::Dispatcher;
use crate::runtime;
use krarup_act::{
    Alarm, EventTopic, Host, Memberships, NameWaits, Network, NodeRecords, Poke, Process,
    ProcessEnd, Propagation, Ready, SharedHostSlot, SimulatedEvents, SimulatedLink, Stalled,
    StateLabels, Subscription, TableCursor, TimerKey, TopicTable, TurnRecording,
};
use krarup_gen::{
    Alias, ApplicationPicture, BlockError, Class, CurrentTurn, DeadLetter, Lifecycle, Name,
    NodeStats, Pid, Reason, RecordTurnsError, Ref, RefusalCause, RestartKind, Root, SpawnError,
    ThreadError, Timestamp, TurnRecordingLimits,
};
use std::any::Any;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

impl Host for DispatcherHost {
    fn node_name(&self) -> &str {
        self.core.name.as_str()
    }

    fn node_pid(&self) -> Pid {
        Pid::local(0, self.core.creation)
    }

    fn shared_host(&self) -> Option<&SharedHostSlot> {
        Some(&self.shared)
    }

    fn next_pid(&self) -> Pid {
        Pid::local(self.core.next_pid.fetch_add(1, Ordering::Relaxed), self.core.creation)
    }

    fn next_ref(&self) -> Ref {
        Ref::new(self.core.next_ref.fetch_add(1, Ordering::Relaxed))
    }

    fn admit(&self, process: Arc<dyn Process>, name: Option<&Name>) -> Result<(), SpawnError> {
        let Some(run) = &self.application else { return self.admit_one(process, name) };
        // Counted before it can be found: a stop that counts none has missed none (rule A6).
        let pid = process.pid();
        run.enter(pid)?;
        self.admit_one(process, name).inspect_err(|_| run.leave())
    }

    fn retire(&self, pid: Pid, name: Option<&Name>, end: &ProcessEnd) {
        self.core.registry.retire(pid, name, end);
        self.dispatcher.forget(pid);
        if let Some(run) = &self.application {
            run.leave();
        }
    }

    fn register(&self, name: &Name, process: Arc<dyn Process>) -> Result<(), Pid> {
        let pid = process.pid();
        self.core.registry.register(name, process)?;
        if let Some(recorder) = self.dispatcher.recorder() {
            recorder.named(pid, Some(name.clone()));
        }
        Ok(())
    }

    fn unregister(&self, name: &str) -> Option<Arc<dyn Process>> {
        let process = self.core.registry.unregister(name)?;
        if let Some(recorder) = self.dispatcher.recorder() {
            recorder.named(process.pid(), None);
        }
        Some(process)
    }

    fn unregister_from(&self, name: &str, pid: Pid) -> Option<Arc<dyn Process>> {
        let process = self.core.registry.unregister_from(name, pid)?;
        if let Some(recorder) = self.dispatcher.recorder() {
            recorder.named(pid, None);
        }
        Some(process)
    }

    fn process(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        self.core.process(pid)
    }

    fn whereis(&self, name: &str) -> Option<Arc<dyn Process>> {
        self.core.registry.whereis(name)
    }

    fn name_waits(&self) -> Option<&NameWaits> {
        Some(&self.core.registry.name_waits)
    }

    #[inline]
    fn schedule(&self, ready: Ready) {
        self.dispatcher.schedule(ready);
    }

    fn has_classes(&self) -> bool {
        matches!(self.dispatcher, Dispatcher::Classed(..))
    }

    fn random(&self) -> u64 {
        match &self.dispatcher {
            Dispatcher::Simulated(simulated) => simulated.random(),
            _ => rand::random(),
        }
    }

    fn wall_time(&self) -> SystemTime {
        self.core.clock.wall_time()
    }

    fn now(&self) -> Timestamp {
        self.core.clock.now()
    }

    fn recent_time(&self) -> Timestamp {
        self.dispatcher.recent_time().unwrap_or_else(|| self.now())
    }

    fn set_timer(&self, due: Timestamp, alarm: Alarm) -> TimerKey {
        let key = self.core.timers.set(due, alarm);
        if let Dispatcher::Simulated(simulated) = &self.dispatcher {
            simulated.timer_is_set(self.core.creation, key);
        }
        key
    }

    fn cancel_timer(&self, key: TimerKey) -> bool {
        let was_set = self.core.timers.cancel(key);
        match &self.dispatcher {
            Dispatcher::Simulated(simulated) => simulated.cancel(self.core.creation, key, was_set),
            _ => was_set,
        }
    }

    fn has_stopped(&self) -> bool {
        self.core.halted.load(Ordering::SeqCst)
    }

    fn is_stopping(&self) -> bool {
        self.core.registry.is_closed_below(self.root)
    }

    fn is_node_stopping(&self) -> bool {
        self.core.registry.is_closing()
    }

    fn stats(&self) -> NodeStats {
        self.core.stats()
    }

    fn current_turns(&self) -> Vec<CurrentTurn> {
        self.core.current_turns()
    }

    fn application_pictures(&self) -> Vec<ApplicationPicture> {
        self.core.applications.pictures()
    }

    fn record_turns(&self, limits: TurnRecordingLimits) -> Result<TurnRecording, RecordTurnsError> {
        self.core.record_turns(limits)
    }

    fn next_processes(&self, cursor: &mut TableCursor, into: &mut Vec<Arc<dyn Process>>) -> bool {
        self.core.registry.next_processes(cursor, into)
    }

    fn propagation(&self) -> Option<&Propagation> {
        self.core.propagation()
    }

    fn network(&self) -> Option<Arc<dyn Network>> {
        self.core.network()
    }

    fn network_memory(&self) -> Option<&OnceLock<Arc<dyn Any + Send + Sync>>> {
        Some(&self.core.network_memory)
    }

    fn set_network(&self, network: Option<Arc<dyn Network>>) -> bool {
        self.core.set_network(network)
    }

    fn poke_later(&self, poke: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        self.dispatcher.poke_later(poke)
    }

    fn block(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), BlockError> {
        match &self.dispatcher {
            Dispatcher::Simulated(_) if self.has_stopped() => Err(BlockError::NodeStopped),
            Dispatcher::Simulated(simulated) => {
                simulated.block(self.core.creation, work);
                Ok(())
            }
            _ => self.core.blocking.submit(work),
        }
    }

    fn block_in(&self, pool: &str, work: Box<dyn FnOnce() + Send>) -> Result<(), BlockError> {
        let pool = self.core.blocking.named(pool)?;
        match &self.dispatcher {
            Dispatcher::Simulated(_) => self.block(work),
            _ => pool.submit(work),
        }
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + Send)>) -> Result<(), Stalled> {
        match &self.dispatcher {
            Dispatcher::Simulated(simulated) => simulated.drive(future),
            _ => {
                block_on(future);
                Ok(())
            }
        }
    }

    fn is_driving_runtime(&self) -> bool {
        !matches!(self.dispatcher, Dispatcher::Simulated(_)) && runtime::drives_this_thread()
    }

    fn with_dispatcher(&self, name: &str) -> Result<Arc<dyn Host>, SpawnError> {
        let host = self.core.host(name)?;
        Ok(match self.root {
            Root::User if self.application.is_none() => host,
            root => self.core.beside(&host, host.class, root, self.application.as_ref()),
        })
    }

    fn dispatcher_name(&self) -> &str {
        &self.name
    }

    fn keeps_to_one_thread(&self) -> bool {
        self.dispatcher.keeps_to_one_thread()
    }

    fn class(&self) -> Class {
        self.class
    }

    fn of_class(&self, class: Class) -> Result<Option<Arc<dyn Host>>, SpawnError> {
        if self.core.registry.is_closed() {
            return Err(SpawnError::NodeStopping);
        }
        Ok(Some(self.core.beside(self, class, self.root, self.application.as_ref())))
    }

    fn root(&self) -> Root {
        self.root
    }

    fn user_host(&self) -> Option<Arc<dyn Host>> {
        Some(self.core.beside(self, Class::Normal, Root::User, None))
    }

    fn application(&self) -> Option<(&Name, u64)> {
        self.application.as_ref().map(|run| (&run.name, run.number))
    }

    fn add_alias(&self, alias: Alias, process: Arc<dyn Process>) {
        self.core.registry.add_alias(alias, process);
    }

    fn remove_alias(&self, alias: Alias) {
        self.core.registry.remove_alias(alias);
    }

    fn by_alias(&self, alias: Alias) -> Option<Arc<dyn Process>> {
        self.core.registry.by_alias(alias)
    }

    fn dead_letter(&self, letter: DeadLetter) {
        let application = self.application.as_ref().map(|run| &run.name);
        self.core.records.dead_letter(&letter, application, || self.core.clock.now());
        self.core.own_events.dead_letter(&letter, || self.core.clock.now());
        self.core.events.dead_letter(&letter, || self.core.clock.now());
    }

    fn subscribe(&self, subscription: Subscription) {
        self.core.events.subscribe(subscription);
    }

    fn unsubscribe(&self, topic: EventTopic, pid: Pid) -> bool {
        self.core.events.unsubscribe(topic, pid)
    }

    fn note_initialised(&self, pid: Pid) {
        self.note_life(|| Lifecycle::Initialised { pid });
    }

    fn state_labels(&self) -> &StateLabels {
        &self.core.state_labels
    }

    fn memberships(&self) -> &Memberships {
        &self.core.memberships
    }

    fn topics(&self) -> Option<&TopicTable> {
        Some(&self.core.topics)
    }

    fn note_ended(&self, pid: Pid, name: Option<Name>, reason: &Reason) {
        if let Some(recorder) = self.dispatcher.recorder() {
            recorder.ended(pid, reason);
        }
        self.core.events.forget(pid);
        self.note_life(|| Lifecycle::Ended {
            pid,
            name,
            reason: reason.clone(),
            application: self.application_name(),
        });
        if let Some(run) = &self.application {
            run.note_end(pid, reason);
        }
    }

    fn simulated_link(&self) -> Option<&dyn SimulatedLink> {
        match &self.dispatcher {
            Dispatcher::Simulated(simulated) => Some(&**simulated),
            _ => None,
        }
    }

    fn simulated_events(&self) -> Option<&dyn SimulatedEvents> {
        match &self.dispatcher {
            Dispatcher::Simulated(simulated) => Some(&**simulated),
            _ => None,
        }
    }

    fn mailbox_is_deep(&self, pid: Pid, length: usize) {
        if self.core.mailbox_alarm.is_due(length) {
            // The mailbox is locked and the log subscriber is user code, so a timer reports it
            // in a moment.
            let core = Arc::downgrade(&self.core);
            let tell = move || {
                if let Some(core) = core.upgrade() {
                    core.mailbox_alarm.tell(pid, length, core.process(pid));
                }
            };
            self.set_timer(self.now(), Alarm::Run(Box::new(tell)));
        }
    }

    fn count_refusal(&self, cause: RefusalCause) {
        self.core.incidents.refusal(cause);
    }

    fn count_timed_out_call(&self) {
        self.core.incidents.timed_out_call();
    }

    fn count_deadlock(&self) {
        self.core.incidents.deadlock();
    }

    fn count_restart(&self, kind: RestartKind) {
        self.core.incidents.restart(kind);
    }

    fn count_given_up(&self) {
        self.core.incidents.gave_up();
    }

    fn records(&self) -> Option<&NodeRecords> {
        Some(&self.core.records)
    }

    fn count_late_reply(&self) {
        self.core.late_replies.fetch_add(1, Ordering::Relaxed);
    }
}

impl DispatcherHost {
    fn hears_of_lives(&self) -> bool {
        self.core.own_events.hears_of_lives() || self.core.events.is_heard()
    }

    fn note_life(&self, life: impl FnOnce() -> Lifecycle) {
        if self.core.own_events.hears_of_lives() {
            let life = life();
            self.core.own_events.life(&life, || self.core.clock.now());
            self.core.events.lifecycle(|| life);
        } else {
            self.core.events.lifecycle(life);
        }
    }

    fn application_name(&self) -> Option<Name> {
        self.application.as_ref().map(|run| run.name.clone())
    }

    fn admit_one(&self, process: Arc<dyn Process>, name: Option<&Name>) -> Result<(), SpawnError> {
        let pid = process.pid();
        let expected = self.dispatcher.expect(pid, self.class);
        expected.map_err(|error| ThreadError::from(error).of_dispatcher(self.dispatcher_name()))?;
        let recorded = self.dispatcher.recorder().map(|to| (to, Arc::clone(&process)));
        if recorded.is_some() {
            process.join_simulated_link();
        }
        let admitted = self.core.registry.admit(process, name);
        admitted.inspect_err(|_| self.dispatcher.forget(pid))?;
        if let Some((recorder, process)) = recorded {
            recorder.spawned(process, name.cloned());
        }
        // It has not run, so it is still in the table.
        if self.hears_of_lives()
            && let Some(told) = self.core.process(pid)
        {
            self.note_life(|| Lifecycle::Spawned {
                pid,
                name: name.cloned(),
                parent: told.parent(),
                behavior: told.behavior(),
                application: self.application_name(),
            });
        }
        Ok(())
    }
}
