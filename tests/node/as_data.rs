//! What a node tells of itself as data for serde: rule X15.

use crate::support::{Log, puppet};
use krarup::observe::NodeStats;
use krarup::prelude::*;
use serde_json::{from_value, json, to_value};
use std::time::Duration;

#[test]
fn x15_a_snapshot_of_a_process_has_the_fields_and_words_of_its_type() {
    let sim = Simulation::new(1);
    let desk = puppet(&sim, "desk", &Log::new());
    sim.advance(Duration::from_millis(1500));
    let shown = to_value(desk.info()).unwrap();
    assert_eq!(shown["pid"], json!(desk.pid().to_string()));
    assert_eq!((&shown["state"], &shown["kind"]), (&json!("idle"), &json!("actor")));
    assert_eq!((&shown["class"], &shown["root"]), (&json!("normal"), &json!("user")));
    assert_eq!(shown["uptime"], json!({ "secs": 1, "nanos": 500_000_000 }));
    assert_eq!((&shown["mailbox"], &shown["waits"]), (&json!(null), &json!(null)));
    assert_eq!(shown["pid"], to_value(sim.tree()).unwrap()[0][0]["process"]["pid"]);
}

#[test]
fn x15_the_counters_of_a_node_come_back_as_they_were() {
    let sim = Simulation::new(1);
    let desk = puppet(&sim, "desk", &Log::new());
    sim.kill(desk.pid());
    sim.run_until_idle();
    let stats = sim.stats();
    let shown = to_value(&stats).unwrap();
    assert_eq!((&shown["spawned"], &shown["ended"]["killed"]), (&json!(1), &json!(1)));
    assert_eq!(from_value::<NodeStats>(shown).unwrap(), stats);
}

struct Idles;

impl Actor for Idles {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

#[test]
fn x15_pools_and_supervisors_tell_of_themselves_as_data() {
    let sim = Simulation::new(1);
    let supervisor = sim
        .spawn(|| {
            Supervisor::one_for_one()
                .child(ChildSpec::supervisor("pool", || Pool::new(2, || Idles)).name("pool"))
                .child(ChildSpec::worker("idles", || Idles).restart(RestartType::Transient))
        })
        .wait()
        .unwrap();
    let children = to_value(supervisor.which_children().wait().unwrap()).unwrap();
    let running = |child: &serde_json::Value| child["state"]["running"].is_string();
    assert!(children.as_array().unwrap().iter().all(running), "{children}");
    // As in OTP, the last comes first.
    assert_eq!((&children[0]["id"], &children[1]["kind"]), (&json!("idles"), &json!("supervisor")));
    let spec = to_value(supervisor.get_childspec("idles").wait().unwrap()).unwrap();
    assert_eq!((&spec["restart"], &spec["back_off"]), (&json!("transient"), &json!(null)));
    assert_eq!(spec["shutdown"], json!({ "timeout": { "secs": 5, "nanos": 0 } }));
    let counts = to_value(supervisor.count_children().wait().unwrap()).unwrap();
    assert_eq!(counts, json!({ "specs": 2, "active": 2, "supervisors": 1, "workers": 1 }));
    let pool = sim.process_info(sim.whereis("pool").unwrap()).unwrap();
    let gauges = &to_value(&pool).unwrap()["pool"];
    assert_eq!((&gauges["size"], &gauges["workers"]), (&json!(2), &json!(2)));
    assert_eq!(gauges["members"].as_array().map(Vec::len), Some(2));
    let inspected = to_value(sim.inspect(supervisor.pid()).wait().unwrap()).unwrap();
    assert_eq!(inspected["children"][1]["id"], "idles");
}
