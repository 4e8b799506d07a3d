//! A client of the observer: requests, and a stream that is read to its end.

use crate::Measured;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

pub(crate) fn get(address: SocketAddr, target: &str) -> Measured<String> {
    let mut socket = TcpStream::connect(address)?;
    write!(socket, "GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    if !answer.starts_with("HTTP/1.1 200") {
        return Err(format!("{target}: {}", answer.lines().next().unwrap_or_default()).into());
    }
    Ok(answer)
}

/// The first number after a field of an answer.
pub(crate) fn number(answer: &str, field: &str) -> Option<f64> {
    let rest = answer.split(&format!("\"{field}\":")).nth(1)?;
    let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
    rest[..end].parse().ok()
}

/// Reads a stream with a period of a second until it is dropped.
pub(crate) struct BenchWatcher {
    socket: TcpStream,
    read: Arc<AtomicU64>,
}

impl BenchWatcher {
    pub(crate) fn start(address: SocketAddr) -> Measured<Self> {
        let mut socket = TcpStream::connect(address)?;
        let target = "/api/v1/stream?topics=node,processes,findings&period_ms=1000&sort=cpu";
        write!(socket, "GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
        let (mut reader, read) = (socket.try_clone()?, Arc::new(AtomicU64::new(0)));
        let count = Arc::clone(&read);
        thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(more @ 1..) = reader.read(&mut buffer) {
                count.fetch_add(more as u64, Ordering::Relaxed);
            }
        });
        Ok(BenchWatcher { socket, read })
    }

    /// Whether the stream has said something.
    pub(crate) fn reads(&self) -> bool {
        self.read.load(Ordering::Relaxed) > 0
    }
}

impl Drop for BenchWatcher {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
