//! What a mailbox would lose without one of its safeguards. The models run the owner's side of
//! a turn with the real [`Inbox`] and one injected fault each.

use super::checker::{Condvar, Mutex, joined, model, thread};
use super::wake_flag::WakeSignal;
use crate::host::ready::{Ready, RunTurn, TurnLimits};
use crate::host::worker_slot::WorkerSlot;
use crate::lock::Lock;
use crate::mailbox::entry::Body;
use crate::mailbox::inbox::Inbox;
use crate::mailbox::inbox_core::{MailboxPhase, UNBOUNDED};
use crate::mailbox::overflow::Overflow;
use crate::mailbox::push::{HearsOfDepth, Refused};
use crate::sync::{AtomicU64, Ordering};
use krarup_gen::{Pid, Reason};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;

/// A stand-in for the process. The holder of its [`Ready`] owns it.
struct ModelProcess;

impl RunTurn for ModelProcess {
    fn run(self: Pin<Box<Self>>, _: &TurnLimits, _: &WorkerSlot) -> Option<Ready> {
        None
    }

    fn put_back(self: Pin<Box<Self>>, _: &mut dyn FnMut() -> Reason) -> Result<Waker, Ready> {
        Err(Ready::new(self))
    }

    fn pid(&self) -> Pid {
        Pid::local(1, 1)
    }

    fn is_high(&self) -> bool {
        false
    }

    fn handles_on_waker(&self) -> usize {
        0
    }
}

/// The injected fault.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MailboxFault {
    None,
    /// The owner looks for messages under one lock and parks under another.
    ParksInASecondStep,
    /// The owner parks without checking whether a waker has fired.
    ForgetsWakers,
    /// A pending exit schedules only an idle process, as a message does.
    SchedulesExitAsMail,
    /// The owner counts a message as taken only after it has handled it.
    CountsAfterHandling,
    /// A sender checks whether the process is idle, and puts its message in after that.
    LooksBeforePushing,
    /// The owner takes the messages of the queue before the message of the idle slot.
    HandlesQueueFirst,
}

/// A process and its mailbox.
struct Owner {
    fault: MailboxFault,
    /// The phase in which it parks: it waits for messages, or for a waker inside a handler.
    parks: MailboxPhase,
    inbox: Lock<Inbox<u32>>,
    taken: AtomicU64,
    queue: Mutex<Option<Ready>>,
    came: Condvar,
    /// Signals that a message has been handled.
    handled: Arc<WakeSignal>,
    seen: Mutex<Vec<u32>>,
    /// The flag that the process waits for inside its handler.
    flag: Mutex<bool>,
}

impl Owner {
    fn new(fault: MailboxFault, parks: MailboxPhase, bound: u32) -> Arc<Self> {
        Arc::new(Owner {
            fault,
            parks,
            inbox: Lock::new(Inbox::new(bound, Overflow::Refuse)),
            taken: AtomicU64::new(0),
            queue: Mutex::new(Some(Ready::new(Box::pin(ModelProcess)))),
            came: Condvar::default(),
            handled: WakeSignal::new(),
            seen: Mutex::default(),
            flag: Mutex::new(false),
        })
    }

    // ── the other threads ───────────────────────────────────────────────────────

    fn send(&self, message: u32) -> Result<(), Refused<u32>> {
        let taken = &self.taken;
        if self.fault == MailboxFault::LooksBeforePushing {
            let ready = self.inbox.lock().ready_for_mail();
            let _ = self.inbox.lock().push_main(message, 0, 0, taken, &DeafHost)?;
            self.schedule(ready);
            return Ok(());
        }
        let ready = self.inbox.lock().push_main(message, 0, 0, taken, &DeafHost)?;
        self.schedule(ready);
        Ok(())
    }

    fn wake(&self) {
        *self.flag.lock() = true;
        let ready = self.inbox.lock().ready_for_wake();
        self.schedule(ready);
    }

    fn set_pending_exit(&self) {
        let mut inbox = self.inbox.lock();
        inbox.cold().pending_exit = Some(Reason::Killed);
        let ready = if self.fault == MailboxFault::SchedulesExitAsMail {
            inbox.ready_for_mail()
        } else {
            inbox.ready_for_wake()
        };
        drop(inbox);
        self.schedule(ready);
    }

    fn schedule(&self, ready: Option<Ready>) {
        if let Some(ready) = ready {
            let mut queue = self.queue.lock();
            let before = queue.replace(ready);
            drop(queue);
            assert!(before.is_none(), "the process is queued twice");
            self.came.notify_one();
        }
    }

    // ── the process ─────────────────────────────────────────────────────────────

    /// Runs until `messages` are handled, the flag is set, or an exit is pending.
    fn run(&self, messages: u64) {
        let mut ready = self.next_ready();
        loop {
            if self.inbox.lock().has_pending_exit() || self.poll(messages) {
                drop(self.inbox.lock().close());
                return;
            }
            ready = match self.park(ready) {
                Some(again) => again,
                None => self.next_ready(),
            };
        }
    }

    fn next_ready(&self) -> Ready {
        let mut queue = self.queue.lock();
        loop {
            if let Some(ready) = queue.take() {
                return ready;
            }
            queue = self.came.wait(queue);
        }
    }

    fn poll(&self, messages: u64) -> bool {
        if self.parks == MailboxPhase::Waiting {
            return *self.flag.lock();
        }
        let mut batch = None;
        let mut next = self.inbox.lock().take_main(&mut batch);
        if self.fault == MailboxFault::HandlesQueueFirst
            && let Some(later) = batch.as_mut().and_then(|batch| batch.pop_front())
            && let Some(first) = next.replace(later)
        {
            batch.get_or_insert_default().push_back(first);
        }
        while let Some(entry) = next {
            if let Body::Message(message) = entry.body {
                self.seen.lock().push(message);
            }
            let count = || self.taken.fetch_add(1, Ordering::Relaxed);
            if self.fault == MailboxFault::CountsAfterHandling {
                self.handled.notify();
                count();
            } else {
                count();
                self.handled.notify();
            }
            next = batch.as_mut().and_then(|batch| batch.pop_front());
        }
        self.taken.load(Ordering::Relaxed) >= messages
    }

    /// The copy of `Life::park`.
    fn park(&self, ready: Ready) -> Option<Ready> {
        let mut inbox = self.inbox.lock();
        if inbox.has_pending_exit() {
            return Some(ready);
        }
        if inbox.marks.is_woken() && self.fault != MailboxFault::ForgetsWakers {
            inbox.marks.take_wake();
            return Some(ready);
        }
        if self.parks == MailboxPhase::Idle && inbox.has_main() {
            return Some(ready);
        }
        if self.fault == MailboxFault::ParksInASecondStep {
            drop(inbox);
            inbox = self.inbox.lock();
        }
        inbox.park(self.parks, ready);
        None
    }
}

fn running(owner: &Arc<Owner>, messages: u64) -> thread::JoinHandle<()> {
    let owner = Arc::clone(owner);
    thread::spawn(move || owner.run(messages))
}

/// Two senders with one message each.
fn mail(fault: MailboxFault) {
    model(move || {
        let owner = Owner::new(fault, MailboxPhase::Idle, UNBOUNDED);
        let process = running(&owner, 2);
        let sender = thread::spawn({
            let owner = Arc::clone(&owner);
            move || assert!(owner.send(1).is_ok())
        });
        assert!(owner.send(2).is_ok());
        joined(sender);
        joined(process);
    });
}

/// One sender with three messages.
fn order(fault: MailboxFault) {
    model(move || {
        let owner = Owner::new(fault, MailboxPhase::Idle, UNBOUNDED);
        let process = running(&owner, 3);
        (1..=3).for_each(|message| assert!(owner.send(message).is_ok()));
        joined(process);
        assert_eq!(*owner.seen.lock(), [1, 2, 3], "out of order");
    });
}

/// A waker fires for a process that waits inside a handler.
fn waker(fault: MailboxFault) {
    model(move || {
        let owner = Owner::new(fault, MailboxPhase::Waiting, UNBOUNDED);
        let process = running(&owner, 0);
        owner.wake();
        joined(process);
    });
}

/// A pending exit and a message, for a process that waits in `phase`.
fn set_pending_exit(fault: MailboxFault, phase: MailboxPhase) {
    model(move || {
        let owner = Owner::new(fault, phase, UNBOUNDED);
        let process = running(&owner, u64::MAX);
        let sender = thread::spawn({
            let owner = Arc::clone(&owner);
            move || drop(owner.send(1))
        });
        owner.set_pending_exit();
        joined(sender);
        joined(process);
    });
}

/// A bound of one: the second message is sent after the first has been handled.
fn room(fault: MailboxFault) {
    model(move || {
        let owner = Owner::new(fault, MailboxPhase::Idle, 1);
        let process = running(&owner, 2);
        assert!(owner.send(1).is_ok());
        owner.handled.wait();
        assert!(owner.send(2).is_ok(), "no room");
        joined(process);
    });
}

#[test]
fn the_owner_without_a_fault_holds() {
    mail(MailboxFault::None);
    order(MailboxFault::None);
    waker(MailboxFault::None);
    set_pending_exit(MailboxFault::None, MailboxPhase::Idle);
    set_pending_exit(MailboxFault::None, MailboxPhase::Waiting);
    room(MailboxFault::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn parking_in_a_second_step_loses_a_message() {
    mail(MailboxFault::ParksInASecondStep);
}

#[test]
#[should_panic(expected = "deadlock")]
fn checking_for_idleness_before_the_push_loses_the_message() {
    mail(MailboxFault::LooksBeforePushing);
}

#[test]
#[should_panic(expected = "out of order")]
fn taking_the_queue_before_the_idle_slot_breaks_the_order() {
    order(MailboxFault::HandlesQueueFirst);
}

#[test]
#[should_panic(expected = "deadlock")]
fn parking_without_checking_the_wakers_loses_a_wake_up() {
    waker(MailboxFault::ForgetsWakers);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_pending_exit_scheduled_like_a_message_does_not_end_a_waiting_process() {
    set_pending_exit(MailboxFault::SchedulesExitAsMail, MailboxPhase::Waiting);
}

#[test]
#[should_panic(expected = "no room")]
fn counting_after_handling_refuses_a_sender_that_has_seen_the_effect() {
    room(MailboxFault::CountsAfterHandling);
}

struct DeafHost;

impl HearsOfDepth for DeafHost {
    fn is_deep(&self, _: usize) {}
}

/// A sender that checks for room under one lock and puts its message in under another.
#[test]
#[should_panic(expected = "beyond the bound")]
fn a_bound_checked_under_another_lock_is_exceeded() {
    fn send(inbox: &Lock<Inbox<u32>>) -> u64 {
        let has_room = inbox.lock().accepted(0) < 1;
        u64::from(
            has_room && inbox.lock().push_main(1, 0, 0, &AtomicU64::new(0), &DeafHost).is_ok(),
        )
    }

    model(|| {
        let inbox = Arc::new(Lock::new(Inbox::new(UNBOUNDED, Overflow::Refuse)));
        let sender = thread::spawn({
            let inbox = Arc::clone(&inbox);
            move || send(&inbox)
        });
        let accepted = send(&inbox) + joined(sender);
        assert_eq!(accepted, 1, "beyond the bound");
    });
}
