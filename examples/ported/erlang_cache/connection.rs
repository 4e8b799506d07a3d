//! A connection: one line is one command.

use crate::cache::{Cache, LEASE};
use krarup::io::{Channel, Lines, Protocol};
use krarup::prelude::*;
use std::convert::Infallible;

/// A longer line ends the connection.
const LONGEST_LINE: usize = 1024;

/// The protocol of a connection, which has no state.
pub(crate) struct Connection;

impl Protocol for Connection {
    // No process sends it messages.
    type Message = Infallible;
    type Codec = Lines;

    fn codec(&self) -> Lines {
        Lines::new(LONGEST_LINE)
    }

    async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
        let cache = Cache::near(channel.context())?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            ["INSERT", key, value] => {
                cache.insert(key, value, LEASE).await?;
                "OK".to_owned()
            }
            ["LOOKUP", key] => match cache.lookup(key).await? {
                Some(value) => format!("VALUE {value}"),
                None => "NOT FOUND".to_owned(),
            },
            ["DELETE", key] => {
                cache.delete(key).await?;
                "OK".to_owned()
            }
            _ => "UNKNOWN COMMAND".to_owned(),
        };
        channel.send_or_wait(&answer).await?;
        Ok(())
    }
}
