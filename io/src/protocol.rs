//! The [`Protocol`] trait: the user's callbacks of a connection.

use crate::channel::FrameChannel;
use crate::codecs::codec::{Codec, CodecError};
use crate::error::Closed;
use krarup_gen::{Down, Exit, Inspection, Result};
use std::future::{Future, ready};

/// A protocol's view of its connection, passed to its callbacks.
pub type Channel<P> = FrameChannel<<P as Protocol>::Message, <P as Protocol>::Codec>;

/// The frames a protocol receives.
pub type Frame<P> = <<P as Protocol>::Codec as Codec>::Frame;

/// The behaviour of one side of a TCP connection.
///
/// A connection is a process, whether it was accepted or belongs to a client. One at a
/// time, it handles the frames of its peer, the messages of other processes and the
/// changes of its socket. A callback may `await`. Meanwhile the process handles nothing
/// else **and reads nothing**. So a protocol that passes frames on with
/// [`send_or_wait`](krarup_act::Address::send_or_wait) slows its peer down to the pace of
/// the receiver. Frames that the callback has sent are written meanwhile.
///
/// A callback that returns `Err(reason)` or panics ends this connection with that reason,
/// and nothing else.
///
/// | callback | when |
/// |---|---|
/// | [`connected`](Self::connected) | first |
/// | [`received`](Self::received) | a frame has arrived |
/// | [`handle_message`](Self::handle_message) | another process has sent a message |
/// | [`drained`](Self::drained) | everything is written, after a send was refused |
/// | [`ended`](Self::ended) | the peer sends no more; by default this side closes too |
/// | [`malformed`](Self::malformed) | the bytes are not a frame; the connection closes next |
/// | [`stopping`](Self::stopping) | the connection is to stop; by default it closes |
/// | [`handle_down`](Self::handle_down), [`handle_exit`](Self::handle_exit) | as for an actor |
/// | [`closed`](Self::closed) | last, with the reason, unless it was killed |
///
/// ```
/// # mod krarup { pub use {krarup_gen::*, krarup_io as io}; }
/// use krarup::Result;
/// use krarup::io::{Channel, Lines, Protocol};
/// use std::convert::Infallible;
///
/// /// Sends every line back.
/// struct Echo;
///
/// impl Protocol for Echo {
///     type Message = Infallible;
///     type Codec = Lines;
///     fn codec(&self) -> Lines {
///         Lines::new(1024)
///     }
///     async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
///         // Waits while the peer does not read, and reads nothing meanwhile.
///         channel.send_or_wait(&line).await?;
///         Ok(())
///     }
/// }
/// # let _ = Echo;
/// ```
pub trait Protocol: Sized + Send + 'static {
    /// Messages that other processes can send to the connection;
    /// [`std::convert::Infallible`] for none.
    type Message: Send + 'static;
    /// The conversion between bytes and frames.
    type Codec: Codec;

    /// Returns the codec of this connection. Called once, before [`Protocol::connected`].
    fn codec(&self) -> Self::Codec;

    /// Runs when the connection is established.
    fn connected(&mut self, channel: &mut Channel<Self>) -> impl Future<Output = Result> + Send {
        let _ = channel;
        ready(Ok(()))
    }

    /// Handles a frame of the peer.
    fn received(
        &mut self,
        channel: &mut Channel<Self>,
        frame: Frame<Self>,
    ) -> impl Future<Output = Result> + Send;

    /// Handles a message of another process. The default drops it.
    fn handle_message(
        &mut self,
        channel: &mut Channel<Self>,
        message: Self::Message,
    ) -> impl Future<Output = Result> + Send {
        let _ = channel;
        drop(message);
        ready(Ok(()))
    }

    /// Runs when all waiting bytes are written, after a send was refused with
    /// [`WriteError::Full`](crate::WriteError::Full).
    fn drained(&mut self, channel: &mut Channel<Self>) -> impl Future<Output = Result> + Send {
        let _ = channel;
        ready(Ok(()))
    }

    /// Runs when the peer has closed its sending side. The peer may still read. The
    /// default closes. An override that does not call
    /// [`channel.close()`](FrameChannel::close) keeps its own direction, and so the connection,
    /// open, and must close when it is done.
    fn ended(&mut self, channel: &mut Channel<Self>) -> impl Future<Output = Result> + Send {
        channel.close();
        ready(Ok(()))
    }

    /// Runs when the received bytes are not a frame. Frames sent here are written before
    /// the connection is closed.
    fn malformed(
        &mut self,
        channel: &mut Channel<Self>,
        error: &CodecError,
    ) -> impl Future<Output = Result> + Send {
        let _ = (channel, error);
        ready(Ok(()))
    }

    /// Runs when the connection is to stop, because its acceptor stops, or because its
    /// parent or the node requests it. The default closes, which writes all sent frames. An
    /// override that does not call [`channel.close()`](FrameChannel::close) keeps the connection
    /// open, and the stop waiting, until the time is over that its acceptor grants. A protocol with
    /// work in progress does not close at once, but when it is done, within that time.
    fn stopping(&mut self, channel: &mut Channel<Self>) -> impl Future<Output = Result> + Send {
        channel.close();
        ready(Ok(()))
    }

    /// Handles the end of a process that was monitored with [`context`](FrameChannel::context).
    fn handle_down(
        &mut self,
        channel: &mut Channel<Self>,
        down: Down,
    ) -> impl Future<Output = Result> + Send {
        let _ = (channel, down);
        ready(Ok(()))
    }

    /// Handles an exit signal, if the process traps them. The default ends the process if
    /// the reason is abnormal.
    fn handle_exit(
        &mut self,
        channel: &mut Channel<Self>,
        exit: Exit,
    ) -> impl Future<Output = Result> + Send {
        let _ = channel;
        ready(if exit.reason.is_abnormal() { Err(exit.reason) } else { Ok(()) })
    }

    /// Describes the protocol. The connection adds its own values.
    fn inspect(&self) -> Inspection {
        Inspection::new()
    }

    /// Runs last: the connection is closed, and nothing can be sent. It does not run if
    /// the process is killed or ended by an exit signal of another process. `Drop` is the
    /// clean-up that always runs.
    fn closed(
        &mut self,
        channel: &mut Channel<Self>,
        why: &Closed,
    ) -> impl Future<Output = ()> + Send {
        let _ = (channel, why);
        ready(())
    }
}
