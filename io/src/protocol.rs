//! What a user writes: what a connection does with what comes.

use crate::channel::FrameChannel;
use crate::codecs::codec::{Codec, CodecError};
use crate::error::Closed;
use krarup_gen::{Down, Exit, Inspection, Result};
use std::future::{Future, ready};

/// A protocol's own view of its connection: what its callbacks get.
pub type Channel<P> = FrameChannel<<P as Protocol>::Message, <P as Protocol>::Codec>;

/// The frames a protocol receives.
pub type Frame<P> = <<P as Protocol>::Codec as Codec>::Frame;

/// What a connection does with what comes: the behaviour of one side of a TCP connection.
///
/// A connection is a process, an accepted one and a client's alike: one at a time it handles the
/// frames of its peer, the messages of other processes and what becomes of its socket. A callback
/// may `await`; meanwhile the process handles nothing else, **and reads nothing**: so a protocol
/// that passes frames on with [`send_or_wait`](krarup_act::Address::send_or_wait) slows its
/// peer down to the pace of whoever takes them. What it has sent goes out meanwhile.
///
/// A callback that returns `Err(reason)`, or panics, ends this connection with that reason, and
/// nothing else.
///
/// | callback | when |
/// |---|---|
/// | [`connected`](Self::connected) | first |
/// | [`received`](Self::received) | a frame |
/// | [`handle_message`](Self::handle_message) | a message of another process |
/// | [`drained`](Self::drained) | all is written, after a send was refused |
/// | [`ended`](Self::ended) | the peer sends no more; by default this side closes too |
/// | [`malformed`](Self::malformed) | what the peer sends is no frame; the connection closes next |
/// | [`stopping`](Self::stopping) | it is to stop; by default it closes |
/// | [`handle_down`](Self::handle_down), [`handle_exit`](Self::handle_exit) | as an actor's |
/// | [`closed`](Self::closed) | last, unless killed, with the reason |
///
/// ```
/// use krarup_gen::Result;
/// use krarup_io::{Channel, Lines, Protocol};
/// use std::convert::Infallible;
///
/// /// Says every line again.
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
    /// What other processes can send to the connection; [`std::convert::Infallible`] for nothing.
    type Message: Send + 'static;
    /// How bytes become frames.
    type Codec: Codec;

    /// The codec of this connection. Asked for once, before [`Protocol::connected`].
    fn codec(&self) -> Self::Codec;

    /// The connection stands.
    fn connected(&mut self, channel: &mut Channel<Self>) -> impl Future<Output = Result> + Send {
        let _ = channel;
        ready(Ok(()))
    }

    /// A frame of the peer.
    fn received(
        &mut self,
        channel: &mut Channel<Self>,
        frame: Frame<Self>,
    ) -> impl Future<Output = Result> + Send;

    /// A message of another process. The default drops it.
    fn handle_message(
        &mut self,
        channel: &mut Channel<Self>,
        message: Self::Message,
    ) -> impl Future<Output = Result> + Send {
        let _ = channel;
        drop(message);
        ready(Ok(()))
    }

    /// A send was refused with [`crate::WriteError::Full`], and now nothing waits any more.
    fn drained(&mut self, channel: &mut Channel<Self>) -> impl Future<Output = Result> + Send {
        let _ = channel;
        ready(Ok(()))
    }

    /// The peer sends no more, and may still read. The default closes; a protocol that does not
    /// goes on with its half of the connection and closes when it is done.
    fn ended(&mut self, channel: &mut Channel<Self>) -> impl Future<Output = Result> + Send {
        channel.close();
        ready(Ok(()))
    }

    /// What the peer sends is no frame. What is sent here is written before the connection is
    /// closed.
    fn malformed(
        &mut self,
        channel: &mut Channel<Self>,
        error: &CodecError,
    ) -> impl Future<Output = Result> + Send {
        let _ = (channel, error);
        ready(Ok(()))
    }

    /// The connection is to stop: its acceptor stops, or its parent or the node asks for it. The
    /// default closes, which writes what was sent; a protocol that has something under way does
    /// not, and closes when it is done, within the time that its acceptor gives.
    fn stopping(&mut self, channel: &mut Channel<Self>) -> impl Future<Output = Result> + Send {
        channel.close();
        ready(Ok(()))
    }

    /// A process that was monitored with [`context`](FrameChannel::context) has ended.
    fn handle_down(
        &mut self,
        channel: &mut Channel<Self>,
        down: Down,
    ) -> impl Future<Output = Result> + Send {
        let _ = (channel, down);
        ready(Ok(()))
    }

    /// An exit signal, if the process traps them. The default ends it with an abnormal reason.
    fn handle_exit(
        &mut self,
        channel: &mut Channel<Self>,
        exit: Exit,
    ) -> impl Future<Output = Result> + Send {
        let _ = channel;
        ready(if exit.reason.is_abnormal() { Err(exit.reason) } else { Ok(()) })
    }

    /// Describes the protocol; what the connection itself knows is added.
    fn inspect(&self) -> Inspection {
        Inspection::new()
    }

    /// The last: the connection is closed, and nothing can be sent. Not called if the process is
    /// killed or ended by an exit signal of another process; `Drop` is the sure clean-up.
    fn closed(
        &mut self,
        channel: &mut Channel<Self>,
        why: &Closed,
    ) -> impl Future<Output = ()> + Send {
        let _ = (channel, why);
        ready(())
    }
}
