//! 4. A pool: workers behind one address, and a limit on the requests that wait.
//!
//! Two workers serve at once, and three requests may wait at each. The next request is
//! refused at once, at the sender: an HTTP server would answer with 503. No queue grows
//! without bound, and no sender waits for a request that would not be served in time.
//!
//! ```sh
//! cargo run --release --example 04_pool_backpressure
//! ```

use krarup::prelude::*;

/// A database that answers no query until it gets `Resume`.
#[derive(Default)]
struct Database {
    waiting: Vec<Reply<()>>,
    running: bool,
    answered: usize,
    /// A reply to send once this many queries wait.
    watcher: Option<(usize, Reply<()>)>,
}

enum Query {
    Run(Reply<()>),
    Resume,
    /// Answered when this many queries wait.
    AwaitQueries(usize, Reply<()>),
}

impl Actor for Database {
    type Message = Query;

    async fn handle_message(&mut self, _: &mut Context<Query>, query: Query) -> Result {
        match query {
            // A reply token is a value: it can be kept and answered later.
            Query::Run(reply) => self.waiting.push(reply),
            Query::Resume => self.running = true,
            Query::AwaitQueries(count, reply) => self.watcher = Some((count, reply)),
        }
        if self.running {
            self.answered += self.waiting.len();
            self.waiting.drain(..).for_each(|reply| reply.send(()));
        }
        if let Some((_, reply)) = self.watcher.take_if(|(n, _)| *n <= self.waiting.len()) {
            reply.send(());
        }
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("answered", self.answered)
    }
}

/// A worker: handles one request at a time, and each needs the database.
struct Worker {
    database: Address<Query>,
}

struct Request(u32);

impl Actor for Worker {
    type Message = Request;

    async fn handle_message(&mut self, _: &mut Context<Request>, _: Request) -> Result {
        // The process waits here. Its thread does not: it runs other processes.
        self.database.call(Query::Run).no_timeout().await?;
        Ok(())
    }
}

fn main() -> Result {
    let node = Node::start("tour@localhost")?;
    let database = node.spawn(Database::default).name("database").wait()?;
    let backend = database.clone();
    let worker = move || Worker { database: backend.clone() };
    let pool = node.spawn(|| Pool::new(2, worker).mailbox(3)).name("requests").wait()?;

    // The database does not answer, so two requests keep both workers busy ..
    pool.send(Request(1))?;
    pool.send(Request(2))?;
    database.call(|reply| Query::AwaitQueries(2, reply)).wait()?;
    // .. and more requests are sent until one is refused.
    let refused = (3..).find_map(|n| pool.send(Request(n)).err());
    if let Some(SendError::Full { message: Request(n), .. }) = refused {
        println!("2 requests in progress, 2 x 3 waiting: request {n} is refused at once");
    }
    println!("pool: {}", pool.inspect().wait()?);

    database.send(Query::Resume)?;
    // Ends the pool when it has served every request that it accepted.
    let end = pool.watch();
    pool.finish();
    end.wait()?;
    println!("the pool has served all accepted requests; database: {}", database.inspect().wait()?);

    node.stop().wait()
}
