//! A node that is configured by a file: dispatchers by id, aliases for them, and the
//! errors for mistakes in the file.
//!
//! ```text
//! cargo run --features settings --example 15_settings [path]
//! ```

use krarup::NodeBuilder;
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use std::path::PathBuf;

/// Answers with the name of the thread that runs it.
fn where_am_i() -> impl krarup::behavior::Behavior<Message = Reply<String>, Command = ()> {
    behavior_fn(|mut ctx: Context<Reply<String>, ()>| async move {
        while let Received::Message(reply) = ctx.receive().await {
            reply.send(std::thread::current().name().unwrap_or("unnamed").to_owned());
        }
        Ok(())
    })
}

fn main() -> Result {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/15_settings.toml");
    let path = std::env::args_os().nth(1).map_or(beside, PathBuf::from);

    // Settings in the program override those in the file.
    let node = NodeBuilder::settings_from(&path)?.blocking_threads(8).start()?;
    println!("{} is running", node.name());
    for dispatcher in ["default", "reports", "parsers", "shop.files", "shop.prices"] {
        let process = node.spawn(where_am_i).dispatcher(dispatcher).wait()?;
        let thread = process.call(|reply| reply).wait()?;
        println!("{dispatcher:12} is {:9} runs on {thread}", process.info().dispatcher);
    }
    node.stop().wait()?;

    println!("the errors for mistakes in a file:");
    for mistake in [
        "[dispatcher.reports]\nwrokers = 2",
        "[dispatcher.reports]\nworkers = 0",
        "[dispatcher.reports]\nworkers = \"two\"",
        "[dispatcher.blocking]\nkind = \"pinned\"\nworkers = 2",
        "[dispatcher.reports]\nlike = \"nobody\"",
        "[dispatcher.reports\nworkers = 2",
    ] {
        if let Err(error) = NodeBuilder::from_toml(mistake) {
            println!("  {error}");
        }
    }
    Ok(())
}
