//! Applications whose top processes note what becomes of them.

use crate::support::{Log, boom};
use krarup::application::{Application, ApplicationState};
use krarup::behavior::behavior_fn;
use krarup::dispatcher::Class;
use krarup::prelude::*;

/// The top process of an application: it does what it is told.
pub(crate) struct Top {
    name: &'static str,
    log: Log,
    fails: bool,
}

pub(crate) enum Say {
    End(Reason),
    /// Spawn a process that is not linked and never ends by itself.
    Leave(Reply<Pid>),
    /// The same, by a child that ends at once.
    Orphan(Reply<Pid>),
    /// The same on the dispatcher `far`, in high class.
    LeaveFar(Reply<Pid>),
    /// Never end by itself.
    Hang,
}

impl Actor for Top {
    type Message = Say;

    async fn init(&mut self, ctx: &mut Context<Say>) -> Result {
        if self.fails {
            return Err(boom());
        }
        self.log.note(format!("start {}", self.name));
        ctx.register(self.name)?;
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Say>, say: Say) -> Result {
        match say {
            Say::End(reason) => return Err(reason),
            Say::Leave(reply) => {
                let left = || behavior_fn(|ctx: Context<()>| async move { forever(ctx).await });
                reply.send(ctx.spawn(left).start()?.pid());
            }
            Say::Orphan(reply) => {
                let left = || behavior_fn(|ctx: Context<()>| async move { forever(ctx).await });
                let child = behavior_fn(move |ctx: Context<()>| async move {
                    reply.send(ctx.spawn(left).start()?.pid());
                    Ok(())
                });
                ctx.spawn(move || child).start()?;
            }
            Say::LeaveFar(reply) => {
                let left = || behavior_fn(|ctx: Context<()>| async move { forever(ctx).await });
                reply.send(ctx.spawn(left).dispatcher("far").class(Class::High).start()?.pid());
            }
            Say::Hang => std::future::pending().await,
        }
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<Say>, reason: &Reason) {
        self.log.note(format!("end {} {reason}", self.name));
    }
}

/// Does not even end when it is asked to.
pub(crate) async fn forever(mut ctx: Context<()>) -> Result {
    ctx.trap_exits(true);
    loop {
        let _ = ctx.receive().await;
    }
}

pub(crate) fn app(name: &'static str, log: &Log) -> Application {
    let log = log.clone();
    Application::new(name, move || Top { name, log: log.clone(), fails: false })
}

pub(crate) fn failing(name: &'static str, log: &Log) -> Application {
    let log = log.clone();
    Application::new(name, move || Top { name, log: log.clone(), fails: true })
}

pub(crate) fn say(node: &Node, name: &str, say: Say) {
    let top: Address<Say> = node.lookup(name).unwrap();
    top.send(say).unwrap();
}

pub(crate) fn states(node: &Node) -> Vec<String> {
    node.applications().iter().map(|app| format!("{} {}", app.name, app.state)).collect()
}

pub(crate) fn state(node: &Node, name: &str) -> ApplicationState {
    let all = node.applications();
    all.into_iter().find(|app| app.name.as_str() == name).unwrap().state
}
