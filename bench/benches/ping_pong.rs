//! One message back and forth between two actors, one at a time.

mod until_dropped;

use krarup::{Actor, Address, Context, Result};
use until_dropped::{Over, bench};

enum Message {
    Serve(u64, Over),
    Ball,
}

/// Serves the requested number of balls, each after the previous one has come back.
#[derive(Default)]
struct Server {
    returner: Option<Address<()>>,
    game: Option<(u64, Over)>,
}

impl Actor for Server {
    type Message = Message;

    async fn init(&mut self, ctx: &mut Context<Message>) -> Result {
        let server = ctx.address();
        self.returner = Some(ctx.spawn(move || Returner { server }).await?);
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Message>, message: Message) -> Result {
        if let Message::Serve(balls, over) = message {
            self.game = Some((balls, over));
        }
        match (&mut self.game, &self.returner) {
            (Some((balls, _)), Some(returner)) if *balls > 0 => {
                *balls -= 1;
                returner.send(())?;
            }
            _ => self.game = None,
        }
        Ok(())
    }
}

struct Returner {
    server: Address<Message>,
}

impl Actor for Returner {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(self.server.send(Message::Ball)?)
    }
}

fn main() {
    bench("ping_pong", |node| {
        let server = node.spawn(Server::default).wait().expect("its init succeeds");
        move |balls, over| server.send(Message::Serve(balls, over)).expect("the server lives")
    });
}
