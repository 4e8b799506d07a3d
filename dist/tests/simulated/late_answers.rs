//! Answers to callers of other nodes whose connection is lost.

use crate::sim_support::{Choices, Member, members};
use krarup_act::{Actor, Address, Context, Recipient, Reply};
use krarup_dist::{ClusterCalls, SimNetwork};
use krarup_gen::{CallError, Reason, Result};
use krarup_node::Simulation;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};

/// What a desk is told.
#[derive(Debug, Serialize, Deserialize)]
enum Paper {
    /// To be answered later.
    Keep(Reply<i64>),
    /// Answered at once; the other token is to be answered later.
    KeepOther(Reply<()>, Reply<i64>),
    /// Answers all that is kept.
    Answer,
    /// Has the desk there keep the token of this call.
    PassOn(Reply<i64>),
}

/// Keeps tokens, or passes them on.
#[derive(Default)]
struct Desk {
    kept: Vec<Reply<i64>>,
    there: Option<Recipient<Paper>>,
}

impl Actor for Desk {
    type Message = Paper;

    async fn handle_message(&mut self, _: &mut Context<Paper>, paper: Paper) -> Result {
        match paper {
            Paper::Keep(reply) => self.kept.push(reply),
            Paper::KeepOther(own, other) => {
                own.send(());
                self.kept.push(other);
            }
            Paper::Answer => self.kept.drain(..).for_each(|kept| kept.send(7)),
            Paper::PassOn(reply) => {
                let there = self.there.as_ref().unwrap();
                there.call(|own| Paper::KeepOther(own, reply)).await?;
            }
        }
        Ok(())
    }
}

type Outcomes = Arc<Mutex<Vec<std::result::Result<i64, CallError>>>>;

/// Calls a desk whenever it is told to, and records the outcomes.
struct Caller {
    desk: Recipient<Paper>,
    paper: fn(Reply<i64>) -> Paper,
    outcomes: Outcomes,
}

impl Actor for Caller {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        let outcome = self.desk.call(self.paper).no_timeout().await;
        self.outcomes.lock().unwrap().push(outcome);
        Ok(())
    }
}

/// A desk with the name `desk`, which others reach.
fn desk(on: &Member, there: Option<&str>) -> Result<Address<Paper>> {
    let there = there.map(|node| on.cluster.remote::<Paper>("desk", node)).transpose()?;
    let desk = on.node.spawn(move || Desk { kept: Vec::new(), there: there.clone() });
    let desk = desk.name("desk").wait()?;
    on.cluster.export::<Paper>("desk")?;
    Ok(desk)
}

/// Spawns a caller of a desk.
fn caller(
    on: &Member,
    desk: Recipient<Paper>,
    paper: fn(Reply<i64>) -> Paper,
) -> Result<(Address<()>, Outcomes)> {
    let outcomes = Outcomes::default();
    let told = Arc::clone(&outcomes);
    let caller =
        on.node.spawn(move || Caller { desk: desk.clone(), paper, outcomes: Arc::clone(&told) });
    Ok((caller.wait()?, outcomes))
}

/// The late replies that a node and its cluster have counted.
fn late(of: &Member) -> (u64, u64) {
    (of.node.stats().late_replies, of.cluster.stats().unwrap().late)
}

fn is_lost(outcomes: &Outcomes) -> bool {
    let outcomes = outcomes.lock().unwrap();
    matches!(&outcomes[..], [Err(CallError::Terminated { reason: Reason::NoConnection, .. })])
}

#[test]
fn zlive5_an_answer_to_a_caller_whose_node_is_gone_dials_nobody_and_is_a_late_reply() {
    Simulation::explore(0..20, |sim| {
        let (net, choices) = (SimNetwork::new(), Choices(sim));
        let [a, b] = members(sim, &net)?;
        let desk = desk(&a, None)?;
        let (caller, outcomes) = caller(&b, b.cluster.remote("desk", "a@sim")?, Paper::Keep)?;
        caller.send(()).unwrap();
        sim.run_until_idle();
        assert_eq!(a.peers().len(), 1);
        match choices.below(2) {
            0 => assert_eq!(net.reset("a@sim", "b@sim"), 1),
            _ => b.node.kill(b.cluster.pid()),
        }
        sim.run_until_idle();
        assert!(is_lost(&outcomes), "{outcomes:?}");
        desk.send(Paper::Answer).unwrap();
        sim.run_until_idle();
        assert_eq!((a.peers().len(), net.connections().len(), late(&a)), (0, 0, (1, 1)));
        Ok(())
    });
}

#[test]
fn zlive5_an_answer_is_not_sent_over_the_next_connection() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = members(&sim, &net)?;
    let on_a = desk(&a, None)?;
    let (caller, outcomes) = caller(&b, b.cluster.remote("desk", "a@sim")?, Paper::Keep)?;
    caller.send(()).unwrap();
    sim.run_until_idle();
    assert_eq!(net.reset("a@sim", "b@sim"), 1);
    sim.run_until_idle();
    assert!(is_lost(&outcomes), "{outcomes:?}");
    // The second call is answered over the connection that it makes.
    caller.send(()).unwrap();
    sim.run_until_idle();
    on_a.send(Paper::Answer).unwrap();
    sim.run_until_idle();
    assert_eq!(outcomes.lock().unwrap()[1..], [Ok(7)]);
    assert_eq!((late(&a), late(&b), net.connections().len()), ((1, 1), (0, 0), 1));
    Ok(())
}

#[test]
fn zlive5_the_answer_to_a_token_that_was_passed_on_dials_nobody_after_a_loss() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = members(&sim, &net)?;
    let (on_a, on_b) = (desk(&a, None)?, desk(&b, Some("a@sim"))?);
    let (caller, outcomes) = caller(&b, on_b.recipient(), Paper::PassOn)?;
    let answers = || {
        sim.run_until_idle();
        on_a.send(Paper::Answer).unwrap();
        sim.run_until_idle();
    };
    caller.send(()).unwrap();
    answers();
    assert_eq!(*outcomes.lock().unwrap(), [Ok(7)]);
    caller.send(()).unwrap();
    sim.run_until_idle();
    assert_eq!(net.reset("a@sim", "b@sim"), 1);
    answers();
    let outcomes = outcomes.lock().unwrap();
    assert!(matches!(outcomes[..], [Ok(7), Err(_)]), "{outcomes:?}");
    assert_eq!((late(&a), net.connections().len()), ((1, 1), 0));
    Ok(())
}

#[test]
fn zlive5_a_token_that_another_node_has_passed_on_is_answered_through_it() -> Result {
    for connected in [false, true] {
        let (sim, net) = (Simulation::new(1), SimNetwork::new());
        let [a, b, c] = members(&sim, &net)?;
        let (on_a, on_c) = (desk(&a, None)?, desk(&c, Some("a@sim"))?);
        let desk = b.cluster.remote("desk", "c@sim")?;
        let (caller, outcomes) = caller(&b, desk, Paper::PassOn)?;
        if connected {
            assert!(sim.block_on(b.cluster.connect("a@sim")?)?);
        }
        caller.send(()).unwrap();
        sim.run_until_idle();
        // The caller has called the third node, and is connected to it: it waits on, and the answer goes that way.
        assert_eq!(net.reset("a@sim", "b@sim"), usize::from(connected));
        sim.run_until_idle();
        on_a.send(Paper::Answer).unwrap();
        sim.run_until_idle();
        assert_eq!((&*outcomes.lock().unwrap(), late(&a)), (&vec![Ok(7)], (0, 0)));
        drop(on_c);
    }
    Ok(())
}
