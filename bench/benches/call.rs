//! A call and its reply between two actors.

mod until_dropped;

use krarup::{Actor, Address, Context, Reply, Result};
use until_dropped::{Over, bench};

/// Replies to a number with the next one.
struct Server;

/// A number, and the reply token for the next one.
type Increment = (u64, Reply<u64>);

impl Actor for Server {
    type Message = Increment;

    async fn handle_message(
        &mut self,
        _: &mut Context<Increment>,
        (number, reply): Increment,
    ) -> Result {
        reply.send(number + 1);
        Ok(())
    }
}

/// Makes the requested number of calls, one after the other.
struct Caller {
    server: Address<Increment>,
}

impl Actor for Caller {
    type Message = (u64, Over);

    async fn handle_message(
        &mut self,
        _: &mut Context<(u64, Over)>,
        (calls, _over): (u64, Over),
    ) -> Result {
        for number in 0..calls {
            self.server.call(|reply| (number, reply)).await?;
        }
        Ok(())
    }
}

fn main() {
    bench("call", |node| {
        let server = node.spawn(|| Server).wait().expect("it has no init");
        let caller = node.spawn(|| Caller { server }).wait().expect("it has no init");
        move |calls, over| caller.send((calls, over)).expect("the caller lives")
    });
}
