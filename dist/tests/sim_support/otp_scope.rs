//! A scope of groups that behaves as OTP's `pg` does towards a hidden node: it greets nobody when it
//! starts, and answers those that greet it.

use super::Member;
use krarup_act::{Actor, Context};
use krarup_dist::etf::Term;
use krarup_dist::{ClusterCalls, HasCluster, SimNetwork, TermMessage};
use krarup_gen::{Down, Pid, Ref, Result, Timestamp};
use krarup_node::Simulation;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What such a scope has heard.
#[derive(Default)]
pub(crate) struct OtpScopeLog {
    /// When it was greeted.
    pub(crate) greetings: Vec<Timestamp>,
    pub(crate) syncs: usize,
    /// How many members of "stock" each known scope has.
    pub(crate) members: BTreeMap<Term, usize>,
}

/// A scope from outside.
pub(crate) struct OtpScopeHandle {
    pub(crate) pid: Pid,
    log: Arc<Mutex<OtpScopeLog>>,
}

impl OtpScopeHandle {
    /// How many members of other nodes it knows of.
    pub(crate) fn members(&self) -> usize {
        self.log.lock().unwrap().members.values().sum()
    }

    pub(crate) fn syncs(&self) -> usize {
        self.log.lock().unwrap().syncs
    }

    /// When it was greeted, in seconds after `start`.
    pub(crate) fn greeted_after(&self, start: Timestamp) -> Vec<u64> {
        let log = self.log.lock().unwrap();
        log.greetings.iter().map(|at| at.since(start).as_secs()).collect()
    }
}

struct OtpScope {
    log: Arc<Mutex<OtpScopeLog>>,
    /// Whether it says anything.
    answers: bool,
    /// Its members of the group "stock".
    stock: Vec<Pid>,
    /// The scopes that it monitors.
    known: BTreeMap<Ref, Term>,
}

/// Starts a scope "pg" with these members of "stock".
pub(crate) fn otp_scope(of: &Member, stock: &[Pid]) -> Result<OtpScopeHandle> {
    started(of, stock, true)
}

/// Starts a process "pg" that answers nothing.
pub(crate) fn silent_scope(of: &Member) -> Result<OtpScopeHandle> {
    started(of, &[], false)
}

fn started(of: &Member, stock: &[Pid], answers: bool) -> Result<OtpScopeHandle> {
    let log = Arc::new(Mutex::new(OtpScopeLog::default()));
    let (told, stock) = (Arc::clone(&log), stock.to_vec());
    let scope = OtpScope { log: told, answers, stock, known: BTreeMap::new() };
    let scope = of.node.spawn(move || scope).name("pg").wait()?;
    Ok(OtpScopeHandle { pid: scope.pid(), log })
}

/// Starts a node without groups, on which such scopes can be started.
pub(crate) fn otp_node(sim: &Simulation, net: &SimNetwork, name: &str) -> Result<Member> {
    let member = Member::start(sim, net, name)?;
    member.cluster.export::<TermMessage>("pg")?;
    Ok(member)
}

impl OtpScope {
    fn send(ctx: &Context<TermMessage>, to: &Term, message: &Term) -> Result {
        // Whoever is gone hears nothing.
        let _ = ctx.cluster()?.send(to, message);
        Ok(())
    }

    fn discovered(&mut self, ctx: &mut Context<TermMessage>, from: &Term) -> Result {
        self.log.lock().unwrap().greetings.push(ctx.now());
        if !self.answers {
            return Ok(());
        }
        let cluster = ctx.cluster()?;
        let term = |pid: Pid| cluster.pid_term(pid).expect("a process of this node");
        let me = term(ctx.pid());
        let stock = Term::list(self.stock.iter().map(|pid| term(*pid)));
        let groups = Term::list([Term::tuple([Term::binary("stock"), stock])]);
        let sync = Term::tuple([Term::atom("sync"), me.clone(), groups]);
        Self::send(ctx, from, &Term::tuple([Term::atom("$gen_cast"), sync]))?;
        if self.meet(ctx, from)? {
            Self::send(ctx, from, &Term::tuple([Term::atom("discover"), me]))?;
        }
        Ok(())
    }

    /// Monitors a scope. Returns false if it does already.
    fn meet(&mut self, ctx: &mut Context<TermMessage>, scope: &Term) -> Result<bool> {
        if self.known.values().any(|known| known == scope) {
            return Ok(false);
        }
        let Some(pid) = ctx.cluster()?.pid(scope) else { return Ok(false) };
        self.known.insert(ctx.monitor(pid), scope.clone());
        self.log.lock().unwrap().members.insert(scope.clone(), 0);
        Ok(true)
    }
}

/// How many members of "stock" a sync announces.
fn stock_of(groups: &Term) -> usize {
    let Term::List(groups) = groups else { return 0 };
    let sizes = groups.iter().map(|pair| match pair {
        Term::Tuple(pair) => match &pair[..] {
            [name, Term::List(pids)] if *name == Term::binary("stock") => pids.len(),
            _ => 0,
        },
        _ => 0,
    });
    sizes.sum()
}

impl Actor for OtpScope {
    type Message = TermMessage;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<TermMessage>,
        message: TermMessage,
    ) -> Result {
        let (TermMessage::Info(Term::Tuple(parts)) | TermMessage::Cast(Term::Tuple(parts))) =
            message
        else {
            return Ok(());
        };
        match &parts[..] {
            [tag, from] if *tag == Term::atom("discover") => self.discovered(ctx, from)?,
            [tag, from, groups] if *tag == Term::atom("sync") => {
                self.meet(ctx, from)?;
                let mut log = self.log.lock().unwrap();
                log.syncs += 1;
                log.members.insert(from.clone(), stock_of(groups));
            }
            // As OTP, it hears joins and leaves of the scopes that it knows. All are of "stock".
            [tag, from, _, _] if *tag == Term::atom("join") => {
                if let Some(count) = self.log.lock().unwrap().members.get_mut(from) {
                    *count += 1;
                }
            }
            [tag, from, ..] if *tag == Term::atom("leave") => {
                if let Some(count) = self.log.lock().unwrap().members.get_mut(from) {
                    *count -= 1;
                }
            }
            _ => {}
        }
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<TermMessage>, down: Down) -> Result {
        if let Some(scope) = self.known.remove(&down.monitor) {
            self.log.lock().unwrap().members.remove(&scope);
        }
        Ok(())
    }
}
