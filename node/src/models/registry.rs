//! The registry while processes are spawned, end and look each other up, and the node stops
//! (rules N2 to N4, X2).

use super::checker::{bounded, joined, model, thread};
use crate::registry::ProcessTable;
use krarup_act::{
    Dynamic, Guarded, InspectRequest, LockedRelations, MutedSender, Process, ProcessEnd, Put,
    Ready, Reply, Via,
};
use krarup_gen::{
    Alias, Down, Exit, MessageTotals, Name, Pid, ProcessInfo, ProcessState, Reason, ReasonKind,
    Root, SendError, SpawnError,
};
use std::sync::Arc;
use std::time::Duration;

/// A process that exists only as a table entry.
#[derive(Default)]
struct TableEntry(u64, Guarded, Option<Pid>);

fn process(number: u64) -> Arc<dyn Process> {
    Arc::new(TableEntry(number, Guarded::default(), None))
}

impl Process for TableEntry {
    fn pid(&self) -> Pid {
        Pid::local(self.0, 1)
    }

    fn parent(&self) -> Option<Pid> {
        self.2
    }

    fn root(&self) -> Root {
        Root::User
    }

    fn behavior(&self) -> krarup_gen::Label {
        krarup_gen::Label::of_type("entry")
    }

    fn info(&self) -> ProcessInfo {
        ProcessInfo::new(self.pid(), self.behavior(), ProcessState::Idle)
    }

    fn handled(&self) -> u64 {
        0
    }

    fn ran(&self, _: Duration) {}

    fn put_exit(&self, _: Exit, _: Via) -> Put {
        Put::unheard(None)
    }

    fn put_down(&self, _: Down, _: bool) -> Option<Ready> {
        None
    }

    fn schedule(&self, _: Option<Ready>) {}

    fn enter_muted(&self, _: Arc<dyn MutedSender>) -> bool {
        false
    }

    fn has_pending_exit(&self) -> bool {
        false
    }

    fn request_stop(self: Arc<Self>, _: Reason) {}

    fn kill(self: Arc<Self>) {}

    fn inspect(self: Arc<Self>, _: InspectRequest) {}

    fn send_dynamic(
        self: Arc<Self>,
        message: Dynamic,
        _: Option<Alias>,
    ) -> Result<(), SendError<Dynamic>> {
        Err(SendError::NoProcess { message, to: self.pid() })
    }

    fn state(self: Arc<Self>, _: Reply<Option<Dynamic>>) {}

    fn suspend(self: Arc<Self>, _: Reply<()>) {}

    fn resume(self: Arc<Self>) -> bool {
        false
    }

    fn nudge(self: Arc<Self>) {}

    fn waits_for(&self) -> Option<Pid> {
        None
    }

    fn waits_for_or_mark(&self) -> Option<Pid> {
        None
    }

    fn is_awaited_task(&self) -> bool {
        false
    }

    fn lane_types(&self) -> (&'static str, &'static str) {
        ("()", "()")
    }

    fn trace(self: Arc<Self>, _: bool) {}

    fn relations(&self) -> LockedRelations<'_> {
        self.1.lock()
    }

    fn join_simulated_link(&self) {}

    fn panic_at_next_message(self: Arc<Self>, _: bool) {}

    fn occupy(self: Arc<Self>) -> Option<Box<dyn Send>> {
        None
    }
}

fn end() -> ProcessEnd {
    ProcessEnd { kind: ReasonKind::Normal, messages: MessageTotals::default() }
}

fn name() -> Name {
    Name::new("one").expect("a name")
}

/// Three spawns with one name: one is admitted, and nothing is left of the others.
#[test]
fn of_three_of_one_name_one_is_admitted() {
    bounded(3, || {
        let registry = Arc::new(ProcessTable::default());
        let admit = |number| {
            let registry = Arc::clone(&registry);
            move || registry.admit(process(number), Some(&name())).is_ok()
        };
        let others = [thread::spawn(admit(1)), thread::spawn(admit(2))];
        let third = admit(3)();
        let [first, second] = others.map(joined);
        let admitted = [(1, first), (2, second), (3, third)];
        let winners: Vec<u64> =
            admitted.into_iter().filter(|(_, won)| *won).map(|(n, _)| n).collect();
        assert_eq!(winners.len(), 1, "winners");
        let found: Vec<_> = registry.all().iter().map(|process| process.pid().id()).collect();
        assert_eq!(found, winners, "left behind");
        assert_eq!(registry.whereis("one").map(|process| process.pid().id()), Some(winners[0]));
        assert_eq!((registry.living(), registry.names(), registry.counts().spawned), (1, 1, 1));
    });
}

/// A process ends while another takes its name. The other is refused or has the name, also if
/// the end is reported twice.
#[test]
fn a_name_moves_from_an_ended_process_to_a_living_one() {
    model(|| {
        let registry = Arc::new(ProcessTable::default());
        registry.admit(process(1), Some(&name())).expect("a free name");
        let ending = thread::spawn({
            let registry = Arc::clone(&registry);
            move || registry.retire(Pid::local(1, 1), Some(&name()), &end())
        });
        let admitted = registry.admit(process(2), Some(&name()));
        joined(ending);
        registry.retire(Pid::local(1, 1), Some(&name()), &end());
        let holder = registry.whereis("one").map(|process| process.pid().id());
        assert_eq!(holder, admitted.is_ok().then_some(2), "whose name");
        let alive = usize::from(admitted.is_ok());
        assert_eq!((registry.living(), registry.names()), (alive, alive));
        assert!(matches!(admitted, Ok(()) | Err(SpawnError::NameTaken { .. })));
    });
}

/// A process that is found by its name is found by its pid.
#[test]
fn a_process_found_by_its_name_is_found_by_its_pid() {
    model(|| {
        let registry = Arc::new(ProcessTable::default());
        let admitting = thread::spawn({
            let registry = Arc::clone(&registry);
            move || registry.admit(process(1), Some(&name())).is_ok()
        });
        if let Some(found) = registry.whereis("one") {
            assert!(registry.process(found.pid()).is_some(), "no such pid");
        }
        assert!(joined(admitting));
    });
}

/// A spawn against the stop of the node. A process that is admitted is counted when the registry
/// has been closed, so the stop waits for it. No process is admitted after that.
#[test]
fn a_thread_that_closes_the_registry_misses_no_process() {
    model(|| {
        let registry = Arc::new(ProcessTable::default());
        let admitting = thread::spawn({
            let registry = Arc::clone(&registry);
            move || registry.admit(process(1), None).is_ok()
        });
        assert!(registry.close() && !registry.close());
        let counted = registry.living();
        let admitted = joined(admitting);
        assert!(!admitted || counted == 1, "missed");
        assert_eq!(registry.living(), usize::from(admitted));
        assert!(registry.admit(process(2), None).is_err());
    });
}

/// A process spawns a child and ends. Whoever counts the processes meanwhile counts one of them.
#[test]
fn a_child_is_counted_before_its_parent_is_not_counted_any_more() {
    model(|| {
        let registry = Arc::new(ProcessTable::default());
        // The shard of the child comes before that of its parent.
        let (child, parent) = (1, 33);
        registry.admit(process(parent), None).expect("a free place");
        let ending = thread::spawn({
            let registry = Arc::clone(&registry);
            move || {
                registry.admit(process(child), None).expect("a free place");
                registry.retire(Pid::local(parent, 1), None, &end());
            }
        });
        assert!(registry.living() > 0, "nobody");
        joined(ending);
        assert_eq!(registry.living(), 1);
    });
}

/// The spawn of a child against a stop that has come to the end of its root. A child may be
/// spawned while the node stops, and if it is admitted it is counted when the root is closed.
#[test]
fn a_thread_that_closes_a_root_misses_no_process_below_it() {
    model(|| {
        let registry = Arc::new(ProcessTable::default());
        registry.close_to_top_level();
        assert!(registry.admit(process(1), None).is_err());
        let child = |number| -> Arc<dyn Process> {
            Arc::new(TableEntry(number, Guarded::default(), Some(Pid::local(1, 1))))
        };
        let admitting = thread::spawn({
            let (registry, child) = (Arc::clone(&registry), child(2));
            move || registry.admit(child, None).is_ok()
        });
        registry.close_below(Root::User);
        let counted = registry.living();
        let admitted = joined(admitting);
        assert!(!admitted || counted == 1, "missed");
        assert!(registry.admit(child(3), None).is_err() && !registry.is_closed());
    });
}

#[cfg(loom)]
mod broken {
    use super::*;
    use crate::sync::in_one_order::AtomicBool;
    use crate::sync::{Lock, Ordering, RwLock};
    use std::collections::BTreeMap;

    #[test]
    #[should_panic(expected = "winners")]
    fn checking_a_name_before_taking_it_admits_two_winners() {
        model(|| {
            let names = Arc::new(RwLock::<BTreeMap<Name, u64>>::default());
            let take = |number| {
                let names = Arc::clone(&names);
                move || {
                    let free = !names.read().contains_key(&name());
                    if free {
                        names.write().insert(name(), number);
                    }
                    free
                }
            };
            let other = thread::spawn(take(1));
            let mine = take(2)();
            assert_eq!(usize::from(mine) + usize::from(joined(other)), 1, "winners");
        });
    }

    /// As `ProcessTable::retire`, but without a check of the holder.
    #[test]
    #[should_panic(expected = "whose name")]
    fn releasing_a_name_without_checking_its_holder_takes_it_from_another() {
        model(|| {
            let registry = Arc::new(ProcessTable::default());
            registry.admit(process(1), Some(&name())).expect("a free name");
            registry.unregister("one");
            let ending = thread::spawn({
                let registry = Arc::clone(&registry);
                move || drop(registry.unregister("one"))
            });
            registry.admit(process(2), Some(&name())).expect("a free name");
            joined(ending);
            assert!(registry.whereis("one").is_some(), "whose name");
        });
    }

    /// As `PidTable::insert`, but the flag is read before the shard is locked.
    #[test]
    #[should_panic(expected = "missed")]
    fn a_process_that_is_admitted_by_a_check_without_the_lock_is_missed() {
        model(|| {
            let shared = Arc::new((AtomicBool::default(), Lock::<usize>::default()));
            let admitting = thread::spawn({
                let shared = Arc::clone(&shared);
                move || {
                    let open = !shared.0.load(Ordering::SeqCst);
                    if open {
                        *shared.1.lock() += 1;
                    }
                    open
                }
            });
            shared.0.swap(true, Ordering::SeqCst);
            let counted = *shared.1.lock();
            assert!(!joined(admitting) || counted == 1, "missed");
        });
    }

    /// As `PidTable::counts`, but with one shard locked after the other.
    #[test]
    #[should_panic(expected = "nobody")]
    fn shards_that_are_counted_one_after_the_other_miss_a_child_whose_parent_ends() {
        model(|| {
            let shards = Arc::new([Lock::<usize>::default(), Lock::<usize>::default()]);
            *shards[1].lock() = 1;
            let parent = thread::spawn({
                let shards = Arc::clone(&shards);
                move || {
                    *shards[0].lock() += 1;
                    *shards[1].lock() -= 1;
                }
            });
            let counted: usize = shards.iter().map(|shard| *shard.lock()).sum();
            assert!(counted > 0, "nobody");
            joined(parent);
        });
    }

    /// The name is registered before the pid.
    #[test]
    #[should_panic(expected = "no such pid")]
    fn a_name_registered_before_its_pid_leads_to_no_process() {
        model(|| {
            let registry = Arc::new(ProcessTable::default());
            let admitting = thread::spawn({
                let registry = Arc::clone(&registry);
                move || {
                    let process = process(1);
                    registry.register(&name(), Arc::clone(&process)).expect("a free name");
                    registry.admit(process, None).is_ok()
                }
            });
            if let Some(found) = registry.whereis("one") {
                assert!(registry.process(found.pid()).is_some(), "no such pid");
            }
            assert!(joined(admitting));
        });
    }
}
