//! Selective receive (rule M14; Erlang's `receive` with patterns).
//!
//! What the process waits for lies on Main, or comes there. Everything else stays where it is:
//!
//! ```text
//!   handed out again      taken off Main             Main in the mailbox     Urgent, System
//!   by the stash          1  2  3  4  5
//!                         examined ─►│ examined next │ taken off when ───►   stay there; of a stop
//!                                    │               │ all is examined       the mark is read
//! ```
//!
//! An entry is examined once for each such receive, where it lies, so none has to be put back. It counts
//! as waiting until it is received, for the bound and for those that look at the process. In an order of its
//! own (rule M12) the process examines all that waits for each arrival, for a new entry can come before others.

use super::cold_context::ColdContext;
use super::context::Context;
use super::receive::LookedUp;
use super::timer_table::ProcessTimers;
use crate::mailbox::entry::{Body, MailboxEntry, Notice};
use crate::mailbox::take::take_at;
use crate::process::cell::Cell;
use crate::process::current;
use crate::process::progress::ContextMark;
use crate::process::turn_state::Wants;
use crate::received::Received;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{self, Poll};

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Receives the first message on Main that is wanted, and leaves everything else where it is (rule M14): the
    /// messages before it, which are received later in their order, notices, commands and inspections. For a
    /// conversation within a handler, as with `receive` in Erlang. A call has its own place for the answer and
    /// needs none of this.
    ///
    /// Returns `None` if no such message waits and the process is to end: it is asked to stop or to finish, before this
    /// or while it waits, has called [`Context::stop`], or is in its `terminate`. So a handler does not hold up a stop, and
    /// the request itself stays too. A process that takes exits as notices is not asked. The future may be dropped before it
    /// is ready, as when a time limit ends it, and has then received nothing.
    ///
    /// `wanted` is called once for each message in its order; in an order of the process's own
    /// ([`Order`](crate::Order)) for all that wait, each time that something has come. It also sees the messages of the
    /// process's own timers, those that [`Context::unstash_all`] hands out again, and events that come directly. It does not
    /// see commands, messages of other types, and events of subscriptions with a limit or with
    /// numbers. While it waits, [`Context::sender`] is that of the message in progress; then it is that of the
    /// message that was received.
    ///
    /// Messages that wait take room in a bounded mailbox. If they take all of it, nobody can send the wanted one. That is so
    /// too where the oldest message is dropped ([`Overflow::DropOldest`](crate::Overflow::DropOldest)): what was passed over
    /// can be dropped only when this is over, so a message for which there is no room is refused meanwhile. A process that
    /// is suspended receives nothing.
    ///
    /// ```
    /// # use krarup_act::{Actor, Address, Context};
    /// # use krarup_gen::Result;
    /// # struct Terminal { modem: Address<()> }
    /// enum Line {
    ///     Dial(String),
    ///     Carrier { speed: u32 },
    /// }
    ///
    /// impl Actor for Terminal {
    ///     type Message = Line;
    ///
    ///     async fn handle_message(&mut self, ctx: &mut Context<Line>, line: Line) -> Result {
    ///         if let Line::Dial(_) = line {
    ///             // Others that dial meanwhile wait for their turn.
    ///             let carrier = ctx.receive_where(|line| matches!(line, Line::Carrier { .. }));
    ///             if let Some(Line::Carrier { speed }) = carrier.await {
    ///                 println!("{speed} baud");
    ///             }
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn receive_where<P>(&mut self, wanted: P) -> ReceiveWhere<'_, M, C, P>
    where
        P: FnMut(&M) -> bool,
    {
        ReceiveWhere {
            context: self,
            search: SelectiveSearch {
                wanted,
                examined: 0,
                has_seen_stash: false,
                ends: false,
                one_by_one: false,
            },
        }
    }

    /// Takes everything off Main and puts it behind what was taken off before. Returns whether there was something.
    fn fetch(&mut self, one_by_one: &mut bool) -> bool {
        let mut has_come = false;
        loop {
            let mut behind = None;
            let mut inbox = self.cell.inbox.lock();
            let first = inbox.take_main(&mut behind);
            *one_by_one |= inbox.takes_one_by_one();
            drop(inbox);
            let Some(first) = first else { return has_come };
            has_come = true;
            let main = self.main.get_or_insert_default();
            main.push_back(first);
            if let Some(mut behind) = behind {
                main.append(&mut behind);
            }
            if !*one_by_one {
                return true;
            }
        }
    }
}

/// Whether the process is asked to stop, stops itself, or is in its `terminate`.
fn is_to_end<M: Send + 'static, C: Send + 'static>(context: &Context<M, C>) -> bool {
    if context.is_stopping() || context.cell.progress.notes(ContextMark::Ends) {
        return true;
    }
    let orderly = context.cell.progress.notes(ContextMark::StopsInOrder);
    let marks = context.cell.inbox.lock().marks;
    // One that does neither ends with the reason of the stop when it parks.
    marks.is_asked_to_stop() && (orderly || marks.is_trapping())
}

/// Whether the notice asks the process to stop or to finish.
fn asks_to_end<M, C>(cell: &Cell<M, C>, notice: &Notice<M>) -> bool
where
    M: Send + 'static,
    C: Send + 'static,
{
    match notice {
        Notice::Finish => true,
        Notice::Exit { exit, link: Some(number) } => {
            cell.is_end_of_parent(exit.pid)
                && cell.progress.notes(ContextMark::StopsInOrder)
                && cell.locked_relations().expects_exit(exit.pid, *number)
        }
        _ => false,
    }
}

/// The message in an entry, or that of a timer for which the entry stands.
fn message_in<'a, M>(
    entry: &'a MailboxEntry<M>,
    timers: Option<&'a mut ProcessTimers<M>>,
) -> Option<&'a M> {
    match &entry.body {
        Body::Notice(notice) => match &**notice {
            Notice::Timer(timer) => timers?.message(*timer),
            _ => entry.message(),
        },
        _ => entry.message(),
    }
}

/// What a process searches for on Main, and how far it is.
struct SelectiveSearch<P> {
    wanted: P,
    /// How many of the entries that were taken off Main it has examined.
    examined: usize,
    has_seen_stash: bool,
    /// It has seen that the process is asked to stop or to finish.
    ends: bool,
    /// The mailbox hands out its entries one by one, and gets them back.
    one_by_one: bool,
}

/// What was found on Main.
enum Found<M> {
    Entry(MailboxEntry<M>),
    Nothing,
    /// Not all was examined: the budget is used up.
    Turn,
}

impl<P> SelectiveSearch<P> {
    /// Searches what was taken off Main, from where it is, and what has arrived since.
    fn on_main<M, C>(&mut self, context: &mut Context<M, C>) -> Found<M>
    where
        M: Send + 'static,
        C: Send + 'static,
        P: FnMut(&M) -> bool,
    {
        // The first is paid for.
        let mut is_paid = true;
        loop {
            while let Some(entry) = context.main.as_ref().and_then(|main| main.get(self.examined)) {
                if !std::mem::take(&mut is_paid) && !current::spend(&context.cell.host) {
                    return Found::Turn;
                }
                if let Body::Notice(notice) = &entry.body {
                    self.ends |= asks_to_end(&context.cell, notice);
                }
                let timers = context.cold.as_mut().map(|cold| &mut cold.timers);
                if message_in(entry, timers).is_some_and(&mut self.wanted) {
                    let main = context.main.as_mut();
                    if let Some(entry) = main.and_then(|main| take_at(main, self.examined)) {
                        return Found::Entry(entry);
                    }
                }
                self.examined += 1;
            }
            if !context.fetch(&mut self.one_by_one) {
                return Found::Nothing;
            }
        }
    }

    /// Searches all that waits, in the process's own order.
    fn in_order<M, C>(&mut self, context: &mut Context<M, C>) -> Found<M>
    where
        M: Send + 'static,
        C: Send + 'static,
        P: FnMut(&M) -> bool,
    {
        context.sort();
        let Some(cold) = context.cold.as_mut() else { return Found::Nothing };
        let ColdContext { sorted: Some(sorted), timers, .. } = &mut **cold else {
            return Found::Nothing;
        };
        let found = sorted.take_where(&mut |entry| {
            if let Body::Notice(notice) = &entry.body {
                self.ends |= asks_to_end(&context.cell, notice);
            }
            message_in(entry, Some(timers)).is_some_and(&mut self.wanted)
        });
        found.map_or(Found::Nothing, Found::Entry)
    }

    fn poll<M, C>(&mut self, context: &mut Context<M, C>) -> Poll<Option<M>>
    where
        M: Send + 'static,
        C: Send + 'static,
        P: FnMut(&M) -> bool,
    {
        // The start of an actor is over when its `init` has returned.
        if !context.is_started() && !context.cell.progress.notes(ContextMark::StopsInOrder) {
            context.initialised();
        }
        loop {
            if context.cell.progress.attention.load(Ordering::Relaxed)
                && let LookedUp::Wait(wants) = context.look_up(|_| None)
            {
                return context.pending(wants);
            }
            if !current::spend(&context.cell.host) {
                return context.pending(Wants::Turn);
            }
            let is_suspended = context.slow_path() && context.is_suspended();
            let found = if is_suspended {
                Found::Nothing
            } else if let Some(message) = self.in_stash(context) {
                return Poll::Ready(Some(message));
            } else if context.slow_path() && context.is_ordered() {
                self.in_order(context)
            } else {
                self.on_main(context)
            };
            match found {
                Found::Entry(entry) => {
                    if context.slow_path() {
                        context.end_job();
                    }
                    // One whose time is over, or whose subscription has ended, is none.
                    if let Some(Received::Message(message)) = context.open(entry) {
                        return Poll::Ready(Some(message));
                    }
                }
                Found::Turn => return context.pending(Wants::Turn),
                Found::Nothing if self.ends || is_to_end(context) => return Poll::Ready(None),
                Found::Nothing => return context.pending(Wants::Main),
            }
        }
    }

    /// Takes the message out of those that the stash hands out again. They do not change while the process waits.
    fn in_stash<M, C>(&mut self, context: &mut Context<M, C>) -> Option<M>
    where
        M: Send + 'static,
        C: Send + 'static,
        P: FnMut(&M) -> bool,
    {
        if std::mem::replace(&mut self.has_seen_stash, true) {
            return None;
        }
        let stashed = context.cold.as_mut()?.stash.take_where(&mut self.wanted)?;
        context.end_job();
        let message = context.replay(stashed);
        match context.shown(Received::Message(message)) {
            Received::Message(message) => Some(message),
            _ => None,
        }
    }
}

/// A future of the first message that is wanted; made by [`Context::receive_where`].
#[must_use = "futures do nothing unless polled"]
pub struct ReceiveWhere<'a, M: Send + 'static, C: Send + 'static, P> {
    context: &'a mut Context<M, C>,
    search: SelectiveSearch<P>,
}

/// The closure is called where it lies, and moved before that alone.
impl<M: Send + 'static, C: Send + 'static, P> Unpin for ReceiveWhere<'_, M, C, P> {}

impl<M, C, P> Future for ReceiveWhere<'_, M, C, P>
where
    M: Send + 'static,
    C: Send + 'static,
    P: FnMut(&M) -> bool,
{
    type Output = Option<M>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<M>> {
        let ReceiveWhere { context, search } = self.get_mut();
        let polled = search.poll(context);
        if polled.is_pending() {
            context.wait_with(cx.waker());
        }
        polled
    }
}

/// What the mailbox has handed out one by one goes back, where it can be dropped.
impl<M: Send + 'static, C: Send + 'static, P> Drop for ReceiveWhere<'_, M, C, P> {
    fn drop(&mut self) {
        if self.search.one_by_one {
            self.context.return_looked_at();
        }
    }
}

impl<M: Send + 'static, C: Send + 'static, P> fmt::Debug for ReceiveWhere<'_, M, C, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReceiveWhere({})", self.context.pid())
    }
}
