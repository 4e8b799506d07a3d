//! Rows for a database that wants hundreds at once: batches by table, which go when they are full or
//! some time after their first row. The sink is slow, so its senders wait; a batch that fails fails
//! its own rows and no others; a drain waits for the rest. In virtual time, so it ends at once.
//!
//! ```sh
//! cargo run --example 23_batches
//! ```

use krarup::batches::{Batcher, BatcherCalls};
use krarup::prelude::*;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

struct Row {
    table: &'static str,
    number: u32,
}

async fn insert(rows: Vec<Row>) -> Result {
    println!("{:>3} rows into {}", rows.len(), rows[0].table);
    if rows.iter().any(|row| row.number == 13) {
        return Err(Reason::error("the table has no place 13"));
    }
    Ok(())
}

fn main() -> Result {
    let node = Simulation::new(1);
    let sink = || Batcher::new(insert).size(100).after(200 * MS).by(|row| row.table).at_once(4);
    let sink = node.spawn(sink).mailbox(300).wait()?;

    // A source that does not wait for answers. It waits while 300 rows are in the batcher.
    let rows = sink.clone();
    let source = node.task(async move {
        for number in 100..1050 {
            let table = if number % 3 == 0 { "users" } else { "logs" };
            rows.send_or_wait(Row { table, number }.into())
                .await
                .map_err(SendError::without_message)?;
        }
        Result::<(), Reason>::Ok(())
    });
    source.wait()??;

    // One that wants to know what became of its rows.
    for number in [12, 13] {
        let row = |done| (Row { table: "places", number }, done).into();
        println!("row {number}: {:?}", sink.call(row).wait().map_err(|error| error.to_string()));
    }

    sink.drain().wait()?;
    println!("drained after {}, {} rows left", node.now(), sink.waiting());
    node.stop().wait()
}
