//! Clients of the SDKs: the official one in Rust, and the one in Python, if it is there.

use super::client::TOKEN;
use super::mcp::{assert_valid, crashed, needed};
use crate::mcp::tools::{ObserverTool, TOOLS};
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, UnixSocketHttpClient};
use serde_json::Value;
use std::env;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::thread;

/// The client of the SDK speaks HTTP over a Unix socket. This carries its bytes to an address.
fn carry(from: UnixListener, to: SocketAddr) {
    let half = |mut from: Box<dyn io::Read + Send>, mut to: Box<dyn io::Write + Send>| {
        thread::spawn(move || io::copy(&mut from, &mut to))
    };
    thread::spawn(move || {
        for client in from.incoming() {
            let (Ok(client), Ok(server)) = (client, TcpStream::connect(to)) else { return };
            let copies: (UnixStream, TcpStream) =
                (client.try_clone().unwrap(), server.try_clone().unwrap());
            let asked =
                half(Box::new(client.try_clone().unwrap()), Box::new(server.try_clone().unwrap()));
            let answered = half(Box::new(server), Box::new(client));
            thread::spawn(move || {
                let _ = asked.join();
                let _ = copies.1.shutdown(Shutdown::Write);
                let _ = answered.join();
                let _ = copies.0.shutdown(Shutdown::Both);
            });
        }
    });
}

#[test]
fn v51_a_client_of_the_sdk_lists_the_tools_and_calls_each_that_reads() {
    let (node, observer, shop) = crashed();
    let folder = env::temp_dir().join(format!("krarup-mcp-{}", std::process::id()));
    let _ = std::fs::remove_file(&folder);
    carry(UnixListener::bind(&folder).unwrap(), observer.address());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let uri = format!("{}/mcp", observer.url());
    let call = async |token: Option<&str>| {
        let http = UnixSocketHttpClient::new(folder.to_str().unwrap(), &uri);
        // A whole address would be sent as one, as to a proxy, and the guard takes paths alone.
        let mut config = StreamableHttpClientTransportConfig::with_uri("/mcp");
        if let Some(token) = token {
            config = config.auth_header(token);
        }
        let client =
            ().serve(StreamableHttpClientTransport::with_client(http, config)).await.unwrap();
        let tools = client.list_all_tools().await.unwrap();
        for tool in &tools {
            let spec = ObserverTool::find(&tool.name).unwrap();
            let hints = tool.annotations.as_ref().unwrap();
            assert_eq!(
                (hints.read_only_hint, hints.destructive_hint),
                (Some(!spec.acts()), Some(spec.acts()))
            );
            if spec.acts() {
                continue;
            }
            let needed = needed(spec, shop.pid().id()).as_object().unwrap().clone();
            let call = CallToolRequestParams::new(tool.name.clone()).with_arguments(needed);
            let result: CallToolResult = client.call_tool(call).await.unwrap();
            if tool.name == "state" {
                continue;
            }
            assert_eq!(result.is_error, Some(false), "{result:?}");
            let schema = Value::from((**tool.output_schema.as_ref().unwrap()).clone());
            assert_valid(&schema, &result.structured_content.unwrap());
        }
        client.cancel().await.unwrap();
        tools.len()
    };
    let reads = TOOLS.iter().filter(|tool| !tool.acts()).count();
    assert_eq!(runtime.block_on(call(None)), reads);
    assert_eq!(runtime.block_on(call(Some(TOKEN))), TOOLS.len());
    let _ = std::fs::remove_file(&folder);
    node.stop().wait().unwrap();
}

/// A Python that has the SDK: the one that CI installs, or that of the system.
fn python() -> Option<String> {
    let own = env::var("MCP_PYTHON").ok();
    let candidates = own.into_iter().chain(["python3".to_owned()]);
    let has_sdk = |python: &String| {
        let found = Command::new(python).args(["-c", "from mcp import Client"]).output();
        found.is_ok_and(|output| output.status.success())
    };
    candidates.into_iter().find(has_sdk)
}

#[test]
fn v51_a_client_in_python_lists_the_tools_and_calls_each_that_reads() {
    let Some(python) = python() else {
        assert!(env::var_os("MCP_PYTHON").is_none(), "MCP_PYTHON has no SDK of MCP");
        eprintln!("no Python with the SDK of MCP: this test is LEFT OUT");
        return;
    };
    let (node, observer, shop) = crashed();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_client.py");
    let url = format!("{}/mcp", observer.url());
    let mut script_run = Command::new(python);
    script_run.arg(script).args([&url, &shop.pid().id().to_string(), "1"]);
    let output = script_run.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let names = String::from_utf8(output.stdout).unwrap();
    let reads = TOOLS.iter().filter(|tool| !tool.acts()).map(|tool| tool.name);
    assert_eq!(names.lines().collect::<Vec<_>>(), reads.collect::<Vec<_>>());
    node.stop().wait().unwrap();
}
