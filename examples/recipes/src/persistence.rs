//! Persistence behind an actor: accounts in `SQLite`, with the connection on a thread of its own, and with the
//! connection lent to a side thread for each request. Then each is made to fail in the middle of a transaction.
//!
//! ```sh
//! cargo run --package recipes --bin persistence
//! ```

use krarup::behavior::made_by;
use krarup::dispatcher::DispatcherOptions;
use krarup::prelude::*;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Opens the file. A start that fails here is tried again by the supervisor, after its back-off.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open(path)?;
    // Another connection may still hold the lock: work that a kill has left behind.
    db.busy_timeout(Duration::from_secs(5))?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.execute_batch(
        "CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY, cents INTEGER NOT NULL);
         CREATE TABLE IF NOT EXISTS done (request INTEGER PRIMARY KEY);
         INSERT OR IGNORE INTO account VALUES ('ann', 100), ('bob', 100);",
    )?;
    Ok(db)
}

/// What happens between the two halves of a transfer.
type Between = Box<dyn FnOnce() + Send>;

/// A transfer of 30 from Ann to Bob. The number makes it safe to ask again: it is done once.
fn transfer(db: &mut Connection, request: i64, between: Between) -> rusqlite::Result<bool> {
    // Dropped without a commit, also by a panic, it is rolled back.
    let change = Transaction::new(db, TransactionBehavior::Immediate)?;
    let new = change.execute("INSERT OR IGNORE INTO done VALUES (?1)", params![request])? == 1;
    if new {
        change.execute("UPDATE account SET cents = cents - 30 WHERE name = 'ann'", [])?;
        between();
        change.execute("UPDATE account SET cents = cents + 30 WHERE name = 'bob'", [])?;
    }
    change.commit()?;
    Ok(new)
}

fn balances(db: &Connection) -> rusqlite::Result<String> {
    db.query_row(
        "SELECT group_concat(name || ' ' || cents, ', ') FROM (SELECT * FROM account ORDER BY name)",
        [],
        |row| row.get(0),
    )
}

enum Bank {
    /// Whether it was done now, and not before.
    Transfer {
        request: i64,
        between: Between,
        reply: Reply<bool>,
    },
    Balances(Reply<String>),
}

/// 1. The process has a thread of its own, so it may block: it calls `SQLite` as any program does.
struct Pinned {
    db: Connection,
}

impl Actor for Pinned {
    type Message = Bank;

    async fn handle_message(&mut self, _: &mut Context<Bank>, message: Bank) -> Result {
        match message {
            Bank::Transfer { request, between, reply } => {
                reply.send(transfer(&mut self.db, request, between)?);
            }
            Bank::Balances(reply) => reply.send(balances(&self.db)?),
        }
        Ok(())
    }
}

/// 2. The process shares its thread with others, and lends the connection to a side thread.
struct Lending {
    /// Nothing while it is lent, or when the work has panicked: then this process ends.
    db: Option<Connection>,
}

impl Lending {
    async fn with<T: Send + 'static>(
        &mut self,
        ctx: &mut Context<Bank>,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let Some(mut db) = self.db.take() else {
            return Err(Reason::error("the connection was not given back"));
        };
        let block = ctx.block(move || {
            let outcome = work(&mut db);
            (db, outcome)
        });
        let (db, outcome) = block.await?;
        self.db = Some(db);
        Ok(outcome?)
    }
}

impl Actor for Lending {
    type Message = Bank;

    async fn handle_message(&mut self, ctx: &mut Context<Bank>, message: Bank) -> Result {
        match message {
            Bank::Transfer { request, between, reply } => {
                reply.send(self.with(ctx, move |db| transfer(db, request, between)).await?);
            }
            Bank::Balances(reply) => reply.send(self.with(ctx, |db| balances(db)).await?),
        }
        Ok(())
    }
}

/// Both below one supervisor. The factory opens the file, so a restart opens it again.
fn tree(folder: &Path) -> Supervisor {
    let (first, second) = (folder.join("pinned.db"), folder.join("lending.db"));
    let pinned = move || {
        let path = first.clone();
        made_by(async move { Ok::<_, rusqlite::Error>(Pinned { db: open(&path)? }) })
    };
    let lending = move || {
        let path = second.clone();
        made_by(async move { Ok::<_, rusqlite::Error>(Lending { db: Some(open(&path)?) }) })
    };
    Supervisor::one_for_one()
        .intensity(5, Duration::from_secs(10))
        .child(ChildSpec::worker("pinned", pinned).name("pinned").dispatcher("disk"))
        .child(ChildSpec::worker("lending", lending).name("lending"))
}

/// A transfer, with the same number when it is asked again; what its caller learns of it.
fn ask(node: &Node, name: &str, request: i64, between: Between) -> Result<String> {
    let bank: Address<Bank> = node.lookup(name)?;
    let outcome = bank.call(|reply| Bank::Transfer { request, between, reply }).wait();
    Ok(match outcome {
        Ok(true) => "done".to_owned(),
        Ok(false) => "it was done before".to_owned(),
        Err(CallError::Terminated { .. }) => "unknown: it may have been done".to_owned(),
        Err(error) => format!("failed: {error}"),
    })
}

fn show(node: &Node, name: &str) -> Result {
    // Waits through the restart.
    let bank = node.named_address::<Bank, Bank>(name)?;
    println!("  {}", bank.call(Bank::Balances).wait()?);
    Ok(())
}

fn main() -> Result {
    let folder = std::env::temp_dir().join(format!("krarup-persistence-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    // What a panic prints by itself is not what this program shows.
    std::panic::set_hook(Box::new(|_| {}));
    let builder = Node::builder("bank@localhost").dispatcher("disk", DispatcherOptions::pinned());
    let outcome = builder.run(|node| {
        let files = folder.clone();
        node.spawn(move || tree(&files)).wait()?;
        for name in ["pinned", "lending"] {
            crash(node, name)?;
        }
        kill(node)
    });
    std::fs::remove_dir_all(&folder)?;
    outcome
}

/// A panic in the middle of a transaction: nothing of it is done, and it can be asked again.
fn crash(node: &Node, name: &str) -> Result {
    println!("{name}: a panic in the middle of a transaction");
    let panics = Box::new(|| panic!("in the middle"));
    println!("  the caller: {}", ask(node, name, 1, panics)?);
    show(node, name)?;
    println!("  asked again: {}", ask(node, name, 1, Box::new(|| {}))?);
    show(node, name)?;
    println!("  and again: {}", ask(node, name, 1, Box::new(|| {}))?);
    show(node, name)
}

/// A kill does not reach a side thread: the work is done although nobody waits for it.
fn kill(node: &Node) -> Result {
    println!("lending: a kill in the middle of a transaction");
    let ((begun, has_begun), (go_on, may_go_on)) = (mpsc::channel(), mpsc::channel());
    let between = Box::new(move || {
        let _ = begun.send(());
        let _ = may_go_on.recv();
    });
    let bank: Address<Bank> = node.lookup("lending")?;
    let (victim, caller) = (bank.pid(), node.clone());
    let asking = std::thread::spawn(move || ask(&caller, "lending", 2, between));
    has_begun.recv()?;
    node.kill(victim);
    println!("  the caller: {}", asking.join().map_err(|_| Reason::error("it panicked"))??);
    // The next process opens the file, and waits for the lock of the transaction that goes on.
    go_on.send(()).map_err(|_| Reason::error("nobody works"))?;
    println!("  asked again: {}", again(node)?);
    show(node, "lending")
}

/// Asks the next process, as soon as there is one.
fn again(node: &Node) -> Result<String> {
    let bank = node.named_address::<Bank, Bank>("lending")?.lookup_or_wait().wait()?;
    let outcome =
        bank.call(|reply| Bank::Transfer { request: 2, between: Box::new(|| {}), reply }).wait()?;
    Ok(if outcome { "done" } else { "it was done before" }.to_owned())
}
