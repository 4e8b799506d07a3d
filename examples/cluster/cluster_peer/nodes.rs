//! The node itself, and who came and went.

use crate::ok;
use crate::terms::{atom, pair, tagged};
use krarup::cluster::etf::{Atom, Map, Term};
use krarup::cluster::{ClusterCalls, NodeEvent, TermMessage};
use krarup::prelude::*;
use krarup::{NodeName, Target};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Says what this node is, and ends it.
pub(crate) struct Control {
    pub(crate) done: Sender<()>,
}

fn about() -> Term {
    let pairs = [
        ("impl", Term::atom("krarup")),
        ("hidden", true.into()),
        ("os_pid", i64::from(std::process::id()).into()),
        ("native_records", true.into()),
    ];
    // The keys differ.
    Map::new(pairs.map(|(key, value)| (Term::atom(key), value))).map_or(Term::nil(), Term::from)
}

impl Actor for Control {
    type Message = TermMessage;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        let TermMessage::Call(term, reply) = message else { return Ok(()) };
        match atom(&term) {
            "about" => reply.send(about()),
            "stop" => {
                reply.send(ok());
                ctx.sleep(Duration::from_millis(100)).await;
                let _ = self.done.send(());
            }
            _ => {
                if let Some([node]) = tagged(&term, "disconnect") {
                    reply.send(ok());
                    ctx.sleep(Duration::from_millis(50)).await;
                    ctx.disconnect(atom(node))?;
                } else if let Some([node]) = tagged(&term, "connect") {
                    let connected = ctx.connect(atom(node))?;
                    reply.send(connected.await.into());
                }
            }
        }
        Ok(())
    }
}

/// Writes down which nodes come and go.
#[derive(Default)]
pub(crate) struct Comings {
    log: Vec<Term>,
}

fn node_term(node: &NodeName) -> Term {
    Atom::new(node.as_str()).map_or(Term::nil(), Term::from)
}

impl Actor for Comings {
    type Message = TermMessage;

    async fn init(&mut self, ctx: &mut Context<TermMessage>) -> Result {
        let events = ctx.spawn({
            let to = ctx.address();
            move || Forward { to }
        });
        let events = events.link().await?;
        ctx.subscribe_nodes(events.recipient())?;
        Ok(())
    }

    async fn handle_message(
        &mut self,
        ctx: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        let (term, reply) = match message {
            TermMessage::Call(term, reply) => (term, reply),
            TermMessage::Cast(term) | TermMessage::Info(term) => {
                self.log.push(term);
                return Ok(());
            }
        };
        if let Some([node]) = tagged(&term, "monitor_node") {
            ctx.monitor(NodeName::new(atom(node))?);
            reply.send(true.into());
        } else if atom(&term) == "list" {
            reply.send(Term::list(ctx.nodes()?.iter().map(node_term)));
        } else {
            reply.send(Term::list(self.log.drain(..)));
        }
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<TermMessage>, down: Down) -> Result {
        if let Target::Node(node) = &down.target {
            self.log.push(pair("told", node_term(node)));
        }
        Ok(())
    }
}

/// Passes on what comes and goes as terms.
struct Forward {
    to: Address<TermMessage>,
}

impl Actor for Forward {
    type Message = NodeEvent;

    async fn handle_message(&mut self, _: &mut Context<NodeEvent>, event: NodeEvent) -> Result {
        let term = match &event {
            NodeEvent::Up(node) => pair("up", node_term(node)),
            NodeEvent::Down(node) => pair("down", node_term(node)),
            _ => return Ok(()),
        };
        Ok(self.to.send(TermMessage::Info(term)).map_err(SendError::without_message)?)
    }
}
