//! The interest: tells the accounts that are in memory once a minute.

use krarup::Ref;
use krarup::prelude::*;
use krarup::topics::Publisher;
use std::time::Duration;

/// The name of the process, and of its topic.
pub(crate) const INTEREST: &str = "interest";
/// How often there is interest.
const MINUTE: Duration = Duration::from_secs(60);

/// There is interest: the event.
#[derive(Clone, Copy)]
pub(crate) struct Interest;

pub(crate) enum ToClock {
    Tick,
    Pause,
    Resume,
}

#[derive(Default)]
pub(crate) struct Clock {
    publisher: Option<Publisher<Interest>>,
    timer: Option<Ref>,
}

impl Actor for Clock {
    type Message = ToClock;

    async fn init(&mut self, ctx: &mut Context<ToClock>) -> Result {
        self.publisher = Some(ctx.open_topic(INTEREST).open()?);
        self.resume(ctx);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<ToClock>, message: ToClock) -> Result {
        match message {
            ToClock::Tick => {
                if let Some(publisher) = &self.publisher {
                    publisher.publish(Interest)?;
                }
            }
            ToClock::Pause => self.pause(ctx),
            ToClock::Resume => self.resume(ctx),
        }
        Ok(())
    }
}

impl Clock {
    fn pause(&mut self, ctx: &mut Context<ToClock>) {
        if let Some(timer) = self.timer.take() {
            ctx.disarm(timer);
        }
    }

    fn resume(&mut self, ctx: &mut Context<ToClock>) {
        self.pause(ctx);
        self.timer = Some(ctx.send_interval(MINUTE, || ToClock::Tick));
    }
}
