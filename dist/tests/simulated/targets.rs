//! How the receiver of a call to another node is named for a reader.

use crate::sim_support::{Member, Order, members};
use krarup_dist::{ClusterCalls, SimNetwork};
use krarup_gen::{CallError, Result};
use krarup_node::Simulation;
use std::time::Duration;

#[test]
fn zcall4_a_recipient_tells_the_name_and_the_node_or_the_pid_of_the_process_that_it_calls() -> Result
{
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b]: [Member; 2] = members(&sim, &net)?;
    let stock = a.worker("stock")?;
    let by_name = b.remote("stock", "a@sim");
    // The error has the number that stands for the name on this node.
    let limit = Duration::from_secs(5);
    let error = by_name.call(Order::Keep).timeout(limit).wait().unwrap_err();
    assert_eq!(error, CallError::Timeout { to: by_name.pid(), limit });
    assert_eq!(by_name.target().to_string(), "\"stock\" at a@sim");
    assert_eq!(format!("{by_name:?}"), "Recipient(\"stock\" at a@sim)");
    // A recipient by pid has the pid that the process has here, as its links and monitors have.
    let pid = b.pid_of(stock, &a);
    let by_pid = b.cluster.remote_pid::<Order>(pid)?;
    assert_eq!((by_pid.target(), by_pid.pid()), (pid.into(), pid));
    assert_eq!(format!("{by_pid:?}"), format!("Recipient({pid})"));
    let error = by_pid.call(Order::Keep).timeout(limit).wait().unwrap_err();
    assert_eq!(error.to_string(), format!("call to {pid} timed out after 5s"));
    Ok(())
}
