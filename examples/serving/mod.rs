//! Shared by the examples that serve sockets: the address to serve on, and the signals
//! that end it.

#[path = "../gateway/signals.rs"]
mod signals;

use krarup::prelude::*;
use signals::Signals;
use std::net::SocketAddr;
use std::thread;
use tokio::runtime;

/// Returns the address to serve on, if the command line has one. Without one, an example
/// runs its own demonstration.
pub(crate) fn told_address() -> Result<Option<SocketAddr>> {
    let Some(text) = std::env::args().nth(1) else { return Ok(None) };
    let address = text.parse();
    address.map(Some).map_err(|error| Reason::error(format!("{text:?}: {error}")))
}

/// Serves until the server ends, a signal arrives, or a line is entered.
pub(crate) fn serve<M: Send + 'static>(server: &Address<M>) -> Result {
    println!("Enter, Ctrl-C or SIGTERM ends it in order");
    let end = server.watch();
    let stop = || server.stop().reason(Reason::Shutdown);
    let on_line = stop();
    thread::spawn(move || {
        // Where standard input is closed, no line comes, and that is no reason to stop.
        if std::io::stdin().read_line(&mut String::new()).is_ok_and(|count| count > 0) {
            let _ = on_line.wait();
        }
    });
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let on_signal = stop();
    let mut signals = runtime.block_on(async { Signals::new() })?;
    runtime.spawn(async move {
        println!("{}: ending in order", signals.next().await);
        tokio::select! {
            _ = on_signal => {}
            () = signals.exit_at_the_next() => {}
        }
    });
    let reason = end.wait()?.reason;
    if reason.is_abnormal() { Err(reason) } else { Ok(()) }
}
