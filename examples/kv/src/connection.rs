//! A connection: the process of one client. It reads a line, does what the line says, answers,
//! and reads the next.

use crate::protocol::{Answer, Command, LONGEST_LINE, Request};
use crate::{bucket, buckets, registry};
use krarup::io::{Channel, CodecError, Lines, Protocol};
use krarup::prelude::*;
use std::convert::Infallible;

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
        let answer = match Command::parse(&line) {
            // A command that cannot be answered ends this connection, and no other.
            Some(command) => run(channel.context(), command).await?,
            None => Answer::UnknownCommand,
        };
        send(channel, &answer).await
    }

    /// A line that is too long, or no text. It is not known where the next one begins, so the
    /// connection is closed behind the answer.
    async fn malformed(&mut self, channel: &mut Channel<Self>, _: &CodecError) -> Result {
        send(channel, &Answer::UnknownCommand).await
    }
}

async fn send(channel: &mut Channel<Connection>, answer: &Answer) -> Result {
    for line in answer.lines() {
        channel.send_or_wait(line).await?;
    }
    Ok(())
}

/// Does what a client asks for.
async fn run(ctx: &mut Context<Infallible>, command: Command) -> Result<Answer> {
    match command {
        Command::Create { bucket } => buckets::create(ctx, bucket).await,
        Command::Ask { bucket, request } => match ask(ctx, &bucket, request).await {
            // The bucket, or the owner of the registry, ended before it answered.
            Err(
                CallError::NoProcess { .. }
                | CallError::NotBegun { .. }
                | CallError::Terminated { .. },
            ) => Ok(Answer::NotFound),
            answer => Ok(answer?),
        },
    }
}

/// Asks the bucket of this name.
async fn ask(
    ctx: &mut Context<Infallible>,
    name: &str,
    request: Request,
) -> Result<Answer, CallError> {
    let Some(bucket) = registry::find(ctx, name).await? else { return Ok(Answer::NotFound) };
    match request {
        Request::Put { key, value } => {
            bucket::put(&bucket, key, value).await?;
            Ok(Answer::Done)
        }
        Request::Get { key } => Ok(Answer::Value(bucket::get(&bucket, key).await?)),
        Request::Delete { key } => {
            bucket::delete(&bucket, key).await?;
            Ok(Answer::Done)
        }
    }
}
