//! Processes that this node spawns on real nodes of Erlang/OTP.

use crate::support::Member;
use crate::support::otp::{COOKIE, Otp, fresh};
use crate::support::raw::{LONG, until};
use crate::support::served::table;
use krarup_act::{Actor, Context, Recipient, Reply};
use krarup_dist::etf::Term;
use krarup_dist::{ClusterCalls, RemoteSpawnError};
use krarup_gen::{Exit, Pid, Reason, Result, SendError};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Spawns linked processes on a node, and records what it is told.
struct Spawner {
    on: String,
    heard: Arc<Mutex<Vec<String>>>,
}

#[derive(Serialize, Deserialize)]
enum Spawning {
    /// Spawns a process that sends a term here, and is ended.
    Send(Reply<Pid>),
    /// Spawns one that ends with this reason.
    Exit(String, Reply<Pid>),
    /// Spawns one that sleeps.
    Sleep(Reply<Pid>),
    Sent(i64),
    End,
}

impl Spawner {
    fn heard(&self, what: String) {
        self.heard.lock().unwrap().push(what);
    }
}

impl Actor for Spawner {
    type Message = Spawning;

    async fn init(&mut self, ctx: &mut Context<Spawning>) -> Result {
        ctx.trap_exits(true);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Spawning>, what: Spawning) -> Result {
        let on = self.on.as_str();
        let (spawned, reply) = match what {
            Spawning::Send(reply) => {
                let message = Term::tuple([Term::atom("Sent"), Term::Int(7)]);
                let spawn = ctx.remote_spawn::<Term>(on, "erlang", "send", (ctx.pid(), message));
                (spawn.link().timeout(LONG).await?, reply)
            }
            Spawning::Exit(reason, reply) => {
                let spawn = ctx.remote_spawn::<Term>(on, "erlang", "exit", (reason,));
                (spawn.link().timeout(LONG).await?, reply)
            }
            Spawning::Sleep(reply) => {
                let spawn = ctx.remote_spawn::<Term>(on, "timer", "sleep", (600_000,));
                (spawn.link().timeout(LONG).await?, reply)
            }
            Spawning::Sent(number) => {
                self.heard(format!("sent {number}"));
                return Ok(());
            }
            // A normal end would end no process of OTP.
            Spawning::End => return Err(Reason::error("over")),
        };
        reply.send(spawned.pid());
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Context<Spawning>, exit: Exit) -> Result {
        self.heard(format!("{}: {}", exit.pid, exit.reason));
        Ok(())
    }
}

#[test]
fn zcall15_processes_of_otp_are_spawned_and_linked_in_one_step() {
    let Some(otp) = Otp::idle("spawned") else { return };
    let member =
        Member::with(&fresh("spawner"), COOKIE, |cluster| cluster.epmd().carries::<Spawning>());
    let on = otp.name.clone();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    let spawner = {
        let on = on.clone();
        member.node.spawn(move || Spawner { on, heard: told }).wait().unwrap()
    };
    let expect = |what: String| until(&what, || heard.lock().unwrap().contains(&what));
    // The end of the process comes behind what it has sent, and its link was there before both.
    let sent = spawner.call(Spawning::Send).timeout(LONG).wait().unwrap();
    expect("sent 7".to_owned());
    expect(format!("{sent}: normal"));
    for _ in 0..50 {
        let bye = |reply| Spawning::Exit("bye".to_owned(), reply);
        let ended = spawner.call(bye).timeout(LONG).wait().unwrap();
        expect(format!("{ended}: <<\"bye\">>"));
    }
    // One that is not there begins, and ends at once.
    let cluster = &member.cluster;
    let undefined: Recipient<Term> =
        cluster.remote_spawn(&on, "no_such", "thing", (1,)).timeout(LONG).wait().unwrap();
    assert_ne!(undefined.pid(), sent);
    // The process ends with its spawner, and others do not.
    let alive = |pid: Pid| cluster.rpc::<bool>(&on, "erlang", "is_process_alive", (pid,)).wait();
    let other = cluster.remote_spawn::<Term>(&on, "timer", "sleep", (600_000,)).wait().unwrap();
    let sleeps = spawner.call(Spawning::Sleep).timeout(LONG).wait().unwrap();
    assert_eq!((alive(sleeps), alive(other.pid())), (Ok(true), Ok(true)));
    spawner.send(Spawning::End).map_err(SendError::without_message).unwrap();
    until("it has ended", || alive(sleeps) == Ok(false));
    assert_eq!(alive(other.pid()), Ok(true));
    assert_eq!(table(&member, "rpcs"), 0);
    // A time that is too short leaves nothing here.
    let none = cluster.remote_spawn::<Term>(&on, "timer", "sleep", (1,)).timeout(Duration::ZERO);
    let none = none.wait();
    assert!(matches!(none, Err(RemoteSpawnError::Timeout { .. })), "{none:?}");
    until("it was answered", || table(&member, "rpcs") == 0);
}
