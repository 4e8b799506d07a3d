//! Settings that cannot be meant, handshakes that fail, and connections that end.

use crate::sim_support::{Member, Order, members};
use krarup_dist::{
    Cluster, ClusterCalls, ClusterError, ServeError, SimNetwork, Sys, TermException,
};
use krarup_gen::{ReasonKind, Result};
use krarup_node::Simulation;
use std::net::SocketAddr;

/// The error of a cluster with these settings.
fn refused(settings: impl FnOnce(Cluster) -> Cluster + Send + 'static) -> String {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let started = Member::with_settings(&sim, &net, "a@sim", settings);
    started.err().map_or_else(String::new, |error| error.to_string())
}

#[test]
fn zid9_settings_that_cannot_be_meant_are_typed_errors_of_the_spawn() {
    let nowhere: SocketAddr = ([10, 0, 0, 7], 0).into();
    let error = refused(move |cluster| cluster.peer("b@sim", nowhere));
    assert!(error.contains("10.0.0.7:0 of the peer b@sim has port 0"), "{error}");
    let somewhere: SocketAddr = ([10, 0, 0, 7], 4_000).into();
    let error = refused(move |cluster| cluster.peer("b", somewhere));
    assert!(error.contains("\"b\""), "{error}");
    let twice = |cluster: Cluster| {
        cluster.export::<Order>("stock", Sys::Status).export::<String>("stock", Sys::Status)
    };
    let error = refused(twice);
    assert!(error.contains("the name \"stock\" is exported twice"), "{error}");
    let fine = refused(move |cluster| {
        let cluster = cluster.peer("b@sim", somewhere).peer("b@sim", somewhere);
        cluster.export::<Order>("stock", Sys::Status).export::<Order>("shop", Sys::Status)
    });
    assert_eq!(fine, "");
}

#[test]
fn zid9_a_name_is_not_exported_again_with_another_type_of_messages() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = members(&sim, &net)?;
    a.worker("stock")?;
    let error = a.cluster.export::<u32>("stock").unwrap_err();
    let order = std::any::type_name::<Order>();
    let said = "is exported with messages of type";
    assert_eq!(error.to_string(), format!("\"stock\" {said} {order}, not u32: unexport it first"));
    let served = a.cluster.export_served("stock", |_| {}).unwrap_err();
    assert!(matches!(served, ClusterError::ExportedAs { .. }), "{served}");
    // The export of before works on.
    assert!(b.remote("stock", "a@sim").call(Order::Who).wait().is_ok());
    // With the same type it is replaced, and with another one when it was taken back.
    a.cluster.export_with::<Order>("stock", Sys::Read)?;
    assert!(b.remote("stock", "a@sim").call(Order::Who).wait().is_ok());
    assert!(a.cluster.unexport("stock")?);
    a.cluster.export::<u32>("stock")?;
    Ok(())
}

#[test]
fn zcall7_a_function_without_a_name_is_not_served() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a] = members(&sim, &net)?;
    for (module, function) in [("", ""), ("calc", ""), ("", "add")] {
        let serve = |(): ()| async { Ok::<_, TermException>(()) };
        let error = a.cluster.serve(module, function, serve).unwrap_err();
        assert!(matches!(error, ServeError::Empty { arity: 0, .. }), "{error}");
    }
    Ok(())
}

#[test]
fn zhs4_a_wrong_cookie_is_a_failed_handshake_at_both_ends() {
    Simulation::explore(0..20, |sim| {
        let net = SimNetwork::new();
        let a = Member::start(sim, &net, "a@sim")?;
        let b = Member::with(sim, &net, "b@sim", "other", |cluster| cluster)?;
        a.worker("stock")?;
        assert!(b.remote("stock", "a@sim").call(Order::Who).wait().is_err());
        let failed = |of: &Member| of.cluster.stats().map(|stats| stats.failed_handshakes);
        assert_eq!((failed(&a)?, failed(&b)?), (1, 1));
        // A node that is not there is no handshake.
        assert!(b.remote("stock", "nobody@sim").call(Order::Who).wait().is_err());
        assert_eq!(failed(&b)?, 1);
        Ok(())
    });
}

#[test]
fn zlive6_a_connection_that_the_peer_ends_is_no_failure_of_its_process() {
    Simulation::explore(0..20, |sim| {
        let net = SimNetwork::new();
        let [a, b, c] = members(sim, &net)?;
        a.worker("stock")?;
        let connect = |from: &Member| from.remote("stock", "a@sim").call(Order::Who).wait();
        let failures = |of: &Member| of.node.stats().ended[&ReasonKind::Error];
        connect(&b)?;
        connect(&c)?;
        // One is reset, and the other is closed in order. Both were dialled from there.
        assert_eq!(net.reset("c@sim", "a@sim"), 1);
        a.node.stop().wait()?;
        sim.run_until_idle();
        assert_eq!((b.peers().len(), c.peers().len()), (0, 0));
        assert_eq!((failures(&b), failures(&c)), (0, 0));
        Ok(())
    });
}
