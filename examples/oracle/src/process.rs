//! Replays a process scenario in the simulation: links, monitors, exit signals, names.
//!
//! A process of a scenario is a bare behaviour that follows its instructions and records
//! the messages that it gets. It performs the acts of a step in a single turn. After each
//! act it lets the runtime check the process, so that an act that ends it is its last, and
//! no other process runs meanwhile.

use crate::scenario::Scenario;
use crate::terms;
use krarup::behavior::{Behavior, Received};
use krarup::testing::Simulation;
use krarup::{Address, Context, Down, Name, Pid, Reason, Ref, Result, Watch};
use std::collections::{BTreeMap, HashMap};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Returns the lines of the scenario, input and expectations, as they come out here.
pub(crate) fn replay(scenario: &Scenario, sim: Simulation) -> Vec<String> {
    let stage = Stage { sim, record: Record::default() };
    let mut lines = Vec::new();
    for line in scenario.lines.iter().filter(|line| !line.starts_with("= ")) {
        lines.push(line.clone());
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "proc" => stage.spawn(words[1], words.get(2) == Some(&"trap")),
            "step" => lines.extend(stage.step(&words[1..]).into_iter().map(|l| format!("= {l}"))),
            _ => {}
        }
    }
    lines
}

/// The messages of a process of a scenario.
enum Item {
    Acts(Vec<String>),
    Word(String, String),
}

/// The state of a process of a scenario.
struct Known {
    address: Address<Item>,
    end: Watch,
    is_dead: bool,
}

#[derive(Default)]
struct RecordedProcesses {
    processes: BTreeMap<String, Known>,
    /// The receiver, the sender and the text of each message, in the order of arrival.
    mail: Vec<(String, String, String)>,
    results: Vec<String>,
}

#[derive(Clone, Default)]
struct Record(Arc<Mutex<RecordedProcesses>>);

impl Record {
    fn state(&self) -> MutexGuard<'_, RecordedProcesses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn name_of(&self, pid: Pid) -> String {
        let state = self.state();
        let found = state.processes.iter().find(|(_, known)| known.address.pid() == pid);
        // A pid that is not in the scenario is the driver.
        found.map_or_else(|| "driver".to_owned(), |(name, _)| name.clone())
    }

    fn pid_of(&self, name: &str) -> Pid {
        self.state().processes[name].address.pid()
    }

    fn born(&self, name: &str, address: Address<Item>) {
        let end = address.watch();
        let known = Known { address, end, is_dead: false };
        self.state().processes.insert(name.to_owned(), known);
    }
}

fn poll_once(end: &mut Watch) -> Option<Reason> {
    let mut cx = std::task::Context::from_waker(Waker::noop());
    match Pin::new(end).poll(&mut cx) {
        Poll::Ready(down) => Some(down.reason),
        Poll::Pending => None,
    }
}

struct Stage {
    sim: Simulation,
    record: Record,
}

impl Stage {
    fn spawn(&self, name: &str, trap: bool) {
        let puppet = Puppet::new(name, trap, &self.record);
        let address = self.sim.spawn(|| puppet).wait().expect("a simulation that runs");
        self.record.born(name, address);
    }

    fn step(&self, words: &[&str]) -> Vec<String> {
        {
            let mut state = self.record.state();
            state.mail.clear();
            state.results.clear();
        }
        if words[0] == "driver" {
            let pid = self.record.pid_of(words[2]);
            match words[1] {
                "exit" => self.sim.exit(pid, terms::reason(words[3])),
                _ => self.tell(words[2], Item::Word("driver".to_owned(), words[3].to_owned())),
            }
        } else {
            if self.record.state().processes[words[0]].is_dead {
                return vec!["skip".to_owned()];
            }
            let acts = words[1..].join(" ").split(" ; ").map(str::to_owned).collect();
            self.tell(words[0], Item::Acts(acts));
        }
        self.sim.run_until_idle();

        let mut state = self.record.state();
        let RecordedProcesses { processes, mail, results } = &mut *state;
        let mut lines = Vec::new();
        for (name, known) in processes.iter_mut().filter(|(_, known)| !known.is_dead) {
            if let Some(reason) = poll_once(&mut known.end) {
                known.is_dead = true;
                lines.push(format!("dead {name} {}", terms::word(&reason)));
            }
        }
        let is_dead = |name: &str| processes.get(name).is_some_and(|known| known.is_dead);
        if !is_dead(words[0]) {
            lines.splice(0..0, results.iter().map(|result| format!("ret {result}")));
        }
        let mut sorted: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for (to, from, item) in mail.iter().filter(|(to, ..)| !is_dead(to)) {
            sorted.entry((to, from)).or_default().push(item);
        }
        for ((to, from), items) in sorted {
            // A signal and the notices of one exit have no defined order.
            let (mut downs, mut items): (Vec<&str>, Vec<&str>) =
                items.into_iter().partition(|item| item.starts_with("down("));
            downs.sort_unstable();
            items.append(&mut downs);
            lines.push(format!("mail {to} {from} {}", items.join(" ")));
        }
        lines
    }

    fn tell(&self, name: &str, item: Item) {
        let address = self.record.state().processes[name].address.clone();
        // A send to a process that has ended fails, and that is ignored.
        let _ = address.send(item);
    }
}

/// A process of a scenario.
struct Puppet {
    name: String,
    trap: bool,
    record: Record,
    monitors: HashMap<String, Ref>,
}

impl Behavior for Puppet {
    type Message = Item;
    type Command = Item;

    async fn run(mut self, mut ctx: Context<Item>) -> Result {
        ctx.trap_exits(self.trap);
        loop {
            let received = ctx.receive().await;
            if let Some(acts) = self.take_in(received) {
                for act in acts {
                    let words: Vec<&str> = act.split(' ').collect();
                    self.act(&mut ctx, &words).await?;
                    breathe().await;
                }
            }
        }
    }
}

/// Lets the runtime check whether this process has to end. The process is woken at once,
/// and continues in the same turn.
async fn breathe() {
    let mut has_breathed = false;
    poll_fn(|cx| {
        if has_breathed {
            return Poll::Ready(());
        }
        has_breathed = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl Puppet {
    fn new(name: &str, trap: bool, record: &Record) -> Self {
        let (name, record) = (name.to_owned(), record.clone());
        Puppet { name, trap, record, monitors: HashMap::new() }
    }

    /// Records a message. Returns the acts if the message holds acts.
    fn take_in(&mut self, received: Received<Item>) -> Option<Vec<String>> {
        let (sender, item) = match received {
            Received::Message(Item::Acts(acts)) => return Some(acts),
            Received::Message(Item::Word(sender, word)) => (sender, format!("msg({word})")),
            Received::Exit(exit) => {
                (self.record.name_of(exit.pid), format!("exit({})", terms::word(&exit.reason)))
            }
            Received::Down(down) => self.down(&down),
            _ => return None,
        };
        self.record.state().mail.push((self.name.clone(), sender, item));
        None
    }

    fn down(&mut self, down: &Down) -> (String, String) {
        let label = self.monitors.iter().find(|(_, monitor)| **monitor == down.monitor);
        let label = label.map_or("?", |(label, _)| label);
        let sender = match &down.target {
            krarup::Target::Name(name, _) => format!("name:{name}"),
            _ => down.pid().map_or("?".to_owned(), |pid| self.record.name_of(pid)),
        };
        (sender, format!("down({label},{})", terms::word(&down.reason)))
    }

    /// Records the messages that have arrived. Erlang's unlink and demonitor leave a
    /// notice in the mailbox unless they are called with the option to flush it; here they
    /// always discard it.
    async fn look_into_mailbox(&mut self, ctx: &mut Context<Item>) {
        loop {
            let arrived = {
                let mut receive = pin!(ctx.receive());
                poll_fn(|cx| match receive.as_mut().poll(cx) {
                    Poll::Ready(item) => Poll::Ready(Some(item)),
                    Poll::Pending => Poll::Ready(None),
                })
                .await
            };
            match arrived {
                Some(item) => drop(self.take_in(item)),
                None => return,
            }
        }
    }

    async fn act(&mut self, ctx: &mut Context<Item>, words: &[&str]) -> Result {
        let argument = |at: usize| words.get(at).copied().unwrap_or_default();
        let peer = || self.record.pid_of(argument(1));
        match words[0] {
            "link" => ctx.link(peer()),
            "unlink" | "unlink_flush" => {
                let peer = peer();
                self.look_into_mailbox(ctx).await;
                ctx.unlink(peer);
                if words[0] == "unlink_flush" {
                    self.throw_away(|sender, item| {
                        sender == argument(1) && item.starts_with("exit(")
                    });
                }
            }
            "monitor" => {
                let monitor = ctx.monitor(peer());
                self.monitors.insert(argument(2).to_owned(), monitor);
            }
            "monitor_name" => {
                let monitor = ctx.monitor(Name::new(argument(1))?);
                self.monitors.insert(argument(2).to_owned(), monitor);
            }
            "demonitor" | "demonitor_flush" => {
                self.look_into_mailbox(ctx).await;
                if let Some(monitor) = self.monitors.remove(argument(1)) {
                    ctx.demonitor(monitor);
                }
                if words[0] == "demonitor_flush" {
                    let down = format!("down({},", argument(1));
                    self.throw_away(|_, item| item.starts_with(&down));
                }
            }
            "send" => {
                let address = self.record.state().processes[argument(1)].address.clone();
                let _ = address.send(Item::Word(self.name.clone(), argument(2).to_owned()));
            }
            "exit" => ctx.exit(peer(), terms::reason(argument(2))),
            "die" => return Err(terms::reason(argument(1))),
            "crash" => std::panic::panic_any(argument(1).to_owned()),
            "return" => return Err(Reason::Normal),
            "trap" => ctx.trap_exits(argument(1) == "on"),
            "spawn" => self.spawn(ctx, argument(1), &words[2..]).await,
            "register" => {
                let registered = ctx.register(argument(1)).is_ok();
                self.result(if registered { "ok" } else { "badarg" });
            }
            "unregister" => {
                let was_taken = ctx.unregister(argument(1)).is_some();
                self.result(if was_taken { "ok" } else { "badarg" });
            }
            "whereis" => {
                let found = ctx.whereis(argument(1));
                self.result(&found.map_or("undefined".to_owned(), |pid| self.record.name_of(pid)));
            }
            other => self.result(&format!("unknown act {other}")),
        }
        Ok(())
    }

    /// Discards one matching message of those that arrived in this step.
    fn throw_away(&self, is_it: impl Fn(&str, &str) -> bool) {
        let mail = &mut self.record.state().mail;
        let found = mail.iter().position(|(to, from, item)| *to == self.name && is_it(from, item));
        if let Some(at) = found {
            mail.remove(at);
        }
    }

    async fn spawn(&mut self, ctx: &mut Context<Item>, name: &str, options: &[&str]) {
        let puppet = Puppet::new(name, options.contains(&"trap"), &self.record);
        let mut spawn = ctx.spawn(|| puppet);
        if options.contains(&"link") {
            spawn = spawn.link();
        }
        if let Some(label) = options.iter().find_map(|option| option.strip_prefix("monitor=")) {
            let monitor = ctx.make_ref();
            self.monitors.insert(label.to_owned(), monitor);
            spawn = spawn.monitor(monitor);
        }
        // Awaits the start, so that the process already traps exits if it is to.
        let address = spawn.await.expect("a simulation that runs");
        self.record.born(name, address);
    }

    fn result(&self, text: &str) {
        self.record.state().results.push(text.to_owned());
    }
}
