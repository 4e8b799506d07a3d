//! Descriptors after connections that never said anything. In a program of its own: others have theirs.

use crate::support::raw::until;
use crate::support::{Member, Order};
use krarup_dist::ClusterCalls;
use std::fs;
use std::net::{Shutdown, TcpStream};

#[test]
fn zsec6_a_thousand_half_open_connections_leave_no_descriptor_behind() {
    let descriptors = || fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let a = Member::start("half_open_a@127.0.0.1", "secret", &[]);
    let b = Member::start("half_open_b@127.0.0.1", "secret", &[&a]);
    a.worker("stock");
    let stock = b.cluster.remote::<Order>("stock", &a.name).unwrap();
    let with_nodes = descriptors();
    let open: Vec<TcpStream> = (0..1_000)
        .filter_map(|number| {
            let stream = TcpStream::connect(a.address()).ok()?;
            if number % 3 == 0 {
                let _ = stream.shutdown(Shutdown::Write);
            }
            if number % 100 == 0 {
                assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
            }
            Some(stream)
        })
        .collect();
    assert!(open.len() > 900, "{} connections", open.len());
    drop(open);
    assert_eq!(stock.call(|reply| Order::Add(2, 3, reply)).wait(), Ok(5));
    until("the descriptors are closed", || descriptors() <= with_nodes + 2);
    b.node.stop().wait().unwrap();
    a.node.stop().wait().unwrap();
}
