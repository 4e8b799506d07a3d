//! 6. Overload: a bounded mailbox, and the policies for a message that finds it full.
//!
//! A printer queues three jobs. It is suspended while five jobs arrive. The mailbox can
//! refuse the jobs, drop old or new ones, divert them to another printer, or make the
//! senders wait. The policy is one line for each process.
//!
//! ```sh
//! cargo run --release --example 06_overload
//! ```

use krarup::mailbox::{Diverted, Overflow, Permit};
use krarup::prelude::*;
use std::thread;
use std::time::Duration;

#[derive(Debug)]
struct Job(u32);

/// The message for the spare printer: the job, and the tag that names the full mailbox.
impl From<Diverted<Job>> for Job {
    fn from(diverted: Diverted<Job>) -> Self {
        println!("  job {} is diverted, tagged {:?}", diverted.message.0, diverted.tag);
        diverted.message
    }
}

struct Printer {
    name: &'static str,
    /// How many jobs fit on one sheet.
    fit: usize,
    sheets: Vec<Vec<u32>>,
}

impl Printer {
    fn new(name: &'static str, fit: usize) -> Self {
        Printer { name, fit, sheets: Vec::new() }
    }
}

impl Actor for Printer {
    type Message = Job;

    async fn handle_message(&mut self, ctx: &mut Context<Job>, first: Job) -> Result {
        let mut sheet = vec![first.0];
        // Jobs that are already in the mailbox go on the same sheet. This does not wait
        // for more.
        sheet.extend(ctx.take_batch(self.fit - 1).into_iter().map(|job| job.0));
        self.sheets.push(sheet);
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<Job>, _: &Reason) {
        println!("  {} has printed {:?}", self.name, self.sheets);
    }
}

/// Sends five jobs to a suspended printer whose mailbox holds three.
fn rush(printer: &Address<Job>) -> Result {
    // A suspended process handles nothing until it is resumed; its messages wait.
    printer.suspend().wait()?;
    for n in 1..=5 {
        if let Err(SendError::Full { message: job, .. }) = printer.send(Job(n)) {
            println!("  job {} is refused and returned to its sender", job.0);
        }
    }
    printer.resume();
    Ok(())
}

/// Ends a printer when it has handled every job that it accepted.
fn finish(printer: &Address<Job>) -> Result {
    let end = printer.watch();
    printer.finish();
    end.wait()?;
    Ok(())
}

fn main() -> Result {
    let node = Node::start("tour@localhost")?;
    let printer = |name| node.spawn(move || Printer::new(name, 1)).mailbox(3);

    println!("Refuse (the default): the sender gets an error at once.");
    let refuses = printer("the printer").wait()?;
    rush(&refuses)?;
    finish(&refuses)?;

    println!("Drop the oldest message: for data of which the newest matters most.");
    let drops_oldest = printer("the printer").overflow(Overflow::DropOldest).wait()?;
    rush(&drops_oldest)?;
    finish(&drops_oldest)?;

    println!("Drop the newest message: for data of which the first matters most.");
    let drops_newest = printer("the printer").overflow(Overflow::DropNewest).wait()?;
    rush(&drops_newest)?;
    finish(&drops_newest)?;
    println!("  dropped messages so far, counted as dead letters: {}", node.stats().dead_letters);

    println!("Divert: messages that find no room go to a second printer.");
    let spare = printer("the spare printer").wait()?;
    let to_spare = Overflow::divert(spare.recipient(), "printer 1");
    let diverts = printer("the printer").overflow(to_spare).wait()?;
    rush(&diverts)?;
    finish(&diverts)?;
    finish(&spare)?;

    println!("Wait: senders get room in the order of their arrival.");
    let patient = printer("the printer").wait()?;
    patient.suspend().wait()?;
    (1..=3).try_for_each(|n| patient.send(Job(n)).map_err(SendError::without_message))?;
    let given_up = patient.send_or_wait(Job(4)).timeout(Duration::from_millis(10)).wait();
    if let Err(error) = given_up {
        println!("  job 4: {error}");
    }
    let sender = patient.clone();
    let waiting = thread::spawn(move || sender.send_or_wait(Job(5)).wait().is_ok());
    patient.resume();
    if let Ok(true) = waiting.join() {
        println!("  job 5 waited for its room and was accepted");
    }
    finish(&patient)?;

    println!("Reserve: a job is made only when its room is reserved.");
    let reserved = printer("the printer").wait()?;
    let permits: Vec<Permit<Job>> = std::iter::from_fn(|| reserved.reserve().ok()).collect();
    println!(
        "  room for {} jobs is reserved; one more: {:?}",
        permits.len(),
        reserved.send(Job(0))
    );
    permits.into_iter().zip(1..).for_each(|(permit, n)| permit.send(Job(n)));
    finish(&reserved)?;

    println!("Batch: all available messages are handled together, which takes less time.");
    let batches = node.spawn(|| Printer::new("the printer", 2)).mailbox(3).wait()?;
    rush(&batches)?;
    finish(&batches)?;

    node.stop().wait()
}
