//! Pids and references of a node, as terms and back.

use crate::support::{Member, Order};
use krarup_dist::{ClusterCalls, ClusterError, HasCluster};
use krarup_gen::{Pid, Ref};
use krarup_wire::etf::{Reference, Term};

#[test]
fn zid2_pids_of_all_64_bits_come_back_as_they_were() {
    let a = Member::start("numbers@127.0.0.1", "secret", &[]);
    let handle = a.cluster.cluster().unwrap();
    let creation = a.cluster.pid().creation();
    for number in [1, 1 << 18, 1 << 28, u64::from(u32::MAX), 1 << 32, (7 << 32) + 9, u64::MAX] {
        let pid = Pid::local(number, creation);
        let term = handle.pid_term(pid).unwrap();
        let Term::Pid(external) = &term else { panic!() };
        assert_eq!(u64::from(external.serial) << 32 | u64::from(external.id), number);
        assert!(external.creation >= 4, "{term}");
        assert_eq!(handle.pid(&term), Some(pid));
    }
}

#[test]
fn zid6_the_creation_on_the_wire_is_at_least_4() {
    for number in 0..20 {
        let a = Member::start(&format!("creation{number}@127.0.0.1"), "secret", &[]);
        let term = a.cluster.cluster().unwrap().pid_term(a.cluster.pid()).unwrap();
        let Term::Pid(pid) = term else { panic!() };
        assert!(pid.creation >= 4);
    }
}

#[test]
fn zid7_references_of_all_64_bits_come_back_and_those_of_others_do_not() {
    let a = Member::start("references@127.0.0.1", "secret", &[]);
    let handle = a.cluster.cluster().unwrap();
    for number in [1, (1 << 18) - 1, 1 << 18, 1 << 50, (1 << 50) - 1, u64::MAX] {
        let term = handle.ref_term(Ref::new(number));
        let Term::Reference(reference) = &term else { panic!() };
        assert_eq!(reference.words().len(), 3);
        assert!(reference.words()[0] < 1 << 18, "{term}");
        assert_eq!(handle.reference(&term), Some(Ref::new(number)));
        let (node, words) = (reference.node().clone(), reference.words());
        let earlier = Reference::new(node, reference.creation() ^ 1, words).unwrap();
        assert_eq!(handle.reference(&earlier.into()), None);
    }
}

#[test]
fn zid9_a_node_is_not_a_node_of_its_own_cluster() {
    let a = Member::start("itself@127.0.0.1", "secret", &[]);
    let itself = Err(ClusterError::ThisNode(a.name.clone()));
    assert_eq!(a.cluster.remote::<Order>("stock", &a.name).map(drop), itself);
}
