//! Registries: the end of a process against its registration, and two registrations of a key (rules
//! G6, G7).

use super::checker::{bounded, joined, thread};
use super::model_host::{ModelActor, ModelHost};
use crate::context::Context;
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::registry::registry::Registry;
use krarup_gen::RegisterKeyError;
use std::sync::Arc;

/// The end of a process, as far as its memberships are concerned.
fn end(host: &Arc<ModelHost>, cell: &ModelActor) {
    let is_member = {
        let mut relations = cell.locked_relations();
        drop(relations.retire());
        relations.is_member()
    };
    if is_member {
        host.host().memberships().end(cell.pid());
    }
}

/// A context that was moved out of its process registers while the process ends. Once the end has been
/// told, the key is free, and a successor gets it.
#[test]
fn g7_a_key_is_free_when_the_end_of_its_process_is_told() {
    bounded(2, || {
        let host = ModelHost::new();
        let cell = host.admit_new(UNBOUNDED);
        let keys = Registry::<u32, u32>::new();
        let ctx = Context::new(Arc::clone(&cell));
        let registers = {
            let keys = keys.clone();
            thread::spawn(move || (ctx.register_in(&keys, 7).is_ok(), ctx))
        };
        end(&host, &cell);
        assert!(keys.get(&7).is_none(), "told of the end");
        let successor = host.admit_new(UNBOUNDED);
        let next = Context::new(Arc::clone(&successor));
        next.register_in(&keys, 7).unwrap();
        let (_, ctx) = joined(registers);
        assert_eq!(keys.get(&7).map(|found| found.pid()), Some(successor.pid()));
        assert_eq!(host.host().memberships().len(), 1);
        assert!(keys.unregister(&next, &7));
        assert_eq!(host.host().memberships().len(), 0);
        drop((ctx, next));
        host.clear();
    });
}

/// Of two processes that register one key at once one has it.
#[test]
fn g6_of_two_that_register_at_once_one_has_the_key() {
    bounded(2, || {
        let host = ModelHost::new();
        let keys = Registry::<u32, u32>::new();
        let (one, other) = (host.admit_new(UNBOUNDED), host.admit_new(UNBOUNDED));
        let ctx = Context::new(Arc::clone(&other));
        let registers = {
            let keys = keys.clone();
            thread::spawn(move || (ctx.register_in(&keys, 7), ctx))
        };
        let first = Context::new(Arc::clone(&one));
        let here = first.register_in(&keys, 7);
        let (there, ctx) = joined(registers);
        match (here, there) {
            (Ok(()), Err(RegisterKeyError::Taken { by })) => assert_eq!(by, one.pid()),
            (Err(RegisterKeyError::Taken { by }), Ok(())) => assert_eq!(by, other.pid()),
            outcomes => panic!("{outcomes:?}"),
        }
        assert_eq!((keys.len(), host.host().memberships().len()), (1, 1));
        // The records go with the registry.
        drop(keys);
        assert_eq!(host.host().memberships().len(), 0);
        drop((ctx, first));
        host.clear();
    });
}
