//! A true node with a true observer: a small program that has every trouble the page explains.

use krarup_act::{Actor, Address, Context, Pool, PoolCommand, Reply};
use krarup_gen::{Reason, Result};
use krarup_node::Node;
use krarup_observer::{Observer, RunningObserver, Token};
use krarup_supervisor::{ChildSpec, Supervisor};

/// The token of its actions.
pub(crate) const TOKEN: &str = "a-token-of-thirty-two-characters!";

/// The workers of its pool.
const WORKERS: usize = 4;

/// What a clerk does.
pub(crate) enum Task {
    /// Nothing.
    Note,
    /// Keeps the reply, and never answers.
    Hold(Reply<()>),
    /// Waits for an answer of another clerk, and takes nothing meanwhile.
    Ask(Address<Task>),
    /// Calls a clerk that calls back.
    Circle(Address<Task>, Address<Task>),
    /// Calls back.
    Back(Address<Task>, Reply<()>),
    /// Answers how many replies it keeps.
    Held(Reply<usize>),
    /// Ends with an error.
    Fail,
}

/// An actor that does tasks.
#[derive(Default)]
pub(crate) struct Clerk {
    held: Vec<Reply<()>>,
}

impl Actor for Clerk {
    type Message = Task;

    async fn handle_message(&mut self, _: &mut Context<Task>, task: Task) -> Result {
        match task {
            Task::Note => {}
            Task::Hold(reply) => self.held.push(reply),
            // Without a limit: a slow browser may look later than any.
            Task::Ask(other) => drop(other.call(Task::Hold).no_timeout().await),
            Task::Circle(other, own) => {
                drop(other.call(|reply| Task::Back(own, reply)).no_timeout().await);
            }
            Task::Back(other, reply) => {
                drop(other.call(Task::Hold).no_timeout().await);
                reply.send(());
            }
            Task::Held(reply) => reply.send(self.held.len()),
            Task::Fail => return Err(Reason::error("the printer has no paper")),
        }
        Ok(())
    }
}

/// The running program. It stops with its value.
pub(crate) struct Shop {
    pub(crate) node: Node,
    pub(crate) observer: RunningObserver,
}

impl Shop {
    /// Starts supervisors, clerks and a pool of four workers with twenty places each.
    pub(crate) fn open() -> Self {
        let node = Node::start("shop@localhost").expect("a node");
        let shop = || {
            ["stock", "billing", "ledger", "prices"]
                .into_iter()
                .fold(Supervisor::one_for_one(), |shop, name| {
                    shop.child(ChildSpec::worker(name, Clerk::default).name(name))
                })
        };
        node.spawn(shop).name("shop").wait().expect("a supervisor");
        let workers = || Pool::new(WORKERS, Clerk::default).mailbox(20);
        node.spawn(workers).name("workers").wait().expect("a pool");
        let token = Token::new(TOKEN).expect("a token");
        let observer = Observer::new().listen("127.0.0.1:0").action_token(token);
        let observer = observer.start(&node).wait().expect("an observer");
        Shop { node, observer }
    }

    pub(crate) fn url(&self, route: &str) -> String {
        format!("{}/{route}", self.observer.url().trim_end_matches('/'))
    }

    pub(crate) fn clerk(&self, name: &str) -> Address<Task> {
        self.node.lookup(name).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The number of the pid of a name.
    pub(crate) fn id(&self, name: &str) -> u64 {
        let pid = self.node.whereis(name).unwrap_or_else(|| panic!("nobody is called {name}"));
        let text = pid.to_string();
        text.split('.').nth(1).and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("{text}"))
    }

    /// `stock` waits for `ledger`, which does not answer; its mailbox gets so many messages.
    pub(crate) fn block_stock(&self, messages: usize) {
        let ledger = self.clerk("ledger");
        let before = held(&ledger);
        self.clerk("stock").send(Task::Ask(ledger.clone())).expect("stock takes it");
        while held(&ledger) == before {}
        for _ in 0..messages {
            self.clerk("stock").send(Task::Note).expect("stock takes it");
        }
    }

    /// Fills every place of the pool: each worker waits for `ledger`.
    pub(crate) fn fill_pool(&self) {
        let pool: Address<Task, PoolCommand> = self.node.lookup("workers").expect("the pool");
        let ledger = self.clerk("ledger");
        let before = held(&ledger);
        for _ in 0..WORKERS {
            pool.send(Task::Ask(ledger.clone())).expect("the pool has room");
        }
        // What is sent after that stays in the queues.
        while held(&ledger) < before + WORKERS {}
        while pool.send(Task::Ask(ledger.clone())).is_ok() {}
    }

    /// `billing` and `prices` call each other.
    pub(crate) fn deadlock(&self) {
        let (one, other) = (self.clerk("billing"), self.clerk("prices"));
        one.send(Task::Circle(other, one.clone())).expect("billing takes it");
    }
}

/// How many replies a clerk keeps.
fn held(clerk: &Address<Task>) -> usize {
    clerk.call(Task::Held).wait().expect("the clerk answers")
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.node.stop().wait().expect("the node stops");
    }
}
