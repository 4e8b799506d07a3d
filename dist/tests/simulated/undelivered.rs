//! Calls to other nodes whose requests no handler sees, and answers that cannot be written.

use crate::sim_support::{Member, Order, members, undelivered};
use krarup_act::{Actor, Context, Recipient, Reply};
use krarup_dist::{ClusterCalls, SimNetwork};
use krarup_gen::{CallError, Pid, Reason, Result, UndeliveredCause};
use krarup_node::Simulation;
use serde::{Deserialize, Serialize};

/// Requests of which some cannot be written, and some cannot be answered.
#[derive(Debug, Serialize, Deserialize)]
enum Calc {
    Root(f64, Reply<f64>),
    Count(Reply<i64>, i64),
}

#[derive(Default)]
struct Calculator {
    count: i64,
}

impl Actor for Calculator {
    type Message = Calc;

    async fn handle_message(&mut self, _: &mut Context<Calc>, calc: Calc) -> Result {
        self.count += 1;
        match calc {
            Calc::Root(of, reply) => reply.send(of.sqrt()),
            Calc::Count(reply, from) => reply.send(from + self.count),
        }
        Ok(())
    }
}

/// Messages of the same names, with other contents.
#[derive(Debug, Serialize, Deserialize)]
enum Odd {
    /// One element more than the worker takes.
    Add(i64, i64, i64, Reply<i64>),
    Who(i64, Reply<Pid>),
    /// The token comes before what cannot be read.
    Count(Reply<i64>, String),
}

fn calculator(of: &Member) -> Result {
    of.node.spawn(Calculator::default).name("calc").wait()?;
    of.cluster.export::<Calc>("calc")?;
    Ok(())
}

/// The error of a call of which no handler has seen the request, and its text.
fn not_begun<T: std::fmt::Debug>(outcome: std::result::Result<T, CallError>) -> String {
    let error = outcome.unwrap_err();
    assert!(!error.was_begun(), "{error}");
    error.to_string()
}

#[test]
fn zcall4_a_request_that_cannot_be_written_was_not_begun_and_its_error_names_the_callee() -> Result
{
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = members(&sim, &net)?;
    calculator(&a)?;
    let calc = b.cluster.remote::<Calc>("calc", "a@sim")?;
    let said = not_begun(calc.call(|reply| Calc::Root(f64::NAN, reply)).wait());
    let why = "it cannot be written: NaN is not a finite float";
    assert_eq!(said, format!("the request did not reach \"calc\" at a@sim: {why}"));
    // Only its name and its node are known without a connection, so the next call is the first one.
    assert_eq!(calc.call(|reply| Calc::Count(reply, 10)).wait(), Ok(11));
    // By its pid it is named by that.
    let pid = a.pid_of(a.node.whereis("calc").unwrap(), &a);
    let pid = b.pid_of(pid, &a);
    let by_pid = b.cluster.remote_pid::<Calc>(pid)?;
    let said = not_begun(by_pid.call(|reply| Calc::Root(f64::NAN, reply)).wait());
    assert_eq!(said, format!("the request did not reach {pid}: {why}"));
    Ok(())
}

#[test]
fn zcall4_a_request_that_its_node_cannot_read_was_not_begun_and_its_error_says_why() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = members(&sim, &net)?;
    a.worker("stock")?;
    calculator(&a)?;
    let stock = b.cluster.remote::<Calc>("stock", "a@sim")?;
    let said = not_begun(stock.call(|reply| Calc::Root(2.0, reply)).wait());
    let begin = "the request did not reach \"stock\" at a@sim: its node cannot read it: ";
    assert!(said.starts_with(begin), "{said}");
    // One element too many, and a wrong element behind the token, are no exception.
    let stock: Recipient<Odd> = b.cluster.remote("stock", "a@sim")?;
    for said in [
        not_begun(stock.call(|reply| Odd::Add(1, 2, 3, reply)).wait()),
        not_begun(stock.call(|reply| Odd::Who(1, reply)).wait()),
        not_begun(
            b.cluster
                .remote("calc", "a@sim")?
                .call(|reply| Odd::Count(reply, "ten".to_owned()))
                .wait(),
        ),
    ] {
        assert!(said.contains(" at a@sim: its node cannot read it: "), "{said}");
    }
    let calc = b.cluster.remote::<Calc>("calc", "a@sim")?;
    assert_eq!(calc.call(|reply| Calc::Count(reply, 10)).wait(), Ok(11));
    Ok(())
}

#[test]
fn zcall4_a_call_to_a_node_that_cannot_be_reached_was_not_begun() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = members(&sim, &net)?;
    a.worker("stock")?;
    let stock = b.remote("stock", "a@sim");
    net.refuse("a@sim", true);
    let said = not_begun(stock.call(Order::Who).wait());
    assert_eq!(said, "the request did not reach \"stock\" at a@sim: no connection to its node");
    net.refuse("a@sim", false);
    let pid = stock.call(Order::Who).wait()?;
    assert_eq!(pid.to_string(), b.pid_of(pid, &b).to_string());
    net.refuse("a@sim", true);
    assert!(b.cluster.disconnect("a@sim")?);
    sim.run_until_idle();
    let error = b.cluster.remote_pid::<Order>(pid)?.call(Order::Who).wait().unwrap_err();
    assert_eq!(error, undelivered(pid, UndeliveredCause::NoConnection));
    Ok(())
}

#[test]
fn zmsg13_a_call_for_which_the_queue_has_no_room_was_not_begun() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = members(&sim, &net)?;
    a.worker("stock")?;
    let stock = b.remote("stock", "a@sim");
    stock.call(Order::Who).wait()?;
    net.partition(&["a@sim"], &["b@sim"]);
    while stock.send(Order::End(Some("x".repeat(300_000)))).is_ok() {}
    let said = not_begun(stock.call(Order::Who).wait());
    let why = "too much waits to be sent to its node";
    assert_eq!(said, format!("the request did not reach \"stock\" at a@sim: {why}"));
    Ok(())
}

#[test]
fn zcall3_an_answer_that_cannot_be_written_fails_its_call_with_the_reason() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = members(&sim, &net)?;
    calculator(&a)?;
    let calc = b.cluster.remote::<Calc>("calc", "a@sim")?;
    let error = calc.call(|reply| Calc::Root(-1.0, reply)).wait().unwrap_err();
    assert!(error.was_begun(), "{error}");
    let reason = Reason::error("the answer cannot be written: NaN is not a finite float");
    assert_eq!(error, CallError::Terminated { to: calc.pid(), reason });
    assert_eq!(calc.call(|reply| Calc::Count(reply, 10)).wait(), Ok(12));
    Ok(())
}
