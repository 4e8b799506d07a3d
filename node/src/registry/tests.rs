//! Tests of the table of processes.

use super::*;
use crate::core::Core;
use crate::dispatcher::any::Dispatcher;
use crate::dispatcher::calling_thread::Calling;
use crate::options::{DEFAULT, DispatcherOptions};
use crate::side_threads::blocking::Blocking;
use crate::timers::clock::Clock;
use krarup_act::{Address, Context, Host, Spawn, behavior_fn};
use krarup_gen::{MessageTotals, ReasonKind};

/// A node whose processes run in the calling thread.
fn calling_node() -> (Arc<Core>, Arc<dyn Host>) {
    let name = Name::new("registry").unwrap();
    let core = Core::new(name, 1, Clock::simulated(), Blocking::none());
    let around = Arc::new(|work: &mut dyn FnMut()| work()) as _;
    let limits = DispatcherOptions::new().setup(DEFAULT, &core, &around).limits;
    let here = Calling::new(DEFAULT.to_owned(), limits);
    let host = core.settle(DEFAULT, DEFAULT, Dispatcher::CallingThread(here));
    (core, host)
}

/// Spawns a process that ends with its first message.
fn spawn(host: &Arc<dyn Host>) -> Address<()> {
    let waits = behavior_fn(|mut ctx: Context<()>| async move {
        ctx.receive().await;
        Ok(())
    });
    Spawn::outside(Arc::clone(host), move || waits).start().unwrap()
}

#[test]
fn the_processes_of_a_host_share_one_handle_on_it() {
    let (core, host) = calling_node();
    for _ in 0..2 {
        let before = Arc::strong_count(&host);
        let all: Vec<_> = (0..9).map(|_| spawn(&host)).collect();
        assert_eq!(Arc::strong_count(&host), before + 1);
        all.iter().for_each(|one| one.send(()).unwrap());
        drop(all);
        assert_eq!(Arc::strong_count(&host), before, "it ends with them");
    }
    core.clear_homes();
}

#[test]
fn a_page_is_removed_when_its_last_process_has_ended_and_not_before() {
    let (core, host) = calling_node();
    let registry = &core.registry;
    let pages = || registry.pids.pages();
    // The numbers 1 to 600: more pages than shards, and two pages on one shard.
    let all: Vec<_> = (0..600).map(|_| spawn(&host)).collect();
    assert_eq!((pages(), registry.living(), registry.counts().spawned), (19, 600, 600));
    let pids = || registry.all().iter().map(|process| process.pid()).collect::<Vec<_>>();
    assert_eq!(pids(), all.iter().map(Address::pid).collect::<Vec<_>>());
    // One process of each page stays.
    all.iter().filter(|one| one.pid().id() % 32 != 3).for_each(|one| one.send(()).unwrap());
    assert_eq!((pages(), registry.living()), (19, 19));
    assert!(pids().iter().all(|pid| pid.id() % 32 == 3));
    assert!(registry.process(all[2].pid()).is_some_and(|found| found.pid() == all[2].pid()));
    assert!(registry.process(all[3].pid()).is_none());
    // An ended process is removed once.
    let end = ProcessEnd { kind: ReasonKind::Normal, messages: MessageTotals::default() };
    let ended = registry.counts().ended.by_kind;
    registry.retire(all[3].pid(), None, &end);
    assert_eq!(registry.counts().ended.by_kind, ended);
    assert_eq!(registry.living(), 19);
    all.iter().filter(|one| one.is_alive()).for_each(|one| one.send(()).unwrap());
    assert_eq!((pages(), registry.living(), registry.counts().spawned), (0, 0, 600));
    let named = || -> Result<Pid, SpawnError> {
        let waits = behavior_fn(|mut ctx: Context<()>| async move {
            ctx.receive().await;
            Ok(())
        });
        let spawn = Spawn::outside(Arc::clone(&host), move || waits).name("named");
        spawn.start().map(|named: Address<()>| named.pid())
    };
    let by = named().unwrap();
    assert!(matches!(named(), Err(SpawnError::NameTaken { by: holder, .. }) if holder == by));
    assert_eq!((registry.living(), registry.counts().spawned, registry.names()), (1, 601, 1));
    registry.process(by).unwrap().kill();
    assert_eq!((registry.living(), registry.counts().spawned, registry.names()), (0, 601, 0));
    registry.close();
    let late = Spawn::outside(host, || behavior_fn(|_: Context<()>| async { Ok(()) })).start();
    assert_eq!(late.map(|late| late.pid()), Err(SpawnError::NodeStopping));
    assert_eq!((registry.living(), registry.counts().spawned), (0, 601));
    core.clear_homes();
}

#[test]
fn closing_one_root_leaves_the_other_open() {
    let registry = ProcessTable::default();
    let closed = || [Root::User, Root::System].map(|root| registry.is_closed_below(root));
    assert!(!registry.is_closing());
    registry.close_to_top_level();
    assert_eq!((registry.is_closing(), closed()), (true, [false, false]));
    let registry = ProcessTable::default();
    let closed = || [Root::User, Root::System].map(|root| registry.is_closed_below(root));
    registry.close_below(Root::User);
    assert_eq!((registry.is_closing(), closed()), (true, [true, false]));
    assert!(!registry.is_closed());
    registry.close_below(Root::System);
    assert_eq!((registry.is_closed(), closed()), (true, [true, true]));
    assert!(!registry.close());
    let registry = ProcessTable::default();
    assert!(registry.close() && registry.is_closing() && registry.is_closed());
}
