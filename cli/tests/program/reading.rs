//! The commands that read.

use crate::observed::{HOSTILE, Observed, PROGRAM, errors, get, out, run, until};
use crate::shop::{fail, id, shop};
use crate::viewed::Viewed;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Each command that reads with its arguments, and the path of its route.
const READING: [(&[&str], &str); 20] = [
    (&["node"], "node"),
    (&["findings"], "findings"),
    (&["ps"], "processes"),
    (&["info", "stock"], "processes/ID"),
    (&["inspect", "stock"], "processes/ID/inspect"),
    (&["state", "stock"], "processes/ID/state"),
    (&["pools"], "pools"),
    (&["cluster"], "cluster"),
    (&["waits"], "waits"),
    (&["turns"], "turns"),
    (&["flow"], "flow"),
    (&["crashes"], "crashes"),
    (&["crashes", "1"], "crashes/1"),
    (&["restarts"], "restarts"),
    (&["dead-letters"], "dead_letters"),
    (&["deadlocks"], "deadlocks"),
    (&["logs"], "logs"),
    (&["actions"], "actions"),
    (&["snapshot"], "snapshot"),
    (&["health"], "../../health"),
];

/// What the program prints for a command of the node.
fn printed(observed: &Observed, command: &[&str], options: &[&str]) -> String {
    let url = observed.url();
    let output = run(&[&command[..1], &[url.as_str()], &command[1..], options].concat());
    // A process that does not answer is a check that is down.
    let down = command == ["health"] && errors(&output).contains("a check of the node is down");
    assert_eq!(output.status.code(), Some(down.into()), "{command:?}: {}", errors(&output));
    out(&output)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The fields of an object, and of the first of each list in it.
fn fields(body: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for (field, value) in body.as_object().into_iter().flatten() {
        all.push(field.clone());
        all.extend(value[0].as_object().into_iter().flatten().map(|(name, _)| name.clone()));
    }
    all
}

#[test]
fn v84_every_command_that_reads_prints_a_text_or_the_body_of_its_route() {
    let observed = shop("reading@localhost");
    observed.stuck(HOSTILE, 2);
    fail(&observed);
    for (command, path) in READING {
        let text = printed(&observed, command, &[]);
        assert!(!text.trim().is_empty(), "{command:?}");
        assert!(text.chars().all(|it| it == '\n' || !it.is_control()), "{command:?}: {text}");
        assert!(!text.contains('\u{202e}'), "{command:?}");
        let body = printed(&observed, command, &["--json"]);
        assert!(body.chars().all(|it| it == '\n' || !it.is_control()), "{command:?}: {body}");
        let path = path.replace("ID", &id(&observed, "stock").to_string());
        let path = format!("/api/v1/{path}").replace("/api/v1/../..", "");
        let (_, route) = get(observed.observer.address(), &path);
        assert_eq!(fields(&json(&body)), fields(&json(&route)), "{command:?}");
    }
    // The same value as the route has, though it is harmless.
    let named = printed(&observed, &["ps"], &["--q", "owned", "--json"]);
    assert_eq!(json(&named)["processes"][0]["name"], HOSTILE);
    observed.stop();
}

#[test]
fn v84_processes_are_sorted_filtered_and_counted() {
    let observed = shop("ps@localhost");
    let first = json(&printed(&observed, &["ps"], &["--json"]));
    assert!(first["sample"]["window_ms"].is_number(), "it has rates: {first}");
    observed.stuck("oak", 3);
    let all = until(|| {
        let all = printed(&observed, &["ps"], &["--sort", "main", "--limit", "2"]);
        Some(all).filter(|all| all.lines().nth(1).is_some_and(|it| it.contains("oak")))
    });
    assert!(all.starts_with("PID  "), "{all}");
    assert!(all.lines().next().unwrap().ends_with("BEHAVIOUR"), "{all}");
    assert_eq!(all.lines().count(), 4, "{all}");
    assert!(all.lines().last().unwrap().starts_with("and "), "{all}");
    let below = printed(&observed, &["ps"], &["--parent", "shop", "--sort=name", "--order=desc"]);
    let names: Vec<&str> =
        below.lines().skip(1).map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(names, ["stock", "clerk"]);
    assert_eq!(printed(&observed, &["ps"], &["--q", "nothing has it"]), "no processes\n");
    let output = run(&["ps", &observed.url(), "--limit", "501"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("--limit=\"501\" is not a whole number from 1 to 500"));
    observed.stop();
}

#[test]
fn v84_a_process_is_found_by_its_number_its_pid_and_its_name() {
    let observed = shop("info@localhost");
    observed.stuck("stock2", 0);
    let id = id(&observed, "stock");
    let pid = format!("<0.{id}.0>");
    let number = id.to_string();
    for process in ["stock", &number, &pid, pid.trim_matches(['<', '>'])] {
        let line = |text: &str, field: &str| {
            let found = text.lines().find(|line| line.split_whitespace().next() == Some(field));
            let found = found.unwrap_or_else(|| panic!("{field}: {text}"));
            found.split_whitespace().nth(1).unwrap().to_owned()
        };
        // The turn of the inspection before may not have ended.
        let text = until(|| {
            let text = printed(&observed, &["info", process], &[]);
            Some(text).filter(|text| line(text, "state") == "idle")
        });
        assert_eq!((line(&text, "pid"), line(&text, "name")), (pid.clone(), "stock".to_owned()));
        assert!(text.contains("pieces 7, lag 12 ms"), "{text}");
        assert!(text.contains("name shop, kind supervisor, child stock"), "{text}");
    }
    let state = printed(&observed, &["state", "stock"], &[]);
    assert!(state.ends_with("\n\n\"seven\\npieces\"\n"), "{state}");
    // A pool has its workers.
    let pool = printed(&observed, &["info", "packers"], &[]);
    assert!(pool.contains("\n  members\n") && pool.contains("PID"), "{pool}");
    // Names that look like a number or a pid, and one that begins with what stands before those.
    for (name, written) in [
        ("99999999", "name:99999999"),
        ("<3.42.0>", "name:<3.42.0>"),
        ("name:99999998", "name:99999998"),
        ("name:stock", "name:name:stock"),
    ] {
        observed.stuck(name, 0);
        let found = printed(&observed, &["info", written, "--json"], &[]);
        assert_eq!(json(&found)["name"], name, "{written}");
    }
    // The whole comes first, as it did before.
    let found = printed(&observed, &["info", "name:stock", "--json"], &[]);
    assert_eq!(json(&found)["name"], "name:stock");
    let found = printed(&observed, &["info", "name:packers", "--json"], &[]);
    assert_eq!(json(&found)["name"], "packers");
    observed.stuck(HOSTILE, 0);
    let hostile = printed(&observed, &["info", HOSTILE, "--json"], &[]);
    assert_eq!(json(&hostile)["name"], HOSTILE);
    for (process, wrong) in [
        ("stoc", "no process has the name \"stoc\""),
        ("Stock", "no process has the name \"Stock\""),
        ("name:stoc", "no process has the name \"stoc\""),
        ("99999999", "404 no_process"),
        ("name:", "no process has the name \"name:\""),
        ("<3.42.0>", "\"<3.42.0>\" is a process of another node"),
        ("999999999", "<0.999999999.0> has ended"),
    ] {
        let output = run(&["info", &observed.url(), process]);
        assert_eq!(output.status.code(), Some(1), "{process}");
        let known = ["no process", "has ended", "404 no_process", "another node"];
        assert!(
            errors(&output).contains(wrong) || process == "999999999",
            "{process}: {}",
            errors(&output)
        );
        assert!(known.iter().any(|it| errors(&output).contains(it)), "{}", errors(&output));
        assert!(output.stdout.is_empty());
    }
    // Who does not answer is shown all the same.
    let stuck = printed(&observed, &["info", "stock2"], &[]);
    assert!(stuck.contains("inspection") && stuck.contains("(504 timeout)"), "{stuck}");
    observed.stop();
}

#[test]
fn v84_a_crash_is_told_with_its_explanation_and_its_recipe() {
    let observed = shop("crashes@localhost");
    fail(&observed);
    let list = printed(&observed, &["crashes"], &[]);
    assert!(list.contains("clerk") && list.trim_end().ends_with("the stock is gone"), "{list}");
    fail(&observed);
    let newest = printed(&observed, &["crashes"], &["--limit", "1"]);
    assert!(newest.lines().nth(1).is_some_and(|it| it.trim().starts_with("2  ")), "{newest}");
    let oldest = printed(&observed, &["crashes"], &["--limit=1", "--after=0"]);
    assert!(oldest.lines().nth(1).is_some_and(|it| it.trim().starts_with("1  ")), "{oldest}");
    let crash = printed(&observed, &["crashes", "1"], &[]);
    assert!(crash.starts_with("clerk (<0."), "{crash}");
    assert!(crash.contains("\nrecipe of a test:\n") && crash.contains("Simulation"), "{crash}");
    assert!(!crash.contains("\\u{a}"), "its lines stay lines: {crash}");
    let restarts = until(|| {
        let restarts = printed(&observed, &["restarts"], &[]);
        Some(restarts).filter(|it| it.contains("restarting") && it.contains("the stock is gone"))
    });
    assert!(restarts.lines().any(|it| it.contains("> shop ") && it.contains(" clerk ")));
    let output = run(&["crashes", &observed.url(), "999"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("(404 no_entry)"), "{}", errors(&output));
    let output = run(&["crashes", &observed.url(), "1", "--limit", "3"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("--limit does not go with SEQ"), "{}", errors(&output));
    observed.stop();
}

#[test]
fn v84_a_node_with_a_check_that_is_down_is_exit_code_1() {
    let observed = shop("health@localhost");
    let output = run(&["health", &observed.url()]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(out(&output).starts_with("status    ok\n"), "{}", out(&output));
    observed.stuck("oak", 0);
    let output = until(|| {
        let output = run(&["health", &observed.url()]);
        Some(output).filter(|output| out(output).starts_with("status    down\n"))
    });
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(errors(&output), "krarup: a check of the node is down\n");
    assert!(out(&output).contains("down    process:oak"), "{}", out(&output));
    observed.stop();
}

#[test]
fn v84_events_are_followed_as_they_come() {
    let observed = shop("follow@localhost");
    fail(&observed);
    let mut command = Command::new(PROGRAM);
    let mut child = command
        .args(["crashes", "--follow", &observed.url()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().trim_start().starts_with("SEQ"));
    assert!(lines.next().unwrap().trim_start().starts_with("1  "));
    fail(&observed);
    let second = lines.next().unwrap();
    assert!(second.trim_start().starts_with("2  ") && second.contains("clerk"), "{second}");
    child.kill().unwrap();
    child.wait().unwrap();
    observed.stop();
}

#[test]
fn v84_a_file_of_a_node_answers_the_same_commands() {
    let observed = shop("file@localhost");
    fail(&observed);
    let viewed = Viewed::start("commands", &printed(&observed, &["snapshot"], &[]));
    observed.stop();
    let url = format!("http://{}", viewed.address);
    for (command, _) in READING.iter().filter(|(it, _)| !["inspect", "state"].contains(&it[0])) {
        let output = run(&[&command[..1], &[url.as_str()], &command[1..]].concat());
        assert_eq!(output.status.code(), Some(0), "{command:?}: {}", errors(&output));
    }
    let output = run(&["kill", &url, "stock"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("(403 read_only)"), "{}", errors(&output));
}
