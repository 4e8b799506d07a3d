//! Methods that are derived for the messages of a process: rule Y6.

use crate::support::poll_once;
use krarup::behavior::{Received, behavior_fn};
use krarup::pool::Pool;
use krarup::prelude::*;
use krarup::{Call, Protocol};
use std::future::pending;
use std::task::Poll;
use std::time::Duration;

/// Each shape that a message may have, and attributes that pass through.
#[derive(Debug, Protocol)]
#[protocol(calls = StockCalls, named = StockByName)]
enum Stock {
    /// Adds so many.
    Add(u32),
    Put(String, u32),
    Clear,
    #[cfg(any())]
    Never(Undefined),
    Count(Reply<u32>),
    Find {
        name: String,
        reply: krarup::Reply<Option<u32>>,
    },
    #[protocol(name = halt)]
    Stop,
    /// Without a method: an address has a `pid`.
    #[protocol(skip)]
    Pid(u32),
    r#Type(Reply<&'static str>),
}

#[derive(Default)]
struct Shelf {
    named: Vec<(String, u32)>,
    others: u32,
}

impl Actor for Shelf {
    type Message = Stock;

    async fn handle_message(&mut self, ctx: &mut Context<Stock>, message: Stock) -> Result {
        match message {
            Stock::Add(many) | Stock::Pid(many) => self.others += many,
            Stock::Put(name, many) => self.named.push((name, many)),
            Stock::Clear => *self = Shelf::default(),
            Stock::Count(reply) => {
                reply.send(self.others + self.named.iter().map(|(_, many)| many).sum::<u32>());
            }
            Stock::Find { name, reply } => {
                let found = self.named.iter().find(|(known, _)| *known == name);
                reply.send(found.map(|(_, many)| *many));
            }
            Stock::Stop => ctx.stop(),
            Stock::Type(reply) => reply.send("shelf"),
        }
        Ok(())
    }
}

#[test]
fn y6_a_derived_method_sends_or_calls() {
    let sim = Simulation::new(1);
    let shelf = sim.spawn(Shelf::default).wait().unwrap();
    shelf.add(3).unwrap();
    shelf.put("tea".to_owned(), 4).unwrap();
    assert_eq!(shelf.count().wait().unwrap(), 7);
    assert_eq!(
        shelf.find("tea".to_owned()).timeout(Duration::from_secs(1)).wait().unwrap(),
        Some(4)
    );
    assert_eq!(shelf.r#type().wait().unwrap(), "shelf");
    shelf.send(Stock::Pid(1)).unwrap();
    assert_eq!(shelf.count().wait().unwrap(), 8);
    shelf.clear().unwrap();
    assert_eq!(shelf.find("tea".to_owned()).wait().unwrap(), None);
    shelf.halt().unwrap();
    sim.run_until_idle();
    // The message comes back, as from `send`.
    let refused = shelf.add(9).unwrap_err();
    assert!(matches!(refused, SendError::NoProcess { message: Stock::Add(9), .. }), "{refused:?}");
}

/// Asks in a handler, so its calls are futures that may move between threads.
struct Buyer(Address<Stock>);

impl Actor for Buyer {
    type Message = Reply<u32>;

    async fn handle_message(&mut self, _: &mut Context<Reply<u32>>, to: Reply<u32>) -> Result {
        let call: Call<'_, _, _, _, _> = self.0.count();
        to.send(call.await?);
        Ok(())
    }
}

#[test]
fn y6_derived_methods_work_in_handlers_and_on_the_addresses_of_pools() {
    let sim = Simulation::new(1);
    let pool = sim.spawn(|| Pool::new(1, Shelf::default)).wait().unwrap();
    pool.add(2).unwrap();
    assert_eq!(pool.count().wait().unwrap(), 2);
    let shelf = sim.spawn(Shelf::default).wait().unwrap();
    shelf.add(5).unwrap();
    let buyer = sim.spawn(move || Buyer(shelf)).wait().unwrap();
    assert_eq!(buyer.call(|reply| reply).wait().unwrap(), 5);
}

#[test]
fn y6_derived_methods_of_an_address_by_name_reach_whichever_process_has_it() {
    let sim = Simulation::new(1);
    let stock = sim.named_address::<Stock, Stock>("stock").unwrap();
    let refused = stock.add(1).unwrap_err();
    assert!(matches!(refused, SendError::NoName { message: Stock::Add(1), .. }), "{refused:?}");
    let deaf = behavior_fn(|_: Context<Stock>| pending::<Result>());
    let deaf = sim.spawn(move || deaf).name("stock").start().unwrap();
    // It is asked twice: the first process ends before it has seen the request.
    let mut asked = stock.find("tea".to_owned()).into_future();
    assert!(poll_once(&mut asked).is_pending());
    sim.kill(deaf.pid());
    sim.run_until_idle();
    assert!(poll_once(&mut asked).is_pending());
    let shelf = sim.spawn(Shelf::default).name("stock").wait().unwrap();
    shelf.put("tea".to_owned(), 4).unwrap();
    assert!(poll_once(&mut asked).is_pending());
    sim.run_until_idle();
    assert!(matches!(poll_once(&mut asked), Poll::Ready(Ok(Some(4)))));
    stock.put("milk".to_owned(), 2).unwrap();
    let long = Duration::from_secs(60);
    assert_eq!(stock.count().timeout(long).wait().unwrap(), 6);
    stock.halt().unwrap();
    sim.run_until_idle();
    assert!(!shelf.is_alive());
}

/// Messages that the compiler sees otherwise in a method: with an enum in itself, deprecated, and with types that a macro
/// was given.
#[deny(deprecated)]
mod unusual {
    use super::*;

    macro_rules! tree {
        ($tree:ident, $size:ty, $moved:ty) => {
            #[derive(Protocol)]
            #[protocol(named = TreeByName)]
            #[allow(clippy::vec_box)]
            pub(super) enum $tree {
                Graft(Vec<Box<Self>>),
                Size($size),
                Move(u8, $moved),
                #[deprecated(note = "ask for its size")]
                Height(Reply<u8>),
            }
        };
    }
    tree!(Tree, Reply<u32>, Reply<u8>);
}

#[test]
fn y6_a_message_holds_its_enum_and_is_written_by_a_macro() {
    use unusual::{Tree, TreeByName, TreeCalls};
    let sim = Simulation::new(1);
    let tree = behavior_fn(|mut ctx: Context<Tree>| async move {
        let mut grafted = 0;
        while let Received::Message(message) = ctx.receive().await {
            match message {
                Tree::Graft(parts) => grafted += parts.len(),
                Tree::Size(reply) => reply.send(u32::try_from(grafted).unwrap()),
                Tree::Move(by, reply) => reply.send(by),
                #[allow(deprecated)]
                Tree::Height(reply) => reply.send(1),
            }
        }
        Ok(())
    });
    let tree = sim.spawn(move || tree).name("tree").start().unwrap();
    tree.graft(vec![Box::new(Tree::Graft(Vec::new())), Box::new(Tree::Graft(Vec::new()))]).unwrap();
    assert_eq!((tree.size().wait(), tree.r#move(7).wait()), (Ok(2), Ok(7)));
    #[allow(deprecated)]
    let height = tree.height();
    assert_eq!(height.wait(), Ok(1));
    let named = sim.named_address::<Tree, Tree>("tree").unwrap();
    assert_eq!(named.size().wait(), Ok(2));
}
