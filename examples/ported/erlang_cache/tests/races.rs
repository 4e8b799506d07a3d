//! What the operations of one client do not show.

use crate::application::{ELEMENTS, cache, line_protocol, server};
use crate::cache::{Cache, LEASE};
use crate::connection::Connection;
use crate::element::NewElement;
use crate::events::{CacheEvent, EVENTS};
use crate::{SERVER, application};
use krarup::io::{AcceptorAddress, AcceptorRequest};
use krarup::prelude::*;
use krarup::supervisor::SupervisorAddress;
use krarup::testing::Probe;
use krarup::topics::Topic;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

#[test]
fn of_many_inserts_of_one_key_at_once_one_creates_its_element() {
    Simulation::explore(0..100, |sim| {
        sim.declare_applications([cache()])?;
        sim.start_applications()?;
        let topic: Topic<CacheEvent> = sim.topic(EVENTS)?;
        let events = Probe::of(sim, &topic);
        let cache = Cache::of(sim)?;
        let inserts = (0..20).map(|n| {
            let cache = cache.clone();
            async move { cache.insert("milk", &n.to_string(), LEASE).await }
        });
        let all = sim.tasks(inserts).at_once(20).wait()?;
        assert_eq!(all.len(), 20);
        for outcome in all {
            outcome.map_err(Reason::error)??;
        }
        sim.run_until_idle();
        let events = events.take_messages();
        let is_created = |event: &&CacheEvent| matches!(event, CacheEvent::Created(..));
        assert_eq!(events.iter().filter(is_created).count(), 1, "{events:?}");
        assert_eq!(events.len(), 20, "{events:?}");
        let elements: SupervisorAddress<NewElement> = sim.lookup(ELEMENTS)?;
        assert_eq!(elements.count_children().wait()?.active, 1);
        Ok(())
    });
}

#[test]
fn the_fifth_restart_of_a_part_within_an_hour_ends_the_cache() {
    let sim = Simulation::new(1);
    sim.declare_applications([cache()]).unwrap();
    sim.start_applications().unwrap();
    let top = sim.whereis(application::TOP).unwrap();
    for _ in 0..4 {
        sim.kill(sim.whereis(EVENTS).unwrap());
        sim.run_until_idle();
        assert_eq!(sim.whereis(application::TOP), Some(top));
    }
    sim.kill(sim.whereis(EVENTS).unwrap());
    sim.run_until_idle();
    assert!(!sim.is_alive(top));
}

#[test]
fn it_serves_over_tcp() {
    let node = Node::builder("cache@localhost")
        .application(cache())
        .application(line_protocol(server))
        .start()
        .unwrap();
    let acceptor: AcceptorAddress<Connection> = node.lookup(SERVER).unwrap();
    let address = acceptor.call(AcceptorRequest::Address).wait().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
    let dialogue =
        [("LOOKUP milk", "NOT FOUND"), ("INSERT milk 1", "OK"), ("LOOKUP milk", "VALUE 1")];
    for (line, answer) in dialogue {
        stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), answer);
    }
    node.stop().wait().unwrap();
}
