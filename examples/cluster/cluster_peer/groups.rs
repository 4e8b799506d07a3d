//! The groups of the scope that the driver has, too.

use crate::ok;
use crate::puppet::Puppet;
use crate::terms::{atom, tagged};
use krarup::Pid;
use krarup::cluster::etf::{Atom, Term};
use krarup::cluster::{ClusterCalls, ClusterHandle, HasCluster, TermMessage};
use krarup::groups::GroupChange;
use krarup::prelude::*;

/// The scope.
pub(crate) const SCOPE: &str = "krarup_probe";

/// Joins and leaves groups, and writes down their changes.
#[derive(Default)]
pub(crate) struct Grouper {
    log: Vec<Term>,
}

fn pids(cluster: &ClusterHandle, pids: &[Pid]) -> Term {
    Term::list(pids.iter().filter_map(|pid| cluster.pid_term(*pid)))
}

impl Grouper {
    async fn obey(ctx: &mut Context<TermMessage>, request: &Term) -> Result<Term> {
        let cluster = ctx.cluster()?;
        let groups = ctx.term_groups(SCOPE)?;
        if atom(request) == "groups" {
            return Ok(Term::list(groups.names()));
        }
        if let Some([group]) = tagged(request, "members") {
            return Ok(pids(&cluster, &groups.members(group)));
        }
        if let Some([group]) = tagged(request, "local_members") {
            let mut members = groups.members(group);
            members.retain(|pid| pid.node() == 0);
            return Ok(pids(&cluster, &members));
        }
        if let Some([group]) = tagged(request, "join") {
            ctx.join(atom(group))?;
        } else if let Some([group]) = tagged(request, "leave") {
            return Ok(ctx.leave(atom(group)).map_or(Term::atom("not_joined"), |()| ok()));
        } else if let Some([group]) = tagged(request, "new_member") {
            let puppet = ctx.spawn(Puppet::default).await?;
            ctx.groups().join(atom(group), &puppet.recipient::<TermMessage>())?;
            return Ok(cluster.pid_term(puppet.pid()).unwrap_or_else(Term::nil));
        }
        Ok(ok())
    }
}

impl Actor for Grouper {
    type Message = TermMessage;

    async fn init(&mut self, ctx: &mut Context<TermMessage>) -> Result {
        let to = ctx.address();
        ctx.spawn(move || Changes { to }).link().await?;
        Ok(())
    }

    async fn handle_message(
        &mut self,
        ctx: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        match message {
            TermMessage::Call(term, reply) if atom(&term) == "log" => {
                reply.send(Term::list(self.log.drain(..)));
            }
            TermMessage::Call(term, reply) => reply.send(Grouper::obey(ctx, &term).await?),
            TermMessage::Cast(term) | TermMessage::Info(term) => self.log.push(term),
        }
        Ok(())
    }
}

/// Watches all groups, and passes each change on as a term.
struct Changes {
    to: Address<TermMessage>,
}

impl Actor for Changes {
    type Message = GroupChange;

    async fn init(&mut self, ctx: &mut Context<GroupChange>) -> Result {
        let groups = ctx.groups();
        ctx.watch_groups(&groups)?;
        Ok(())
    }

    async fn handle_message(
        &mut self,
        ctx: &mut Context<GroupChange>,
        change: GroupChange,
    ) -> Result {
        let tag = if let GroupChange::Joined { .. } = &change { "join" } else { "leave" };
        let group = Atom::new(change.group().as_str())?;
        let members = pids(&ctx.cluster()?, &[change.pid()]);
        let told = Term::tuple([Term::atom(tag), group.into(), members]);
        Ok(self.to.send(TermMessage::Info(told)).map_err(SendError::without_message)?)
    }
}
