//! 11. A TCP server that echoes every byte it receives.
//!
//! Each connection is a process. It reads only when the bytes read before are on their way
//! back, so a client that sends and never reads is slowed down, and its bytes are not
//! buffered. A connection whose client then reads nothing for some time is closed. Limits
//! in `ConnectionOptions` do all of this; the example has no code for it.
//!
//! ```sh
//! cargo run --release --features io --example 11_echo                       # shows itself, and ends
//! cargo run --release --features io --example 11_echo -- 127.0.0.1:7000     # serves
//! nc 127.0.0.1 7000
//! ```

mod serving;

use krarup::io::bytes::Bytes;
use krarup::io::{
    Acceptor, AcceptorAddress, AcceptorRequest, Channel, ConnectionOptions, Protocol, Raw,
};
use krarup::prelude::*;
use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{Shutdown as Half, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// The most open connections; more wait until one is closed.
const LIMIT: usize = 10_000;
/// Clients of the demonstration, and the bytes that each sends.
const CLIENTS: usize = 8;
const BYTES: usize = 8 << 20;

struct Echo;

impl Protocol for Echo {
    type Message = Infallible;
    type Codec = Raw;

    fn codec(&self) -> Raw {
        Raw
    }

    async fn received(&mut self, channel: &mut Channel<Self>, bytes: Bytes) -> Result {
        Ok(channel.send_or_wait(&bytes).await?)
    }
}

fn main() -> Result {
    let wanted = serving::told_address()?;
    let address = wanted.unwrap_or(([127, 0, 0, 1], 0).into());
    let node = Node::start("echo@localhost")?;
    let limits = ConnectionOptions::new()
        .idle_timeout(Duration::from_secs(300))
        .stall_timeout(Duration::from_secs(20));
    let server: AcceptorAddress<Echo> = node
        .spawn(move || Acceptor::new(address, || Echo).limit(LIMIT).options(limits))
        .name("echo")
        .wait()?;
    let address = server.call(AcceptorRequest::Address).wait()?;
    println!("echoing on {address}");
    if wanted.is_some() {
        serving::serve(&server)?;
    } else {
        show(address)?;
        println!("server: {}", server.inspect().wait()?);
    }
    node.stop().wait()
}

/// Sends from several threads, and checks that the same bytes come back.
fn show(address: SocketAddr) -> Result {
    let began = Instant::now();
    let clients: Vec<_> = (0..CLIENTS).map(|n| thread::spawn(move || talk(address, n))).collect();
    let mut bytes = 0;
    for client in clients {
        bytes += client.join().map_err(|_| Reason::error("a client panicked"))??;
    }
    let time = began.elapsed();
    println!("{CLIENTS} clients had {} MiB echoed in {time:.1?}", bytes >> 20);
    Ok(())
}

/// One client: sends on one thread and reads on another until the server closes the
/// connection. Returns the number of bytes that came back.
fn talk(address: SocketAddr, number: usize) -> Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    let pattern: Vec<u8> = (0_u8..=250).cycle().skip(number).take(BYTES).collect();
    let sender = {
        let (mut stream, pattern) = (stream.try_clone()?, pattern.clone());
        thread::spawn(move || {
            stream.write_all(&pattern)?;
            // Nothing more follows. The server sends what is left and closes.
            stream.shutdown(Half::Write)
        })
    };
    let mut back = Vec::with_capacity(BYTES);
    stream.read_to_end(&mut back)?;
    sender.join().map_err(|_| Reason::error("a sender panicked"))??;
    if back == pattern { Ok(back.len()) } else { Err(Reason::error("something else came back")) }
}
