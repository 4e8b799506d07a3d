//! Files of failing seeds: what they hold, and that an exploration writes one where it is asked to.

use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use serde_json::Value;
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

const VARIABLE: &str = "KRARUP_SEED_FILES";

/// Adds numbers, and fails at a zero.
#[derive(Default)]
struct Adder(u32);

impl Actor for Adder {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, number: u32) -> Result {
        if number == 0 {
            return Err(Reason::error("a \"zero\"\nis \\ nothing"));
        }
        self.0 += number;
        Ok(())
    }
}

/// Two processes send to one; what it gets first decides whether it has enough.
fn first_come(sim: &Simulation) -> Result {
    let adder = sim.spawn(Adder::default).name("adder \"1\"").wait()?;
    for number in [0, 7] {
        let adder = adder.clone();
        let sender = behavior_fn(move |ctx: Context<()>| {
            let adder = adder.clone();
            async move {
                ctx.sleep(Duration::from_millis(2)).await;
                adder.send_high(number).map_err(SendError::without_message)?;
                Ok(())
            }
        });
        sim.spawn(move || sender).start()?;
    }
    sim.advance(Duration::from_secs(1));
    match adder.info().handled {
        1 => Err(Reason::error("the seven is lost")),
        _ => Ok(()),
    }
}

fn file_of(text: &str) -> Value {
    let file: Value = serde_json::from_str(text).unwrap();
    assert_eq!((&file["snapshot"], &file["api"]), (&"krarup".into(), &"v1".into()));
    file["replay"].clone()
}

#[test]
fn v83_the_file_of_a_failing_seed_has_its_expression_its_failure_and_every_step() {
    let failing = Simulation::try_explore(0..100, first_come).unwrap_err();
    let (seed, throughput) = (failing.seed(), failing.throughput());
    let replay = file_of(&failing.to_json());
    assert_eq!(replay["expression"], format!("Simulation::with_throughput({seed}, {throughput})"));
    assert_eq!((&replay["seed"], &replay["throughput"]), (&seed.into(), &throughput.into()));
    assert_eq!((&replay["reason"], &replay["omitted"]), (&"the seven is lost".into(), &0.into()));
    let steps = replay["steps"].as_array().unwrap();
    assert_eq!(steps.len(), failing.last_steps().len());

    let processes = replay["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 3, "{processes:?}");
    let adder = &processes[0];
    assert_eq!((&adder["pid"], &adder["name"]), (&"<0.1.0>".into(), &"adder \"1\"".into()));
    assert!(adder["behavior"].as_str().unwrap().ends_with("::Adder"), "{adder}");
    assert!(processes[1]["name"].is_null() && adder["node"].is_null());

    let of = |kind: &str| steps.iter().filter(|step| step["kind"] == kind).collect::<Vec<_>>();
    assert_eq!(of("spawned").len(), 3);
    let sent = of("sent");
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().all(|step| step["process"] == 0 && step["at_ms"] == 2.0));
    assert!(sent.iter().all(|step| step["message"] == "u32" && step["lane"] == "system"));
    let senders: Vec<u64> = sent.iter().map(|step| step["by"].as_u64().unwrap()).collect();
    assert!(senders.contains(&1) && senders.contains(&2), "{senders:?}");
    let numbers: Vec<u64> = of("turn").iter().map(|step| step["turn"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let handled: u64 = of("turn").iter().map(|step| step["handled"].as_u64().unwrap()).sum();
    assert_eq!(handled, 1, "the zero");
    assert_eq!(of("timer").len(), 2);
    let ended = of("ended").into_iter().find(|step| step["process"] == 0).unwrap();
    assert_eq!(ended["text"], "a \"zero\"\nis \\ nothing");
    let fields: Vec<&String> = steps[0].as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        ["at_ms", "node", "kind", "process", "by", "turn", "handled", "message", "lane", "text"]
    );
    // The same seed makes the same file, byte for byte.
    let again = Simulation::try_explore(seed..seed + 1, first_come).unwrap_err();
    assert_eq!(again.to_json(), failing.to_json());
    assert_eq!(file_of(&failing.last_steps().to_json())["reason"], Value::Null);
}

#[test]
fn v83_processes_of_several_nodes_are_told_apart() {
    let sim = Simulation::new(5);
    let other = sim.beside("b@sim").unwrap();
    for node in [sim.node(), &other] {
        node.spawn(Adder::default).name("adder").start().unwrap().send(1).unwrap();
    }
    sim.run_until_idle();
    let replay = file_of(&sim.last_steps().to_json());
    let of = |process: &Value| (process["pid"].clone(), process["node"].clone());
    let processes: Vec<_> = replay["processes"].as_array().unwrap().iter().map(of).collect();
    let pid = Value::from("<0.1.0>");
    assert_eq!(processes, [(pid.clone(), "sim@localhost".into()), (pid, "b@sim".into())]);
    let turn = |place: u64| {
        let steps = replay["steps"].as_array().unwrap();
        let turns = |step: &&Value| step["kind"] == "turn" && step["process"] == place;
        steps.iter().find(turns).map(|step| step["node"].clone()).unwrap()
    };
    assert_eq!((turn(0), turn(1)), ("sim@localhost".into(), "b@sim".into()));
}

#[test]
fn v83_as_many_steps_are_kept_as_are_asked_for() {
    let sim = Simulation::with_throughput(1, 1);
    sim.keep_steps(1_000);
    let adder = sim.spawn(Adder::default).wait().unwrap();
    (0..600).for_each(|_| adder.send(1).unwrap());
    sim.run_until_idle();
    let all = sim.last_steps();
    assert_eq!(all.len(), 1_000);
    let omitted = file_of(&all.to_json())["omitted"].as_u64().unwrap();
    sim.keep_steps(3);
    assert_eq!(sim.last_steps(), all.last(3));
    assert_eq!(file_of(&sim.last_steps().to_json())["omitted"], omitted + 997);
    sim.keep_steps(0);
    adder.send(1).unwrap();
    sim.run_until_idle();
    assert_eq!(sim.last_steps().len(), 1, "the last one is always kept");
}

/// Fails after more steps than a simulation keeps by itself.
fn many_steps(sim: &Simulation) -> Result {
    let adder = sim.spawn(Adder::default).name("adder").wait()?;
    (0..300).for_each(|_| adder.send(1).unwrap());
    sim.run_until_idle();
    Err(Reason::error("it is too much"))
}

/// In the run of this test that it starts itself the environment asks for files.
#[test]
fn v83_an_exploration_writes_the_file_of_its_failing_seed_where_the_environment_says() {
    if env::var_os(VARIABLE).is_none() {
        let folder = env::temp_dir().join(format!("krarup-seeds-{}", std::process::id()));
        let test = "seed_files::v83_an_exploration_writes_the_file_of_its_failing_seed_where_the_environment_says";
        let ran = Command::new(env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture", "--test-threads=2"])
            .env(VARIABLE, &folder)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{said}");
        assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "{said}");
        fs::remove_dir_all(folder).unwrap();
        let failing = Simulation::try_explore(3..4, many_steps).unwrap_err();
        assert_eq!((failing.file(), failing.last_steps().len()), (None, 256));
        return;
    }
    let folder = std::path::PathBuf::from(env::var_os(VARIABLE).unwrap());
    let failing = Simulation::try_explore(3..4, many_steps).unwrap_err();
    let file = failing.file().expect("it is written").to_owned();
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("seed_files-v83_an_exploration_writes"), "{name}");
    assert!(name.ends_with("-seed-3.json") && file.parent() == Some(folder.as_path()), "{name}");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, failing.to_json());
    let replay = file_of(&text);
    assert!(replay["steps"].as_array().unwrap().len() > 600, "all steps from the start");
    assert_eq!((&replay["omitted"], &replay["steps"][0]["kind"]), (&0.into(), &"spawned".into()));
    let told = failing.to_string();
    assert!(told.contains(&format!("krarup view {} shows it", file.display())), "{told}");
    assert!(told.lines().count() < 270, "the text has the last steps alone");
    // Where no file can be written the failure is told all the same.
    assert_eq!(failing.reason(), &Reason::error("it is too much"));
}
