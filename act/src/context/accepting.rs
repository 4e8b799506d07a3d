//! What an entry of the mailbox is for its process: an item, or nothing.
//!
//! | entry | is nothing if |
//! |---|---|
//! | a notice of a link, a monitor or a timer | that has been removed (rule L5) |
//! | a message | the process is a route: it is handed on |
//! | a job | its time to live is over |
//! | a stop | the process stops at once |

use super::context::Context;
use crate::mailbox::control_entry::ControlEntry;
use crate::mailbox::entry::Notice;
use crate::process::crash::drop_contained;
use crate::process::exits::StopOrder;
use crate::process::progress::ContextMark;
use crate::received::Received;
use crate::topics::event_ticket::{EventTicket, Redeemed};
use crate::traces::open_span::OpenSpan;
use krarup_gen::{DeadLetterCause, Lane, Reason, Ref};
use std::any::type_name;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    pub(super) fn accept_control(&mut self, control: ControlEntry) -> Option<Received<M, C>> {
        self.cell.count_beside_main();
        self.sender = 0;
        match control {
            ControlEntry::Message { sender, message } => {
                self.sender = sender;
                self.sample(type_name::<C>(), Lane::System);
                Some(Received::Command(message.into_message()))
            }
            ControlEntry::Traced { sender, message, context } => {
                self.sender = sender;
                self.end_job();
                self.begin_traced(&context, type_name::<C>());
                Some(Received::Command(message.into_message()))
            }
            ControlEntry::Stop(reason) => self.accept_stop(reason),
            ControlEntry::Inspect(mut request) => {
                self.reset_idle_time();
                if let Some(cold) = &self.cold
                    && let Some(topics) = &cold.topics
                {
                    topics.add_to(&mut request);
                }
                Some(Received::Inspect(request))
            }
            ControlEntry::State(reply) => {
                self.reset_idle_time();
                Some(Received::State(reply))
            }
            ControlEntry::Manage(request) => {
                self.reset_idle_time();
                Some(Received::Manage(request))
            }
            ControlEntry::Here(reply) => {
                self.reset_idle_time();
                reply.send(());
                None
            }
            ControlEntry::Exit { exit, link } => self.accept(Notice::Exit { exit, link }),
            ControlEntry::Down(down) => self.accept(Notice::Down(down)),
        }
    }

    /// Handles a stop that was requested before the kind of this process was known. A process
    /// that does not stop in order takes it as an exit signal.
    fn accept_stop(&mut self, reason: Reason) -> Option<Received<M, C>> {
        match self.cell.untyped().obey_stop(reason) {
            StopOrder::Stop(reason) => Some(Received::Stop(reason)),
            StopOrder::Exit(exit) => Some(Received::Exit(exit)),
            StopOrder::AtOnce => None,
        }
    }

    /// Exchanges the ticket of an event.
    #[cold]
    fn redeem(&mut self, ticket: EventTicket<M>) -> Option<Received<M, C>> {
        match ticket.redeem()? {
            Redeemed::Message(message) if self.cell.is_routed() => {
                self.cell.pass_on(message, self.sender_id());
                None
            }
            Redeemed::Message(message) => {
                self.cell.count_beside_main();
                Some(Received::Message(message))
            }
            Redeemed::Down(down) => {
                if let Some(cold) = &mut self.cold {
                    cold.direct_counts.remove(down.monitor);
                }
                Some(Received::Down(down))
            }
        }
    }

    /// Counts a message that was made of an event, and returns true if it is for this process:
    /// otherwise its subscription has ended, or its route gets it. Without the message, which
    /// moves directly to its handler.
    #[inline(never)]
    pub(super) fn takes_event(&mut self, subscription: Ref) -> bool {
        // A process that is subscribed has a cold part.
        let direct = self.cold.as_ref().map(|cold| &cold.direct_counts);
        let taken = direct.is_some_and(|direct| direct.take(subscription));
        self.end_idle_time();
        let is_own = taken && !self.cell.is_routed();
        if is_own {
            self.cell.count_beside_main();
        }
        is_own
    }

    /// Passes an event on, or drops it, that [`Context::takes_event`] has not taken.
    #[cold]
    pub(super) fn refuse_event(&mut self, message: M, subscription: Ref) {
        let direct = self.cold.as_ref().map(|cold| &cold.direct_counts);
        if direct.is_some_and(|direct| direct.has(subscription)) {
            self.cell.pass_on(message, 0);
        } else {
            drop_contained(message);
        }
    }

    /// The end of the parent asks the process to stop, as a signal does: it waits for no name from now on (rule H10).
    #[cold]
    fn give_up_names(&self) {
        let waits = {
            let mut inbox = self.cell.inbox.lock();
            inbox.marks.note_stop();
            inbox.marks.ends_name_waits()
        };
        if waits && let Some(waits) = self.host().name_waits() {
            waits.wake_process(self.pid().id());
        }
    }

    /// Converts a notice into an item, unless its link, monitor or timer has been removed
    /// (rule L5).
    pub(super) fn accept(&mut self, notice: Notice<M>) -> Option<Received<M, C>> {
        let item = match notice {
            Notice::Exit { exit, link } => {
                let wanted = link.is_none_or(|number| {
                    self.cell.locked_relations().accept_exit(exit.pid, number)
                });
                let stops = wanted
                    && link.is_some()
                    && self.cell.is_end_of_parent(exit.pid)
                    && self.cell.progress.notes(ContextMark::StopsInOrder);
                if stops {
                    self.give_up_names();
                    Some(Received::Stop(exit.reason))
                } else {
                    wanted.then_some(Received::Exit(exit))
                }
            }
            Notice::Down(down) => {
                let wanted = self.cell.locked_relations().accept_down(&down);
                wanted.then_some(Received::Down(down))
            }
            Notice::Timer(timer) => self.ring(timer).map(Received::Message),
            Notice::Alarm(alarm) => Some(Received::Alarm(alarm)),
            Notice::Idle(round) => return self.idle_timer_fired(round),
            Notice::Finish => Some(Received::Finish),
            Notice::Event(ticket) => self.redeem(ticket),
            Notice::Job(job) => self.take_up(job).map(Received::Message),
            Notice::Mark(mark) => {
                self.pass_mark(mark);
                None
            }
            Notice::Beyond(message) | Notice::BeyondTraced(message, _) if self.cell.is_routed() => {
                self.cell.pass_on(message, self.sender_id());
                None
            }
            Notice::Beyond(message) => Some(Received::Message(message)),
            Notice::BeyondTraced(message, context) => {
                self.begin_traced(&context, type_name::<M>());
                Some(Received::Message(message))
            }
            Notice::Other(other, context) => {
                self.cell.progress.count_taken();
                if self.cell.is_routed() {
                    let name = other.type_name();
                    let sender = self.sender_id();
                    if let Some(context) = context {
                        OpenSpan::lost(&context, name, DeadLetterCause::Unhandled.as_str());
                    }
                    self.cell.dead_letter_named(name, sender, DeadLetterCause::Unhandled);
                    None
                } else {
                    if let Some(context) = context {
                        self.begin_traced(&context, other.type_name());
                    }
                    Some(Received::Other(other))
                }
            }
        };
        if item.is_some() {
            self.end_idle_time();
        }
        item
    }
}
