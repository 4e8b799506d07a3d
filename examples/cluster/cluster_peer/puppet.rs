//! Processes that do what they are told, and write down what comes otherwise.

use crate::ok;
use crate::terms::{atom, number, pair, tagged};
use krarup::calls::UndeliveredCause;
use krarup::cluster::etf::{Atom, Term};
use krarup::cluster::{ClusterHandle, HasCluster, TermMessage, reason_from_term, reason_to_term};
use krarup::prelude::*;
use krarup::{Alias, Name, NodeName, Recipient, Ref, Target};
use std::time::Duration;

/// Makes puppets.
pub(crate) struct Maker;

impl Maker {
    async fn make(ctx: &mut Context<TermMessage>, traps: bool) -> Result<Term> {
        let puppet = ctx.spawn(move || Puppet { traps, ..Puppet::default() }).await?;
        Ok(ctx.cluster()?.pid_term(puppet.pid()).unwrap_or_else(Term::nil))
    }
}

impl Actor for Maker {
    type Message = TermMessage;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        let TermMessage::Call(term, reply) = message else { return Ok(()) };
        let many = tagged(&term, "new").and_then(|many| many.first());
        let made = match many {
            None => Maker::make(ctx, false).await?,
            Some(many) if atom(many) == "trap" => Maker::make(ctx, true).await?,
            Some(many) => {
                let mut puppets = Vec::new();
                for _ in 0..number(many).unwrap_or_default() {
                    puppets.push(Maker::make(ctx, false).await?);
                }
                Term::list(puppets)
            }
        };
        reply.send(made);
        Ok(())
    }
}

/// A process that obeys.
#[derive(Default)]
pub(crate) struct Puppet {
    traps: bool,
    log: Vec<Term>,
    made: Option<Term>,
    kept: Vec<Reply<Term>>,
}

impl Actor for Puppet {
    type Message = TermMessage;

    async fn init(&mut self, ctx: &mut Context<TermMessage>) -> Result {
        ctx.trap_exits(self.traps);
        Ok(())
    }

    async fn handle_message(
        &mut self,
        ctx: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        match message {
            TermMessage::Info(term) => self.log.push(pair("info", term)),
            TermMessage::Cast(term) => match tagged(&term, "die") {
                Some([reason]) => return end(ctx, reason),
                _ => self.log.push(pair("cast", term)),
            },
            TermMessage::Call(term, reply) => {
                if let Some([reason]) = tagged(&term, "die") {
                    // The call fails with the reason.
                    self.kept.push(reply);
                    return end(ctx, reason);
                }
                if let Some((answer, reply)) = self.obey(ctx, &term, reply).await? {
                    reply.send(answer);
                }
            }
        }
        Ok(())
    }

    async fn handle_exit(&mut self, ctx: &mut Context<TermMessage>, exit: Exit) -> Result {
        let pid = ctx.cluster()?.pid_term(exit.pid).unwrap_or_else(Term::nil);
        let parts = [Term::atom("EXIT"), pid, reason_to_term(&exit.reason)];
        self.log.push(Term::tuple(parts));
        Ok(())
    }

    async fn handle_down(&mut self, ctx: &mut Context<TermMessage>, down: Down) -> Result {
        let cluster = ctx.cluster()?;
        let target = match &down.target {
            Target::Pid(pid) => cluster.pid_term(*pid),
            Target::Remote(name, node) => {
                let atoms = [name.as_str(), node.as_str()].map(Atom::new);
                Some(Term::tuple(atoms.into_iter().flatten().map(Term::from)))
            }
            _ => None,
        };
        let parts = [
            Term::atom("DOWN"),
            cluster.ref_term(down.monitor),
            Term::atom("process"),
            target.unwrap_or_else(Term::nil),
            reason_to_term(&down.reason),
        ];
        self.log.push(Term::tuple(parts));
        Ok(())
    }
}

fn end(ctx: &mut Context<TermMessage>, reason: &Term) -> Result {
    match reason_from_term(reason) {
        Reason::Normal => {
            ctx.stop();
            Ok(())
        }
        reason => Err(reason),
    }
}

type Answer = Option<(Term, Reply<Term>)>;

impl Puppet {
    /// Obeys a command; the answer is none if the token was kept or passed on.
    async fn obey(
        &mut self,
        ctx: &mut Context<TermMessage>,
        command: &Term,
        reply: Reply<Term>,
    ) -> Result<Answer> {
        let cluster = ctx.cluster()?;
        let name = match command {
            Term::Tuple(parts) => parts.first().map_or("", atom),
            term => atom(term),
        };
        let arguments = tagged(command, name).unwrap_or_default();
        let pid = |term: &Term| {
            cluster.pid(term).ok_or_else(|| Reason::error(format!("{term} is no pid")))
        };
        let answer = match (name, arguments) {
            ("self", []) => cluster.pid_term(ctx.pid()).unwrap_or_else(Term::nil),
            ("link", [of]) => {
                ctx.link(pid(of)?);
                true.into()
            }
            ("unlink", [of]) => {
                ctx.unlink(pid(of)?);
                true.into()
            }
            ("exit", [of, reason]) => {
                ctx.exit(pid(of)?, reason_from_term(reason));
                true.into()
            }
            ("monitor", [of]) => {
                let monitor = match cluster.pid(of) {
                    Some(pid) => ctx.monitor(pid),
                    None => monitor_name(ctx, of)?,
                };
                cluster.ref_term(monitor)
            }
            ("demonitor", [monitor]) => {
                let monitor = cluster.reference(monitor).unwrap_or(Ref::new(0));
                ctx.demonitor(monitor);
                true.into()
            }
            ("send", [to, message]) => {
                cluster.send_or_wait(to, message).await?;
                ok()
            }
            ("cast", [to, message]) => {
                if let Some(to) = cluster.recipient::<TermMessage>(to) {
                    to.send(TermMessage::Cast(message.clone()))
                        .map_err(SendError::without_message)?;
                }
                ok()
            }
            ("send_seq", [to, key, first, last]) => {
                let (first, last) = (number(first).unwrap_or(1), number(last).unwrap_or(0));
                for at in first..=last {
                    let message = Term::tuple([Term::atom("seq"), key.clone(), at.into()]);
                    cluster.send_or_wait(to, &message).await?;
                }
                ok()
            }
            ("send_big", [to, size]) => {
                let size = number(size).and_then(|size| usize::try_from(size).ok());
                let bytes = std::iter::repeat_n(7, size.unwrap_or_default()).collect();
                let message = pair("big", Term::Binary(bytes));
                cluster.send_or_wait(to, &message).await?;
                ok()
            }
            ("call", [to, request, timeout]) => call(&cluster, to, request, timeout).await,
            ("pass_on", [to, message]) => {
                let from = cluster.caller(ctx.pid(), reply);
                let message = Term::tuple([Term::atom("please_answer"), from, message.clone()]);
                cluster.send_or_wait(to, &message).await?;
                return Ok(None);
            }
            ("make_ref", []) => {
                let made = cluster.ref_term(ctx.make_ref());
                self.made = Some(made.clone());
                made
            }
            ("owns", [of]) => (self.made.as_ref() == Some(of)).into(),
            ("alias", []) => {
                let alias = ctx.alias();
                cluster.ref_term(Ref::new(alias.number()))
            }
            ("unalias", [alias]) => {
                let alias = cluster.reference(alias).unwrap_or(Ref::new(0));
                ctx.revoke(Alias::new(alias)).into()
            }
            ("log", []) => Term::list(self.log.drain(..)),
            _ => {
                self.kept.push(reply);
                return Ok(None);
            }
        };
        Ok(Some((answer, reply)))
    }
}

fn monitor_name(ctx: &mut Context<TermMessage>, of: &Term) -> Result<Ref> {
    match of {
        Term::Tuple(parts) => match &parts[..] {
            [name, node] => {
                let (name, node) = (Name::new(atom(name))?, NodeName::new(atom(node))?);
                Ok(ctx.monitor((name, node)))
            }
            _ => Err(Reason::error("not a name and a node")),
        },
        _ => Err(Reason::error("nothing that can be monitored")),
    }
}

async fn call(cluster: &ClusterHandle, to: &Term, request: &Term, timeout: &Term) -> Term {
    let Some(to): Option<Recipient<TermMessage>> = cluster.recipient(to) else {
        return pair("error", Term::atom("noproc"));
    };
    let ms = number(timeout).and_then(|ms| u64::try_from(ms).ok()).unwrap_or(5000);
    let request = request.clone();
    let answer = to
        .call(move |reply| TermMessage::Call(request, reply))
        .timeout(Duration::from_millis(ms))
        .await;
    match answer {
        Ok(answer) => pair("ok", answer),
        Err(error) => pair(
            "error",
            match error {
                CallError::Timeout { .. } => Term::atom("timeout"),
                CallError::NoProcess { .. } => Term::atom("noproc"),
                CallError::Terminated { reason, .. } => reason_to_term(&reason),
                CallError::Undelivered { cause: UndeliveredCause::NoConnection, .. } => {
                    Term::atom("noconnection")
                }
                error => Term::binary(error.to_string()),
            },
        ),
    }
}
