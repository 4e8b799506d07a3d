//! Shared by the examples that serve sockets: the address to serve on, and the line that ends it.

use krarup::prelude::*;
use std::net::SocketAddr;
use std::thread;

/// Returns the address to serve on, if the command line has one. Without one, an example
/// runs its own demonstration.
pub(crate) fn told_address() -> Result<Option<SocketAddr>> {
    let Some(text) = std::env::args().nth(1) else { return Ok(None) };
    let address = text.parse();
    address.map(Some).map_err(|error| Reason::error(format!("{text:?}: {error}")))
}

/// Serves until the server ends, or a line is entered. The examples `kv` and `gateway` end in order
/// at a signal too; for that they use tokio.
pub(crate) fn serve<M: Send + 'static>(server: &Address<M>) -> Result {
    println!("Enter ends it in order");
    let end = server.watch();
    let on_line = server.stop().reason(Reason::Shutdown);
    thread::spawn(move || {
        // Where standard input is closed, no line comes, and that is no reason to stop.
        if std::io::stdin().read_line(&mut String::new()).is_ok_and(|count| count > 0) {
            let _ = on_line.wait();
        }
    });
    let reason = end.wait()?.reason;
    if reason.is_abnormal() { Err(reason) } else { Ok(()) }
}
