//! Tests of the plan.

use super::*;
use proptest::prelude::*;

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn declared(all: &[(&str, &[&str])]) -> Vec<Declared> {
    all.iter()
        .map(|(one, needs)| Declared {
            name: name(one),
            needs: needs.iter().map(|need| name(need)).collect(),
            is_service: one.starts_with("service"),
        })
        .collect()
}

fn order(all: &[(&str, &[&str])], wanted: &[&str]) -> Vec<String> {
    let all = declared(all);
    let wanted: Vec<_> = wanted.iter().map(|one| name(one)).collect();
    check(&all).unwrap();
    start_order(&all, &wanted).into_iter().map(|at| all[at].name.to_string()).collect()
}

#[test]
fn a1_a_name_that_is_given_twice_is_an_error() {
    let all = declared(&[("shop", &[]), ("mail", &[]), ("shop", &[])]);
    let error = check(&all).unwrap_err();
    assert_eq!(error, ApplicationError::Twice(name("shop")));
    assert_eq!(error.to_string(), "application shop is given twice");
}

#[test]
fn a1_a_need_that_is_not_there_is_an_error() {
    let all = declared(&[("shop", &["storage"])]);
    let error = check(&all).unwrap_err();
    assert_eq!(error.to_string(), "application shop needs storage, which is not given");
}

#[test]
fn a1_a_service_needs_services_alone() {
    let all =
        declared(&[("shop", &["service 1"]), ("service 1", &["service 2"]), ("service 2", &[])]);
    assert_eq!(check(&all), Ok(()));
    let all = declared(&[("service 1", &["service 2", "shop"]), ("service 2", &[]), ("shop", &[])]);
    let error = check(&all).unwrap_err().to_string();
    let expected = "service service 1 needs shop, which is no service and would end before it";
    assert_eq!(error, expected);
}

#[test]
fn a1_a_cycle_is_named_in_full() {
    let all =
        declared(&[("z", &["a"]), ("a", &["d", "b"]), ("d", &[]), ("b", &["c"]), ("c", &["a"])]);
    let error = check(&all).unwrap_err();
    assert_eq!(error.to_string(), "applications need each other in a cycle: a, b, c, a");
    let own = check(&declared(&[("a", &["a"])])).unwrap_err();
    assert_eq!(own.to_string(), "applications need each other in a cycle: a, a");
}

#[test]
fn a2_each_comes_after_what_it_needs_and_otherwise_as_they_were_given() {
    let all: &[(&str, &[&str])] =
        &[("shop", &["storage", "mail"]), ("storage", &[]), ("mail", &["storage"]), ("web", &[])];
    assert_eq!(order(all, &["shop", "storage", "mail", "web"]), ["storage", "mail", "shop", "web"]);
    assert_eq!(order(all, &["web", "mail"]), ["web", "storage", "mail"]);
    assert_eq!(order(all, &["web", "web"]), ["web"]);
}

#[test]
fn a2_a_chain_of_a_hundred_thousand_is_ordered_on_a_small_stack() {
    const LENGTH: usize = 100_000;
    let called = |at: usize| name(&format!("a{at}"));
    let chain: Vec<_> = (0..LENGTH)
        .map(|at| Declared {
            name: called(at),
            needs: (at + 1 < LENGTH).then(|| called(at + 1)).into_iter().collect(),
            is_service: false,
        })
        .collect();
    let small = std::thread::Builder::new().stack_size(64 << 10);
    let ordered = small.spawn(move || {
        check(&chain).unwrap();
        start_order(&chain, &[called(0)])
    });
    let ordered = ordered.unwrap().join().unwrap();
    assert!(ordered.into_iter().eq((0..LENGTH).rev()));
}

#[test]
fn a5_dependents_are_found_directly_and_through_others() {
    let all = declared(&[("s", &[]), ("b", &["s"]), ("a", &["s"]), ("c", &["b"]), ("d", &["s"])]);
    let named = |names: Vec<Name>| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let alive = |one: &Name| one.as_str() != "d";
    assert_eq!(named(dependents(&all, &name("s"), alive, false)), ["a", "b"]);
    assert_eq!(named(dependents(&all, &name("s"), alive, true)), ["a", "b", "c"]);
    assert!(dependents(&all, &name("c"), alive, true).is_empty());
}

#[test]
fn a7_the_mode_decides_what_an_end_means() {
    let crash = Reason::error("crash");
    let with = Reason::shutdown("done");
    let ends = [&Reason::Normal, &Reason::Shutdown, &with, &crash, &Reason::Killed];
    for (mode, stops) in [
        (Mode::Temporary, [false, false, false, false, false]),
        (Mode::Transient, [false, true, true, true, true]),
        (Mode::Permanent, [true, true, true, true, true]),
    ] {
        assert_eq!(ends.map(|reason| stops_node(mode, TopEnd::OfItself(reason))), stops, "{mode}");
        assert!(!stops_node(mode, TopEnd::Asked));
    }
}

proptest! {
    #[test]
    fn a2_any_needs_without_a_cycle_are_ordered_and_every_other_is_a_cycle(
        edges in proptest::collection::vec((0usize..8, 0usize..8), 0..16),
    ) {
        let called = |at: usize| name(&format!("a{at}"));
        let all: Vec<_> = (0..8)
            .map(|at| Declared {
                name: called(at),
                needs: edges.iter().filter(|(from, _)| *from == at).map(|(_, to)| called(*to)).collect(),
                is_service: false,
            })
            .collect();
        match check(&all) {
            Ok(()) => {
                let wanted: Vec<_> = (0..8).map(called).collect();
                let order = start_order(&all, &wanted);
                prop_assert_eq!(order.len(), 8);
                let place = |at: usize| order.iter().position(|one| *one == at).unwrap();
                for (from, to) in edges {
                    prop_assert!(place(to) < place(from));
                }
            }
            Err(ApplicationError::Cycle(names)) => {
                prop_assert_eq!(names.first(), names.last());
                for pair in names.windows(2) {
                    let from = all.iter().find(|one| one.name == pair[0]).unwrap();
                    prop_assert!(from.needs.contains(&pair[1]));
                }
            }
            Err(other) => panic!("{other}"),
        }
    }
}
