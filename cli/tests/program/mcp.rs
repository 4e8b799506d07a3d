//! `krarup mcp`, by the client of the SDK and by hand.

use crate::observed::{Observed, PROGRAM, TOKEN, nowhere, post_mcp};
use krarup::observer::Token;
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

/// What the program writes on stdout for these lines, and its exit code.
fn spoken(arguments: &[&str], lines: &[u8]) -> (Vec<Value>, Option<i32>) {
    let mut command = Command::new(PROGRAM);
    command.arg("mcp").args(arguments).env_remove("KRARUP_OBSERVER_TOKEN");
    let mut program = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    program.stdin.take().unwrap().write_all(lines).unwrap();
    let output = program.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (answers, output.status.code())
}

/// The names of the tools, and the structured answer of one of them, by the client of the SDK.
fn by_sdk(url: &str, token: Option<&str>) -> (Vec<String>, Value) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut command = tokio::process::Command::new(PROGRAM);
        command.args(["mcp", url]).env_remove("KRARUP_OBSERVER_TOKEN");
        if let Some(token) = token {
            command.env("KRARUP_OBSERVER_TOKEN", token);
        }
        let client = ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
        let tools = client.list_all_tools().await.unwrap();
        let arguments = json!({ "q": "oak", "limit": 1 }).as_object().unwrap().clone();
        let call = CallToolRequestParams::new("list_processes").with_arguments(arguments);
        let result = client.call_tool(call).await.unwrap();
        client.cancel().await.unwrap();
        let names = tools.into_iter().map(|tool| tool.name.into_owned()).collect();
        (names, result.structured_content.unwrap())
    })
}

#[test]
fn v82_a_client_of_the_sdk_has_the_tools_of_the_observer_on_stdio() {
    let acting = Token::new(TOKEN).unwrap();
    let observed = Observed::start("mcp@localhost", |it| it.action_token(acting));
    observed.stuck("oak", 3);
    let (reads, answer) = by_sdk(&observed.url(), None);
    assert_eq!(answer["matched"], 1);
    assert_eq!(answer["processes"][0]["name"], "oak");
    let (all, _) = by_sdk(&observed.url(), Some(TOKEN));
    assert!(reads.contains(&"explain_restart".to_owned()) && !reads.contains(&"kill".to_owned()));
    assert!(all.contains(&"kill".to_owned()) && all.len() > reads.len());
    // The same tools, in the same words, as over HTTP.
    let list = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" });
    let (answers, code) = spoken(&[&observed.url()], format!("{list}\n").as_bytes());
    assert_eq!((answers.len(), code), (1, Some(0)));
    assert_eq!(answers[0], post_mcp(observed.observer.address(), &list.to_string()));
    observed.stop();
}

#[test]
fn v82_what_cannot_be_handed_on_is_an_error_of_the_protocol_and_stdout_has_nothing_else() {
    let call = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }).to_string();
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(20_000));
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" }).to_string();
    let lines = [&call(1), "no json", "[]", "", &long, &note, &call(2)].join("\n");
    let (answers, code) = spoken(&[&nowhere()], lines.as_bytes());
    assert_eq!(code, Some(0));
    let told: Vec<_> =
        answers.iter().map(|it| (it["id"].clone(), it["error"]["code"].clone())).collect();
    let expected = [
        (json!(1), json!(-32_000)),
        (Value::Null, json!(-32_700)),
        (Value::Null, json!(-32_600)),
        (Value::Null, json!(-32_600)),
        (json!(2), json!(-32_000)),
    ];
    assert_eq!(told, expected);
    let why = answers[0]["error"]["message"].as_str().unwrap();
    assert!(why.starts_with("no observer answers at"), "{why}");
}

#[test]
fn v82_a_wrong_command_line_of_mcp_is_told_on_stderr() {
    let (answers, code) = spoken(&[], b"");
    assert!(answers.is_empty() && code == Some(2));
}
