//! The sockets of `krarup view`: one thread and one request for each connection, bounded in number,
//! bytes and time.

use crate::view::refusal::ViewRefusal;
use crate::view::request::{HEAD, ViewRequest};
use crate::view::routes::{ViewAnswer, ViewedFile};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The most connections; beyond them a new one is closed.
const CONNECTIONS: usize = 64;
/// From the connection to the end of its head.
const READ: Duration = Duration::from_secs(5);
/// How long a client may take nothing of an answer.
const WRITE: Duration = Duration::from_secs(10);
/// How long what a client still sends is read, so that it can read its answer.
const LINGER: Duration = Duration::from_secs(1);

/// Serves the file until the program ends.
pub(crate) fn serve(listener: &TcpListener, file: ViewedFile) -> ! {
    let (file, open) = (Arc::new(file), Arc::new(AtomicUsize::new(0)));
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // There are no descriptors left, which is not for long.
            thread::sleep(LINGER);
            continue;
        };
        let Some(place) = ServedPlace::take(&open) else { continue };
        let file = Arc::clone(&file);
        // Without a thread the connection is closed. A client that has gone is nobody's matter.
        let _ = thread::Builder::new().name("connection".to_owned()).spawn(move || {
            let _ = answer(&stream, &file);
            drop(place);
        });
    }
}

/// One of the places for connections.
struct ServedPlace(Arc<AtomicUsize>);

impl ServedPlace {
    fn take(open: &Arc<AtomicUsize>) -> Option<Self> {
        let place = ServedPlace(Arc::clone(open));
        (open.fetch_add(1, Ordering::Relaxed) < CONNECTIONS).then_some(place)
    }
}

impl Drop for ServedPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn answer(mut stream: &TcpStream, file: &ViewedFile) -> io::Result<()> {
    stream.set_write_timeout(Some(WRITE))?;
    stream.set_nodelay(true)?;
    let head = read_head(stream)?;
    let request = match head {
        Some(head) => ViewRequest::read(&head),
        None => Err(ViewRefusal::new(
            431,
            "bad_request",
            format!("the head has more than {HEAD} bytes"),
        )),
    };
    let bodiless = request.as_ref().is_ok_and(|request| request.method == "HEAD");
    match request.and_then(|request| file.answer(&request)) {
        Ok(ViewAnswer::Stream { first, each, period }) => {
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Accel-Buffering: no\r\n";
            stream.write_all(format!("{head}{}\r\n", common("no-store")).as_bytes())?;
            if !bodiless {
                stream.write_all(first.as_bytes())?;
                // It ends when the client has gone: then nothing can be written.
                loop {
                    stream.write_all(each.as_bytes())?;
                    thread::sleep(period);
                }
            }
        }
        Ok(ViewAnswer::Page(page)) => {
            let policy = format!("Content-Security-Policy: {}\r\n", krarup_page::POLICY);
            write_whole(stream, 200, krarup_page::HTML, &policy, &page, bodiless)?;
        }
        Ok(ViewAnswer::Whole { status, kind, body }) => {
            write_whole(stream, status, kind, "", &body, bodiless)?;
        }
        Err(refusal) => {
            let allow = if refusal.status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
            let body = refusal.body();
            write_whole(stream, refusal.status, "application/json", allow, &body, bodiless)?;
        }
    }
    finish(stream)
}

/// The bytes up to the empty line; `None` if there are too many.
fn read_head(mut stream: &TcpStream) -> io::Result<Option<Vec<u8>>> {
    let deadline = Instant::now() + READ;
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let searched = head.len().saturating_sub(3);
        head.extend_from_slice(&buffer[..count]);
        if let Some(end) = head[searched..].windows(4).position(|four| four == b"\r\n\r\n") {
            head.truncate(searched + end + 4);
            return Ok((head.len() <= HEAD).then_some(head));
        }
        if head.len() > HEAD {
            return Ok(None);
        }
    }
}

fn write_whole(
    mut stream: &TcpStream,
    status: u16,
    kind: &str,
    fields: &str,
    body: &str,
    bodiless: bool,
) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{fields}{}\r\n",
        reason(status),
        body.len(),
        common("no-store"),
    );
    stream.write_all(head.as_bytes())?;
    if bodiless { Ok(()) } else { stream.write_all(body.as_bytes()) }
}

/// The fields of every answer.
fn common(cache: &str) -> String {
    format!(
        "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: {cache}\r\nConnection: close\r\n"
    )
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        414 => "URI Too Long",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    }
}

/// Closes, and reads on for a moment: closed with bytes that were not read, a connection would be
/// reset, and the client might lose its answer.
fn finish(mut stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let deadline = Instant::now() + LINGER;
    let (mut buffer, mut left) = ([0; 4096], 64 << 10);
    while left > 0 {
        let time = deadline.saturating_duration_since(Instant::now());
        if time.is_zero() {
            break;
        }
        stream.set_read_timeout(Some(time))?;
        match stream.read(&mut buffer)? {
            0 => break,
            count => left = usize::saturating_sub(left, count),
        }
    }
    Ok(())
}
