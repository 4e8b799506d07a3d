//! Waiting for a name against a process that is given it (rule H1): the wait finds the process, or is
//! woken. And against a stop of the process that waits (rule H10): the wait finds the stop, or is woken.

use super::checker::{joined, model, thread};
use super::model_host::ModelHost;
use super::wake_flag::block_on;
use crate::host::host::Host;
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::names::name_wait::{NameWait, NoWait};
use crate::names::name_waits::NameWaits;
use crate::process::process::Process;
use krarup_gen::{Name, Reason};
use std::sync::Arc;

#[test]
fn h1_a_wait_finds_the_process_or_is_woken() {
    model(|| {
        let host = ModelHost::new();
        let name = Name::new("stock").expect("a name");
        let cell = host.admit_new(UNBOUNDED);
        let spawner = {
            let (host, name) = (Arc::clone(&host), name.clone());
            let process = Arc::clone(&cell) as Arc<dyn Process>;
            thread::spawn(move || host.admit(process, Some(&name)).expect("a free name"))
        };
        let found = block_on(NameWait::new(&host.host(), &name, None));
        assert_eq!(found.map(|found| found.pid()).expect("the node runs"), cell.pid());
        joined(spawner);
        assert_eq!(host.name_waits().map(NameWaits::waiting), Some(0));
        host.clear();
    });
}

#[test]
fn h1_a_wait_that_is_dropped_leaves_nothing() {
    model(|| {
        let host = ModelHost::new();
        let name = Name::new("stock").expect("a name");
        let cell = host.admit_new(UNBOUNDED);
        let spawner = {
            let (host, name) = (Arc::clone(&host), name.clone());
            let process = Arc::clone(&cell) as Arc<dyn Process>;
            thread::spawn(move || host.admit(process, Some(&name)).expect("a free name"))
        };
        let mut wait = NameWait::new(&host.host(), &name, None);
        let waker = std::task::Waker::noop();
        let _ = std::pin::Pin::new(&mut wait).poll(&mut std::task::Context::from_waker(waker));
        drop(wait);
        joined(spawner);
        assert_eq!(host.name_waits().map(NameWaits::waiting), Some(0));
        host.clear();
    });
}

#[test]
fn h10_a_wait_ends_with_the_stop_of_its_process() {
    model(|| {
        let host = ModelHost::new();
        let node = Arc::clone(&host);
        let cell = host.start(UNBOUNDED, move |mut ctx| async move {
            ctx.stop_in_order();
            let name = Name::new("stock").expect("a name");
            let found = NameWait::new(&node.host(), &name, None).await;
            assert!(matches!(found, Err(NoWait::AskedToStop)), "nobody gives the name away");
            Ok(())
        });
        let worker = host.worker();
        (cell as Arc<dyn Process>).request_stop(Reason::Shutdown);
        joined(worker);
        assert_eq!(host.name_waits().map(NameWaits::waiting), Some(0));
        assert_eq!(host.retired(), 1);
        host.clear();
    });
}
