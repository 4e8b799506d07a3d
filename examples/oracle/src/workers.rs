//! The processes of a scenario's tree.

use crate::record::{Handle, InstanceKey, Order, Record, Recordable, Recorded, What};
use crate::scenario::Declaration;
use crate::terms;
use krarup::behavior::Behavior;
use krarup::supervisor::{
    AutoShutdown, ChildSpec, ChildTemplate, Ignore, RestartType, Shutdown, Supervisor,
};
use krarup::{
    Actor, AddressOf, Context, Event, Exit, First, Machine, Next, Reason, Result, StateMachine,
};
use std::sync::Arc;
use std::time::Duration;

/// The nodes of a tree, and the record of its processes.
#[derive(Clone)]
pub(crate) struct Tree {
    pub(crate) nodes: Arc<Vec<Declaration>>,
    pub(crate) record: Record,
    /// Whether the workers are state machines.
    pub(crate) machines: bool,
}

/// A worker of one of the kinds `plain`, `trap`, `badterm`, `hang`.
pub(crate) struct Worker {
    record: Record,
    key: InstanceKey,
    kind: String,
    /// Whether the worker ended itself, without being told to by its supervisor.
    by_itself: bool,
}

impl Actor for Worker {
    type Message = Order;

    async fn init(&mut self, ctx: &mut Context<Order>) -> Result {
        ctx.trap_exits(self.kind != "plain");
        let outcome = self.record.next_outcome(self.key);
        self.record.note(What::Init, self.key, outcome.text.clone());
        self.record.state().instances[self.key.0].starts_well = outcome.text == "ok";
        if outcome.gated {
            self.record.pass_gate().await;
        }
        if outcome.text == "ignore" {
            return Err(Ignore::reason());
        }
        if let Some(reason) = outcome.argument("stop") {
            return Err(terms::reason(reason));
        }
        if let Some(message) = outcome.argument("crash") {
            std::panic::panic_any(message.to_owned());
        }
        Ok(())
    }

    async fn handle_message(&mut self, _ctx: &mut Context<Order>, order: Order) -> Result {
        self.by_itself = true;
        match order {
            Order::Stop(reason) => Err(reason),
            Order::Crash(message) => std::panic::panic_any(message),
        }
    }

    async fn handle_exit(&mut self, _ctx: &mut Context<Order>, exit: Exit) -> Result {
        self.record.note(What::Info, self.key, format!("exit({})", terms::word(&exit.reason)));
        Ok(())
    }

    async fn terminate(&mut self, _ctx: &mut Context<Order>, reason: &Reason) {
        // The intended difference: here a process that does not trap exits also runs
        // `terminate` when its supervisor asks it to end; in OTP it ends without it.
        if self.kind != "plain" || self.by_itself {
            self.record.note(What::Term, self.key, terms::word(reason));
        }
        self.record.state().instances[self.key.0].terminating = true;
        if self.kind == "hang" && *reason == Reason::Shutdown {
            std::future::pending::<()>().await;
        }
    }
}

/// A worker as an actor, or as a state machine (rule F17).
pub(crate) struct WorkerProcess {
    worker: Worker,
    is_machine: bool,
}

impl Behavior for WorkerProcess {
    type Message = Order;
    type Command = Order;

    async fn run(self, ctx: Context<Order>) -> Result {
        if self.is_machine {
            Machine::new(AsMachine(self.worker)).run(ctx).await
        } else {
            self.worker.run(ctx).await
        }
    }
}

impl Recordable for WorkerProcess {
    fn handle(address: AddressOf<Self>) -> Handle {
        Handle::Worker(address)
    }
}

/// An actor as a state machine with one state.
struct AsMachine(Worker);

impl StateMachine for AsMachine {
    type State = ();
    type Message = Order;
    type Internal = ();
    type Timer = ();

    async fn init(&mut self, ctx: &mut Context<Order>) -> Result<First<Self>> {
        Actor::init(&mut self.0, ctx).await?;
        Ok(First::state(()))
    }

    async fn handle_event(
        &mut self,
        ctx: &mut Context<Order>,
        (): (),
        event: Event<Self>,
    ) -> Result<Next<Self>> {
        match event {
            Event::Message(order) => self.0.handle_message(ctx, order).await?,
            Event::Exit(exit) => self.0.handle_exit(ctx, *exit).await?,
            Event::Down(down) => self.0.handle_down(ctx, *down).await?,
            _ => {}
        }
        Ok(Next::keep())
    }

    async fn terminate(&mut self, ctx: &mut Context<Order>, (): (), reason: &Reason) {
        Actor::terminate(&mut self.0, ctx, reason).await;
    }
}

/// A worker whose terminate callback ends it with its own reason.
pub(crate) struct BadTerm(WorkerProcess);

impl Behavior for BadTerm {
    type Message = Order;
    type Command = Order;

    async fn run(self, ctx: Context<Order>) -> Result {
        let (record, key) = (self.0.worker.record.clone(), self.0.worker.key);
        let result = self.0.run(ctx).await;
        let terminated = record.state().instances[key.0].terminating;
        if terminated { Err(terms::reason("badterm")) } else { result }
    }
}

impl Recordable for BadTerm {
    fn handle(address: AddressOf<Self>) -> Handle {
        Handle::Worker(address)
    }
}

impl Tree {
    pub(crate) fn node(&self, id: &str) -> &Declaration {
        let found = self.nodes.iter().find(|node| node.id == id);
        found.unwrap_or_else(|| panic!("the scenario declares no {id}"))
    }

    fn below(&self, id: &str) -> impl Iterator<Item = &Declaration> {
        self.nodes.iter().filter(move |node| node.parent == id)
    }

    fn worker(&self, id: &str, kind: &str) -> Recorded<WorkerProcess> {
        let key = self.record.born(id);
        let record = self.record.clone();
        let worker = Worker { record, key, kind: kind.to_owned(), by_itself: false };
        let inner = WorkerProcess { worker, is_machine: self.machines };
        Recorded { inner, record: self.record.clone(), key }
    }

    fn bad_term(&self, id: &str) -> Recorded<BadTerm> {
        let Recorded { inner, record, key } = self.worker(id, "badterm");
        Recorded { inner: BadTerm(inner), record, key }
    }

    /// Returns the supervisor of this node, with the children declared below it.
    pub(crate) fn supervisor(&self, id: &str) -> Recorded<Supervisor> {
        let node = self.node(id);
        let empty = match node.setting("strategy") {
            "one_for_all" => Supervisor::one_for_all(),
            "rest_for_one" => Supervisor::rest_for_one(),
            _ => Supervisor::one_for_one(),
        };
        let auto_shutdown = match node.setting("auto") {
            "any" => AutoShutdown::AnySignificant,
            "all" => AutoShutdown::AllSignificant,
            _ => AutoShutdown::Never,
        };
        let empty = empty.intensity(node.intensity(), node.period()).auto_shutdown(auto_shutdown);
        let inner = self.below(id).fold(empty, |all, child| all.child(self.spec(child)));
        let (record, key) = (self.record.clone(), self.record.born(id));
        Recorded { inner, record, key }
    }

    /// The same for `simple_one_for_one`.
    pub(crate) fn simple_supervisor(&self, id: &str) -> Recorded<Supervisor<()>> {
        let node = self.node(id);
        let template = self.below(id).next().expect("a template").clone();
        let (tree, child, kind) =
            (self.clone(), template.id.clone(), template.setting("kind").to_owned());
        let base = if kind == "badterm" {
            ChildTemplate::worker(template.id.as_str(), move |()| tree.bad_term(&child))
        } else {
            ChildTemplate::worker(template.id.as_str(), move |()| tree.worker(&child, &kind))
        };
        let base = base
            .restart(restart(&template))
            .shutdown(shutdown(&template))
            .significant(is_significant(&template));
        let inner = Supervisor::simple_one_for_one(base).intensity(node.intensity(), node.period());
        let (record, key) = (self.record.clone(), self.record.born(id));
        Recorded { inner, record, key }
    }

    /// Returns the child specification of a node.
    pub(crate) fn spec(&self, node: &Declaration) -> ChildSpec {
        let (tree, id, kind) = (self.clone(), node.id.clone(), node.setting("kind").to_owned());
        let base = match (node.is_supervisor, node.is_simple()) {
            (true, true) => {
                ChildSpec::supervisor(node.id.as_str(), move || tree.simple_supervisor(&id))
            }
            (true, false) => ChildSpec::supervisor(node.id.as_str(), move || tree.supervisor(&id)),
            _ if kind == "badterm" => {
                ChildSpec::worker(node.id.as_str(), move || tree.bad_term(&id))
            }
            _ => ChildSpec::worker(node.id.as_str(), move || tree.worker(&id, &kind)),
        };
        base.restart(restart(node)).shutdown(shutdown(node)).significant(is_significant(node))
    }
}

fn restart(node: &Declaration) -> RestartType {
    match node.setting("restart") {
        "transient" => RestartType::Transient,
        "temporary" => RestartType::Temporary,
        _ => RestartType::Permanent,
    }
}

fn shutdown(node: &Declaration) -> Shutdown {
    match node.setting("shutdown") {
        "brutal" => Shutdown::BrutalKill,
        "infinity" => Shutdown::Infinity,
        millis => Shutdown::Timeout(Duration::from_millis(millis.parse().unwrap_or(5000))),
    }
}

fn is_significant(node: &Declaration) -> bool {
    node.setting("significant") == "yes"
}
