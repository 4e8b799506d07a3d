//! Tests against a real Erlang node: TLS, and fixed ports without a port mapper (rules Zhs9,
//! Zhs11). Where `erl` is not found they print that and do nothing.

use crate::support::Member;
#[cfg(feature = "tls")]
use crate::support::otp::fresh;
use crate::support::watching::{next, until};
#[cfg(feature = "tls")]
use krarup_dist::{Cluster, ClusterCalls, DnsDiscovery};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// An Erlang node, which is stopped when the test ends.
struct Erlang {
    child: Child,
    lines: Receiver<String>,
}

impl Erlang {
    /// Starts a node that runs an expression. `None` if there is no Erlang here.
    fn start(name: &str, arguments: &[&str], run: &str) -> Option<Erlang> {
        let started = Command::new("erl")
            .args(["-noshell", "-hidden", "-name", name, "-setcookie", "secret"])
            .args(arguments)
            .args(["-eval", run])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn();
        let Ok(mut child) = started else {
            eprintln!("erl is not here: nothing was tested against OTP");
            return None;
        };
        let output = BufReader::new(child.stdout.take().unwrap());
        let (told, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = told.send(line);
            }
        });
        Some(Erlang { child, lines })
    }

    /// Waits for this line; others are shown.
    fn says(&self, expected: &str) {
        loop {
            let line = next(&self.lines);
            if line == expected {
                return;
            }
            assert!(!line.starts_with("answer "), "{line}");
            eprintln!("erl: {line}");
        }
    }
}

impl Drop for Erlang {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is ready, waits until its connection is lost, and calls a process of that node.
fn calls_back(node: &str) -> String {
    format!(
        "net_kernel:monitor_nodes(true, [{{node_type, all}}]),
         io:format(\"ready~n\"),
         receive {{nodedown, _, _}} -> ok end,
         io:format(\"answer ~p~n\", [catch gen_server:call({{stock, '{node}'}}, {{add, 2, 3}})]),
         receive stop -> ok end."
    )
}

/// Calls a function of the Erlang node, which dials it, and has it call back, which dials this one.
fn both_directions(member: &Member, erlang: &Erlang, name: &str) {
    erlang.says("ready");
    let sum = member.cluster.rpc::<i64>(name, "lists", "sum", (vec![1, 2, 3],)).wait();
    assert_eq!(sum.unwrap(), 6);
    assert!(member.connection().is_dialled);
    assert!(member.cluster.disconnect(name).unwrap());
    erlang.says("answer 5");
    assert!(!member.connection().is_dialled);
}

#[test]
fn zhs9_erlang_reaches_a_fixed_port_without_a_port_mapper_and_is_reached_there() {
    // A port that is free on two addresses of this machine.
    let port = {
        let one = TcpListener::bind("127.0.0.1:0").unwrap();
        one.local_addr().unwrap().port()
    };
    let (ours, theirs) = ("ports_here@127.0.0.2", "ports_otp@127.0.0.1");
    let member = Member::with(ours, "secret", move |cluster: Cluster| {
        cluster.listen(([127, 0, 0, 2], port).into()).discovery(DnsDiscovery::new(port))
    });
    member.worker("stock");
    let port = port.to_string();
    let arguments = ["-start_epmd", "false", "-erl_epmd_port", &port];
    let interface = ["-kernel", "inet_dist_use_interface", "{127,0,0,1}"];
    let arguments = [&arguments[..], &interface].concat();
    let Some(erlang) = Erlang::start(theirs, &arguments, &calls_back(ours)) else { return };
    both_directions(&member, &erlang, theirs);
}

#[cfg(feature = "tls")]
mod over_tls {
    use super::*;
    use crate::certificates::{Authority, Issued};
    use krarup_dist::Tls;
    use std::path::{Path, PathBuf};

    /// The files of a certificate, and the options of OTP that use them.
    fn written(folder: &Path, issued: &Issued, version: &str) -> PathBuf {
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let certificate = file("certificate.pem", &issued.certificate);
        let key = file("key.pem", &issued.key);
        let authority = file("authority.pem", &issued.authority);
        let options = format!(
            "{{certfile, \"{certificate}\"}}, {{keyfile, \"{key}\"}}, \
             {{cacertfile, \"{authority}\"}}, {{verify, verify_peer}}, {{versions, ['{version}']}}"
        );
        let both = format!(
            "[{{server, [{options}, {{fail_if_no_peer_cert, true}}]}}, {{client, [{options}]}}]."
        );
        folder.join(file("options", &both))
    }

    fn folder(label: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("krarup_{label}_{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn member(name: &str, issued: &Issued) -> Member {
        let Issued { certificate, key, authority } = issued;
        let tls = Tls::from_pem(certificate.as_bytes(), key.as_bytes(), authority.as_bytes());
        let tls = tls.unwrap();
        let member = Member::with(name, "secret", move |cluster: Cluster| cluster.epmd().tls(tls));
        member.worker("stock");
        member
    }

    #[test]
    fn zhs11_a_real_otp_node_over_tls_in_both_directions_and_versions() {
        if !has_erlang() {
            return;
        }
        let authority = Authority::new();
        for otp in ["tlsv1.2", "tlsv1.3"] {
            let folder = folder(otp);
            let options = written(&folder, &authority.issue(&["127.0.0.1", "localhost"]), otp);
            let (ours, theirs) = (fresh("tls_here"), fresh("tls_otp"));
            let member = member(&ours, &authority.issue(&["127.0.0.1", "dns:127.0.0.1"]));
            let options = options.display().to_string();
            let arguments = ["-proto_dist", "inet_tls", "-ssl_dist_optfile", &options];
            let erlang = Erlang::start(&theirs, &arguments, &calls_back(&ours)).unwrap();
            both_directions(&member, &erlang, &theirs);
            // What does not fit into a record.
            let long = "x".repeat(300_000);
            let length = member.cluster.rpc::<usize>(&theirs, "erlang", "byte_size", (&long,));
            assert_eq!(length.wait().unwrap(), long.len());
            drop(erlang);
            // The end of the node has no close_notify.
            until(|| member.cluster.nodes().unwrap().is_empty());
            std::fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn zhs11_an_otp_node_with_a_certificate_for_another_name_is_refused_in_both_directions() {
        if !has_erlang() {
            return;
        }
        let authority = Authority::new();
        let folder = folder("wrong");
        let options = written(&folder, &authority.issue(&["elsewhere.example"]), "tlsv1.3");
        let (ours, theirs) = (fresh("wrong_here"), fresh("wrong_otp"));
        // It is good, so that nobody but this side has a reason to refuse.
        let member = member(&ours, &authority.issue(&["127.0.0.1", "dns:127.0.0.1"]));
        let options = options.display().to_string();
        let arguments = ["-proto_dist", "inet_tls", "-ssl_dist_optfile", &options];
        let dials = format!(
            "io:format(\"ready~n\"),
             io:format(\"answer ~p~n\", [net_kernel:connect_node('{ours}')]),
             receive stop -> ok end."
        );
        let erlang = Erlang::start(&theirs, &arguments, &dials).unwrap();
        erlang.says("answer false");
        until(|| member.cluster.stats().unwrap().failed_handshakes == 1);
        let refused = member.cluster.rpc::<i64>(&theirs, "lists", "sum", (vec![1],)).wait();
        assert!(refused.is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// The text of the first block of this language that contains this text.
    fn block<'a>(page: &'a str, language: &str, containing: &str) -> &'a str {
        let begin = format!("```{language}\n");
        let blocks = page.split(begin.as_str()).skip(1);
        let blocks = blocks.filter_map(|rest| rest.split("```").next());
        let found = blocks.filter(|block| block.contains(containing)).collect::<Vec<_>>();
        assert_eq!(found.len(), 1, "{containing}");
        found[0]
    }

    #[test]
    fn zhs11_the_commands_of_the_operators_page_make_certificates_that_work() {
        let has_openssl = Command::new("openssl").arg("version").stdout(Stdio::null()).status();
        if has_openssl.is_err() || !has_erlang() {
            eprintln!("openssl or erl is not here: the operators' page was not tested");
            return;
        }
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cluster_operation.md");
        let page = std::fs::read_to_string(page).unwrap();
        let page = page.replace("10.0.0.7", "127.0.0.1");
        let folder = folder("page");
        let run = |commands: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-e", "-c", commands]).current_dir(&folder).stderr(Stdio::null());
            assert!(shell.status().unwrap().success(), "{commands}");
        };
        run(block(&page, "sh", "cluster authority"));
        let of_node = block(&page, "sh", "/CN=calc");
        let theirs = fresh("page_otp");
        run(&of_node.replace("calc@127.0.0.1", &theirs));
        let options = block(&page, "erlang", "certfile");
        let options = options.replace("file, \"", &format!("file, \"{}/", folder.display()));
        // The own certificate of this side replaces that of the other one only afterwards.
        for name in ["node.pem", "node.key"] {
            std::fs::copy(folder.join(name), folder.join(format!("otp_{name}"))).unwrap();
        }
        let options = options.replace("/node.", "/otp_node.");
        std::fs::write(folder.join("tls.conf"), options).unwrap();
        let ours = fresh("page_here");
        run(&of_node.replace("calc@127.0.0.1", &ours));
        let [certificate, key, authority] =
            ["node.pem", "node.key", "authority.pem"].map(|name| folder.join(name));
        let tls = Tls::from_files(certificate, key, authority).unwrap();
        let member = Member::with(&ours, "secret", move |cluster: Cluster| cluster.epmd().tls(tls));
        member.worker("stock");
        let options = folder.join("tls.conf").display().to_string();
        let arguments = ["-proto_dist", "inet_tls", "-ssl_dist_optfile", &options];
        let erlang = Erlang::start(&theirs, &arguments, &calls_back(&ours)).unwrap();
        both_directions(&member, &erlang, &theirs);
        std::fs::remove_dir_all(folder).unwrap();
    }

    fn has_erlang() -> bool {
        let looks = "case code:lib_dir(ssl) of {error, _} -> halt(1); _ -> halt(0) end.";
        let found = Command::new("erl").args(["-noshell", "-eval", looks]).status();
        let is_there = found.is_ok_and(|status| status.success());
        if !is_there {
            eprintln!("erl with ssl is not here: nothing was tested against OTP over TLS");
        }
        is_there
    }
}
