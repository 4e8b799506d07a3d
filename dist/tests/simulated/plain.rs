//! Typed messages without the mark of a cast: `Info`.

use crate::sim_support::members;
use krarup_act::{Actor, Address, Context, Reply, behavior_fn};
use krarup_dist::{ClusterCalls, Info, SimNetwork, TermMessage};
use krarup_gen::{Result, SendError};
use krarup_node::Simulation;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};

#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Said(String, u32),
    Count(Reply<u32>),
}

/// What a process sends to another node is counted as what it sends to its own.
#[test]
fn x3_messages_to_other_nodes_are_counted_as_sent() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = members(&sim, &net)?;
    a.node.spawn(|| Taker(Vec::new())).name("taker").wait()?;
    a.cluster.export::<Info<Taken>>("taker")?;
    b.cluster.carry::<Taken>()?;
    let taker = b.cluster.remote::<Taken>("taker", "a@sim")?;
    let talks = behavior_fn(move |mut ctx: Context<()>| async move {
        for number in 0..3 {
            taker.send(Taken::Note(number)).map_err(SendError::without_message)?;
        }
        taker.call(Taken::All).await?;
        ctx.send(("taker", "a@sim"), Taken::Note(3)).map_err(SendError::without_message)?;
        ctx.receive().await;
        Ok(())
    });
    let talks: Address<()> = b.node.spawn(move || talks).start()?;
    sim.run_until_idle();
    assert_eq!(b.node.process_info(talks.pid()).map(|info| info.messages_out), Some(5));
    Ok(())
}

/// Keeps what comes, as it came.
struct Printer(Arc<Mutex<Vec<String>>>);

impl Actor for Printer {
    type Message = TermMessage;

    async fn handle_message(&mut self, _: &mut Context<TermMessage>, came: TermMessage) -> Result {
        self.0.lock().unwrap().push(format!("{came:?}"));
        if let TermMessage::Call(_, reply) = came {
            reply.send(3.into());
        }
        Ok(())
    }
}

#[test]
fn zmsg1_a_typed_message_goes_out_as_a_cast_and_in_an_info_as_it_is() -> Result {
    let (sim, net) = (Simulation::new(1), SimNetwork::new());
    let [a, b] = members(&sim, &net)?;
    let came = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&came);
    a.node.spawn(move || Printer(kept)).name("printer").wait()?;
    a.cluster.export::<TermMessage>("printer")?;
    let casts = b.cluster.remote::<Line>("printer", "a@sim")?;
    let plain = b.cluster.remote::<Info<Line>>("printer", "a@sim")?;
    casts.send(Line::Said("one".into(), 1))?;
    plain.send(Info(Line::Said("two".into(), 2)))?;
    assert_eq!(plain.call(|reply| Info(Line::Count(reply))).wait(), Ok(3));
    // As the type of a process it takes both.
    b.node.spawn(|| Taker(Vec::new())).name("taker").wait()?;
    b.cluster.export::<Info<Taken>>("taker")?;
    let taker = a.cluster.remote::<Taken>("taker", "b@sim")?;
    taker.send(Taken::Note(1))?;
    let plain = a.cluster.remote::<Info<Taken>>("taker", "b@sim")?;
    plain.send(Info(Taken::Note(2)))?;
    assert_eq!(taker.call(Taken::All).wait(), Ok(vec![1, 2]));
    let said = |word: &str, n: u32| format!("{{said,<<\"{word}\">>,{n}}}");
    let came = came.lock().unwrap();
    assert_eq!(
        came[..2],
        [format!("Cast({})", said("one", 1)), format!("Info({})", said("two", 2))]
    );
    assert!(came[2].starts_with("Call(count"), "{}", came[2]);
    Ok(())
}

#[derive(Debug, Serialize, Deserialize)]
enum Taken {
    Note(u32),
    All(Reply<Vec<u32>>),
}

struct Taker(Vec<u32>);

impl Actor for Taker {
    type Message = Info<Taken>;

    async fn handle_message(&mut self, _: &mut Context<Info<Taken>>, taken: Info<Taken>) -> Result {
        match taken.0 {
            Taken::Note(number) => self.0.push(number),
            Taken::All(reply) => reply.send(self.0.clone()),
        }
        Ok(())
    }
}
