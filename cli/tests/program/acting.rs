//! The commands that do something to a process.

use crate::observed::{Observed, PROGRAM, TOKEN, errors, out, run, until};
use crate::shop::{id, run_with, shop};
use krarup::prelude::*;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// What the program prints for an action that is done.
fn done(observed: &Observed, command: &[&str]) -> String {
    let url = observed.url();
    let output = run_with(TOKEN, &[&command[..1], &[url.as_str()], &command[1..]].concat());
    assert_eq!(output.status.code(), Some(0), "{command:?}: {}", errors(&output));
    assert!(output.stderr.is_empty());
    out(&output)
}

/// The message of an action that fails.
fn failed(observed: &Observed, token: Option<&str>, command: &[&str]) -> String {
    let url = observed.url();
    let arguments = [&command[..1], &[url.as_str()], &command[1..]].concat();
    let output = token.map_or_else(|| run(&arguments), |token| run_with(token, &arguments));
    assert_eq!(output.status.code(), Some(1), "{command:?}: {}", out(&output));
    assert!(output.stdout.is_empty(), "{command:?}: {}", out(&output));
    assert!(!errors(&output).contains(TOKEN));
    errors(&output)
}

#[test]
fn v85_a_process_that_is_named_is_acted_on_and_its_pid_is_told() {
    let observed = shop("acting@localhost");
    let stock = id(&observed, "stock");
    assert_eq!(done(&observed, &["kill", "stock"]), format!("done: kill <0.{stock}.0> (stock)\n"));
    let stock = until(|| observed.node.whereis("stock").filter(|pid| pid.id() != stock));
    // By its number, and as the observer says it.
    let number = stock.id().to_string();
    let body = done(&observed, &["exit", &number, "no more", "--json"]);
    assert_eq!(body, format!("{{\"done\":true,\"action\":\"exit\",\"pid\":\"{stock}\"}}\n"));
    until(|| observed.node.whereis("stock").filter(|pid| *pid != stock));
    let suspended = done(&observed, &["suspend", "stock", "60"]);
    let stock = id(&observed, "stock");
    let expected = format!("done: suspend <0.{stock}.0> (stock), resumes at 2");
    assert!(suspended.starts_with(&expected), "{suspended}");
    assert!(done(&observed, &["resume", "stock"]).starts_with("done: resume <0."));
    assert!(done(&observed, &["record", "stock", "8"]).starts_with("done: record <0."));
    assert!(done(&observed, &["untrace", "stock"]).starts_with("done: untrace <0."));
    let actions = out(&run(&["actions", &observed.url()]));
    let seen: Vec<_> = actions.lines().skip(1).map(|it| it.split_whitespace().nth(3)).collect();
    let all = ["kill", "exit", "suspend", "resume", "record", "untrace"];
    assert_eq!(seen, all.map(Some), "{actions}");
    assert!(actions.contains("reason=no more") && actions.contains("seconds=60"), "{actions}");
    observed.stop();
}

#[test]
fn v85_pools_and_supervisors_are_managed() {
    let observed = shop("managing@localhost");
    assert!(done(&observed, &["resize", "packers", "3"]).contains("(packers)"));
    let pools = until(|| {
        let pools = out(&run(&["pools", &observed.url()]));
        Some(pools).filter(|pools| pools.contains(" 3/3 "))
    });
    assert!(pools.contains("packers"), "{pools}");
    done(&observed, &["drain", "packers"]);
    done(&observed, &["reopen", "packers"]);
    let stock = id(&observed, "stock");
    done(&observed, &["terminate-child", "shop", "stock"]);
    assert_eq!(observed.node.whereis("stock"), None);
    done(&observed, &["restart-child", "shop", "stock"]);
    assert_ne!(id(&observed, "stock"), stock);
    let refused = failed(&observed, Some(TOKEN), &["drain", "stock"]);
    assert!(refused.contains("drain of <0.") && refused.contains("(409 not_offered)"), "{refused}");
    observed.stop();
}

#[test]
fn v85_a_trace_prints_the_messages_until_it_ends() {
    let observed = shop("trace@localhost");
    let mut command = Command::new(PROGRAM);
    let mut child = command
        .args(["trace", &observed.url(), "stock", "2", "60"])
        .env("KRARUP_OBSERVER_TOKEN", TOKEN)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let begun = lines.next().unwrap();
    assert!(begun.starts_with("done: trace <0.") && begun.ends_with(", trace 1"), "{begun}");
    let stock: Address<u32> = observed.node.lookup("stock").unwrap();
    stock.send(7).unwrap();
    stock.send(8).unwrap();
    let shown: Vec<String> = lines.collect();
    assert!(shown[0].contains("TYPE") && shown.len() == 4, "{shown:#?}");
    assert!(shown[1].ends_with("take 7 pieces") && shown[2].ends_with("take 8 pieces"));
    assert_eq!(shown[3], "the trace ended: items");
    assert!(child.wait().unwrap().success());
    observed.stop();
}

#[test]
fn x13_recorded_turns_are_printed_as_one_file() {
    let observed = shop("turns@localhost");
    let url = observed.url();
    let file = done(&observed, &["record-turns", "100"]);
    let recorded: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert!(recorded["traceEvents"].is_array() && recorded["otherData"]["lost"] == 0, "{file}");
    let actions = out(&run(&["actions", &url]));
    assert!(actions.contains("turns") && actions.contains("ms=100"), "{actions}");
    // One at a time.
    let mut command = Command::new(PROGRAM);
    command.args(["record-turns", &url, "10000"]).env("KRARUP_OBSERVER_TOKEN", TOKEN);
    let mut first = command.stdout(Stdio::null()).spawn().unwrap();
    until(|| out(&run(&["actions", &url])).contains("ms=10000").then_some(()));
    let refused = failed(&observed, Some(TOKEN), &["record-turns", "100"]);
    assert!(refused.contains("turns failed: the observer refuses: "), "{refused}");
    assert!(refused.contains("(503 busy)"), "{refused}");
    first.kill().unwrap();
    first.wait().unwrap();
    let refused = failed(&observed, None, &["record-turns", "100"]);
    assert!(refused.contains("the observer wants a token"), "{refused}");
    for (arguments, wrong) in [
        (&["record-turns", &url][..], "MS is missing"),
        (&["record-turns", &url, "99"], "MS=\"99\" is not a whole number from 100 to 10000"),
        (&["record-turns", &url, "100", "stock"], "\"stock\""),
    ] {
        let output = run_with(TOKEN, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(errors(&output).contains(wrong), "{}", errors(&output));
    }
    observed.stop();
}

#[test]
fn v85_what_is_refused_is_told_in_the_words_of_the_observer() {
    let observed = shop("refused@localhost");
    let other = "wrong-wrong-wrong-wrong-wrong-wrong-wrong";
    for (token, command, told) in [
        (None, &["kill", "stock"][..], "the observer wants a token"),
        (Some(other), &["kill", "stock"], "(401 token_wrong)"),
        (Some(TOKEN), &["resume", "stock"], "(409 not_suspended)"),
        (Some(TOKEN), &["kill", "observer"], "(409 protected)"),
        (Some(TOKEN), &["kill", "999999999"], "(404 no_process)"),
        (Some(TOKEN), &["kill", "nobody"], "no process has the name \"nobody\""),
        (Some(TOKEN), &["restart-child", "shop", "baker"], "(409 not_offered)"),
    ] {
        let message = failed(&observed, token, command);
        assert!(message.starts_with("krarup: ") && message.contains(told), "{message}");
    }
    assert!(observed.node.whereis("stock").is_some());
    let message = failed(&observed, None, &["kill", "stock"]);
    let pid = observed.node.whereis("stock").unwrap();
    assert!(message.contains(&format!("kill of {pid} (stock) failed: ")), "{message}");
    // Nothing is sent for a command line that is wrong.
    for (arguments, wrong) in [
        (&["suspend", &observed.url(), "stock"][..], "SECONDS is missing"),
        (&["kill", &observed.url()], "PROCESS is missing"),
        (&["kill", &observed.url(), ""], "PROCESS=\"\" is not a number, a pid or a name"),
        (&["kill", &observed.url(), "stock", "now"], "\"now\""),
        (&["suspend", &observed.url(), "stock", "0"], "SECONDS=\"0\" is not a whole number"),
        (&["exit", &observed.url(), "stock", ""], "REASON=\"\" is not a text of 1 to 200 bytes"),
    ] {
        let output = run_with(TOKEN, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(errors(&output).contains(wrong), "{}", errors(&output));
    }
    observed.stop();
    let reads = Observed::start("reads@localhost", |it| it);
    reads.stuck("oak", 0);
    let message = failed(&reads, Some(TOKEN), &["kill", "oak"]);
    assert!(message.contains("(403 read_only)"), "{message}");
    reads.stop();
}
