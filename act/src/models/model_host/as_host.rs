//! What the model host does for processes: tables, a queue, timers that are fired by hand.

use super::ModelHost;
use crate::host::host::{Alarm, Host, Poke, ProcessEnd, Stalled, TimerKey};
use crate::host::ready::Ready;
use crate::host::shared_host_slot::SharedHostSlot;
use crate::memberships::records::Memberships;
use crate::models::wake_flag::block_on;
use crate::names::name_waits::NameWaits;
use crate::observe::state_labels::StateLabels;
use crate::observe::subscription::{EventTopic, Subscription};
use crate::process::process::Process;
use krarup_gen::{Alias, BlockError, DeadLetter, Name, Pid, Reason, Ref, SpawnError, Timestamp};
use std::pin::Pin;
use std::sync::Arc;
// The counters of the models are not part of what they check, so loom need not see them.
use std::sync::atomic::Ordering;
use std::time::SystemTime;

impl Host for ModelHost {
    fn memberships(&self) -> &Memberships {
        &self.memberships
    }

    fn shared_host(&self) -> Option<&SharedHostSlot> {
        Some(&self.shared)
    }

    fn node_name(&self) -> &'static str {
        "model"
    }

    fn node_pid(&self) -> Pid {
        Pid::local(0, 1)
    }

    fn next_pid(&self) -> Pid {
        Pid::local(self.numbers.fetch_add(1, Ordering::Relaxed), 1)
    }

    fn next_ref(&self) -> Ref {
        Ref::new(self.numbers.fetch_add(1, Ordering::Relaxed))
    }

    fn admit(&self, process: Arc<dyn Process>, name: Option<&Name>) -> Result<(), SpawnError> {
        let mut tables = self.tables.lock();
        if let Some(name) = name {
            if let Some(by) = tables.names.get(name.as_str()).map(|by| by.pid()) {
                return Err(SpawnError::NameTaken { name: name.clone(), by });
            }
            tables.names.insert(name.as_str().to_owned(), Arc::clone(&process));
        }
        tables.processes.insert(process.pid(), process);
        drop(tables);
        name.into_iter().for_each(|name| self.name_waits.wake(name));
        Ok(())
    }

    fn retire(&self, pid: Pid, name: Option<&Name>, _: &ProcessEnd) {
        let gone = {
            let mut tables = self.tables.lock();
            let holder = name.and_then(|name| tables.names.remove(name.as_str()));
            (holder, tables.processes.remove(&pid))
        };
        let retired = self.retired.fetch_add(u64::from(gone.1.is_some()), Ordering::Relaxed) + 1;
        if retired >= self.ends {
            // Listed processes hold the host, so they are dropped.
            let listed = {
                let mut queue = self.queue.lock();
                queue.closed = true;
                std::mem::take(&mut queue.listed)
            };
            self.came.notify_all();
            self.listed.notify_all();
            drop(listed);
        }
        self.fail();
    }

    fn register(&self, _: &Name, _: Arc<dyn Process>) -> Result<(), Pid> {
        unreachable!("models register names only at spawn")
    }

    fn unregister(&self, name: &str) -> Option<Arc<dyn Process>> {
        self.tables.lock().names.remove(name)
    }

    fn unregister_from(&self, _: &str, _: Pid) -> Option<Arc<dyn Process>> {
        unreachable!("models leave no process behind")
    }

    fn process(&self, pid: Pid) -> Option<Arc<dyn Process>> {
        self.tables.lock().processes.get(&pid).cloned()
    }

    fn whereis(&self, name: &str) -> Option<Arc<dyn Process>> {
        self.tables.lock().names.get(name).cloned()
    }

    fn name_waits(&self) -> Option<&NameWaits> {
        Some(&self.name_waits)
    }

    fn schedule(&self, ready: Ready) {
        let mut queue = self.queue.lock();
        let twice = queue.ready.iter().any(|other| other.pid() == ready.pid());
        queue.ready.push_back(ready);
        queue.scheduled += 1;
        drop(queue);
        assert!(!twice, "the process is queued twice");
        self.came.notify_one();
    }

    fn random(&self) -> u64 {
        unreachable!("models use no random numbers")
    }

    fn wall_time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now.load(Ordering::Relaxed))
    }

    fn set_timer(&self, due: Timestamp, alarm: Alarm) -> TimerKey {
        let index = u32::try_from(self.next_ref().number()).expect("a model uses few references");
        self.timers.lock().insert(index, (due, alarm));
        TimerKey { index, generation: 0 }
    }

    fn cancel_timer(&self, key: TimerKey) -> bool {
        let cancelled = self.timers.lock().remove(&key.index);
        cancelled.is_some()
    }

    fn poke_later(&self, process: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        self.queue.lock().listed.push(process());
        self.listed.notify_all();
        true
    }

    fn block(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), BlockError> {
        work();
        Ok(())
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + Send)>) -> Result<(), Stalled> {
        block_on(future);
        Ok(())
    }

    fn with_dispatcher(&self, name: &str) -> Result<Arc<dyn Host>, SpawnError> {
        Err(SpawnError::UnknownDispatcher(name.to_owned()))
    }

    fn dispatcher_name(&self) -> &'static str {
        "model"
    }

    fn has_stopped(&self) -> bool {
        false
    }

    fn is_stopping(&self) -> bool {
        false
    }

    /// The models send to aliases by recipients, which need no lookup.
    fn add_alias(&self, _: Alias, _: Arc<dyn Process>) {}

    fn remove_alias(&self, _: Alias) {}

    fn by_alias(&self, _: Alias) -> Option<Arc<dyn Process>> {
        None
    }

    fn dead_letter(&self, _: DeadLetter) {
        self.dead_letters.fetch_add(1, Ordering::Relaxed);
    }

    fn subscribe(&self, _: Subscription) {
        unreachable!("no model subscribes to anything")
    }

    fn unsubscribe(&self, _: EventTopic, _: Pid) -> bool {
        false
    }

    fn note_initialised(&self, _: Pid) {}

    fn state_labels(&self) -> &StateLabels {
        &self.labels
    }

    fn note_ended(&self, _: Pid, _: Option<Name>, reason: &Reason) {
        if let Reason::Panic(panic) = reason {
            *self.panicked.lock() = Some(panic.to_string());
        }
        self.fail();
    }

    fn count_late_reply(&self) {
        self.late_replies.fetch_add(1, Ordering::Relaxed);
    }
}
