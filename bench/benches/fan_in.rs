//! Eight actors send to one. An iteration is one message of each of them.

mod until_dropped;

use krarup::{Actor, Address, Context, Result};
use until_dropped::{Over, bench};

/// How many messages a source sends before other actors get a turn.
const BURST: u64 = 1000;

struct Sink;

impl Actor for Sink {
    /// The last message of a source carries the end signal.
    type Message = Option<Over>;

    async fn handle_message(&mut self, _: &mut Context<Option<Over>>, _: Option<Over>) -> Result {
        Ok(())
    }
}

struct Source {
    sink: Address<Option<Over>>,
}

impl Actor for Source {
    type Message = (u64, Over);

    async fn handle_message(
        &mut self,
        ctx: &mut Context<(u64, Over)>,
        (left, over): (u64, Over),
    ) -> Result {
        let later = left.saturating_sub(BURST);
        for number in (later..left).rev() {
            self.sink.send((number == 0).then(|| over.clone()))?;
        }
        if later > 0 {
            ctx.address().send((later, over))?;
        }
        Ok(())
    }
}

fn main() {
    bench("fan_in", |node| {
        let sink = node.spawn(|| Sink).wait().expect("it has no init");
        let sources = [(); 8].map(|()| {
            let sink = sink.clone();
            node.spawn(move || Source { sink }).wait().expect("it has no init")
        });
        move |each, over| {
            for source in &sources {
                source.send((each, over.clone())).expect("the source lives");
            }
        }
    });
}
