//! A short dialogue with the server, for `--demo`.

use krarup::prelude::*;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

/// The settings of the demonstration allow this many buckets.
pub(crate) const BUCKETS: usize = 2;

/// What the client says, and what it must hear.
const DIALOGUE: [(&str, &[&str]); 11] = [
    ("CREATE shopping", &["OK"]),
    ("PUT shopping milk 1", &["OK"]),
    ("PUT shopping eggs 3", &["OK"]),
    ("GET shopping milk", &["1", "OK"]),
    ("DELETE shopping eggs", &["OK"]),
    ("GET shopping eggs", &["", "OK"]),
    ("GET drinks water", &["NOT FOUND"]),
    ("HELLO", &["UNKNOWN COMMAND"]),
    ("CREATE drinks", &["OK"]),
    ("CREATE shopping", &["OK"]),
    ("CREATE tools", &["FULL"]),
];

/// Has the dialogue with the server at this address, and prints it.
pub(crate) fn run(address: SocketAddr) -> Result {
    let mut stream = TcpStream::connect(address)?;
    let mut answers = BufReader::new(stream.try_clone()?).lines();
    for (command, expected) in DIALOGUE {
        println!("> {command}");
        stream.write_all(format!("{command}\n").as_bytes())?;
        for expected in expected {
            let answer = answers.next().transpose()?;
            println!("  {}", answer.as_deref().unwrap_or("(the end)"));
            if answer.as_deref() != Some(*expected) {
                return Err(Reason::error(format!("{command}: expected {expected:?}")));
            }
        }
    }
    Ok(())
}
