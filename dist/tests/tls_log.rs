//! What is logged of TLS. It is the only test, because all tests of a process share the log.
#![cfg(feature = "tls")]

#[path = "../../io/tests/support/certificates.rs"]
mod certificates;
mod support;

use certificates::{Authority, Issued};
use krarup_dist::{Cluster, ClusterCalls, Tls};
use std::io::Write;
use std::net::TcpStream;
use support::log::Lines;
use support::{Member, Order};

fn member(name: &str, issued: &Issued, other: Option<&Member>) -> Member {
    let Issued { certificate, key, authority } = issued;
    let tls = Tls::from_pem(certificate.as_bytes(), key.as_bytes(), authority.as_bytes());
    let (tls, other) = (tls.unwrap(), other.map(|other| (other.name.clone(), other.address())));
    Member::with(name, "secret", move |cluster: Cluster| match other {
        Some((name, address)) => cluster.tls(tls).peer(name, address),
        None => cluster.tls(tls),
    })
}

/// Uses the other node, which fails. A dial is logged when its connection process has ended, behind
/// the failure of the call: the node has to live until then.
fn dials(from: Member, to: &str) -> Member {
    let nobody = from.cluster.remote::<Order>("nobody", to).unwrap();
    assert!(nobody.call(Order::Total).wait().is_err());
    from
}

#[test]
fn zobs2_each_reason_of_the_operators_page_is_logged_on_the_side_that_refuses() {
    let lines = Lines::record("krarup::cluster");
    let authority = Authority::new();
    let good = authority.issue(&["127.0.0.1"]);
    let a = member("log_a@127.0.0.1", &good, None);

    // A node of another authority: both sides refuse, the one that dials first.
    let strange = Authority::named("another").issue(&["127.0.0.1"]);
    let _strange = dials(member("log_s@127.0.0.1", &strange, Some(&a)), &a.name);
    let line = lines.wait_for("no TLS connection to 127.0.0.1:");
    assert!(line.contains("UnknownIssuer"), "{line}");
    lines.wait_for("TLS: connection failed: received fatal alert: ");

    // A node whose certificate is for another host.
    let wrong = member("log_w@127.0.0.1", &authority.issue(&["127.0.0.2"]), Some(&a));
    let wrong = dials(wrong, &a.name);
    let line = lines.wait_for("the certificate of log_w@127.0.0.1 is for: 127.0.0.2");
    // The name that it has sent, which is not proved.
    assert!(line.contains("peer=log_w@127.0.0.1;"), "{line}");
    let _b = dials(member("log_b@127.0.0.1", &good, Some(&wrong)), &wrong.name);
    lines.wait_for("certificate not valid for name");

    // A stranger without TLS.
    TcpStream::connect(a.address()).unwrap().write_all(&[0; 200]).unwrap();
    lines.wait_for("TLS: connection failed: received corrupt message");

    // A node that is not found.
    let lost = Member::with("log_l@127.0.0.1", "secret", |cluster: Cluster| {
        cluster.discovery(krarup_dist::DnsDiscovery::new(9))
    });
    let _lost = dials(lost, "log_x@no.such.host.invalid");
    let line = lines.wait_for("the host \\\"no.such.host.invalid\\\" cannot be resolved");
    assert!(line.contains("discovery failed"), "{line}");
}
