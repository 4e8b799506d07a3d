//! The whole life of an actor that handles one message.

mod until_dropped;

use krarup::{Actor, Context, Result};
use until_dropped::{Over, bench};

/// How many children are spawned before they get a turn.
const CHILDREN: u64 = 1000;

struct Parent;

impl Actor for Parent {
    type Message = (u64, Over);

    async fn handle_message(
        &mut self,
        ctx: &mut Context<(u64, Over)>,
        (children, over): (u64, Over),
    ) -> Result {
        for _ in 0..children.min(CHILDREN) {
            let over = over.clone();
            ctx.spawn(|| Child { _over: over }).start()?.send(())?;
        }
        if children > CHILDREN {
            ctx.address().send((children - CHILDREN, over))?;
        }
        Ok(())
    }
}

struct Child {
    _over: Over,
}

impl Actor for Child {
    type Message = ();

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        ctx.stop();
        Ok(())
    }
}

fn main() {
    bench("spawn", |node| {
        let parent = node.spawn(|| Parent).wait().expect("it has no init");
        move |children, over| parent.send((children, over)).expect("the parent lives")
    });
}
