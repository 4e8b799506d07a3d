//! The typed handle on a process.

use crate::host::Host;
use crate::mailbox::entry::Notice;
use crate::process::cell::Cell;
use crate::process::process::Process;
use krarup_gen::{LookupError, Pid, Priority, ProcessInfo, SendError};
use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

/// A typed handle on a process: what one sends to and calls.
///
/// `M` is what the Main lane takes, `C` what the Urgent and System lanes take; for an
/// actor they are one type. An address neither keeps its process alive nor dies with
/// it: a send to a dead process is an error that gives the message back (rule M7).
/// Cloning is cheap, and a local send looks nothing up.
pub struct Address<M, C = M> {
    cell: Arc<Cell<M, C>>,
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    pub(crate) fn new(cell: Arc<Cell<M, C>>) -> Self {
        Address { cell }
    }

    /// The process as an address, if its message types are these: what a look-up by
    /// name or pid does.
    ///
    /// # Errors
    /// [`LookupError::WrongType`].
    pub fn of(process: &Arc<dyn Process>) -> Result<Self, LookupError> {
        let any: Arc<dyn Any + Send + Sync> = Arc::clone(process) as _;
        any.downcast::<Cell<M, C>>().map(|cell| Address { cell }).map_err(|_| {
            let name = process.info().name;
            LookupError::WrongType {
                process: name.map_or_else(|| process.pid().to_string(), |name| name.to_string()),
                expected: process.lane_types(),
                found: (type_name::<M>(), type_name::<C>()),
            }
        })
    }

    /// The identity of the process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.cell.pid
    }

    /// Sends a message on the Main lane. Inside a process the message carries its pid.
    ///
    /// # Errors
    /// [`SendError::Full`] from a bounded mailbox or a saturated pool,
    /// [`SendError::NoProcess`] if the process is dead; both give the message back.
    #[inline]
    pub fn send(&self, message: M) -> Result<(), SendError<M>> {
        self.cell.send(message)
    }

    /// Sends on the System lane (rule M2): before everything on Main, never `Full`.
    ///
    /// # Errors
    /// [`SendError::NoProcess`] if the process is dead.
    pub fn send_high(&self, command: C) -> Result<(), SendError<C>> {
        self.cell.send_control(Priority::High, command)
    }

    /// Sends on the Urgent lane (rule M2): before everything else, never `Full`.
    ///
    /// # Errors
    /// [`SendError::NoProcess`] if the process is dead.
    pub fn send_max(&self, command: C) -> Result<(), SendError<C>> {
        self.cell.send_control(Priority::Max, command)
    }

    /// Sends in the name of the process with the given number: what a
    /// [`crate::Route`] does, so that the worker sees the original sender.
    ///
    /// # Errors
    /// Those of [`Address::send`].
    #[inline]
    pub fn forward(&self, message: M, sender: u64) -> Result<(), SendError<M>> {
        self.cell.send_from(message, sender)
    }

    /// Ends the process normally once everything that its Main lane has accepted until
    /// now is handled (Akka's `PoisonPill`); an actor runs `terminate`. A bare process
    /// gets [`crate::Received::Finish`].
    pub fn finish(&self) {
        self.cell.push_notice(Notice::Finish);
    }

    /// Whether the process is alive now.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.cell.is_alive()
    }

    /// Messages waiting on the Main lane now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.cell.main_length()
    }

    /// A picture of the process, dead or alive (rule X3).
    #[must_use]
    pub fn info(&self) -> ProcessInfo {
        self.cell.info()
    }

    /// The process for a host's tables and for operations that know no types.
    #[must_use]
    pub fn process(&self) -> Arc<dyn Process> {
        Arc::clone(&self.cell) as Arc<dyn Process>
    }
}

impl<M, C> Address<M, C> {
    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.cell.host
    }
}

impl<M: Send + 'static> Address<M, M> {
    /// Sends on the lane that `priority` names (rule M2).
    ///
    /// # Errors
    /// Those of [`Address::send`].
    pub fn send_with(&self, priority: Priority, message: M) -> Result<(), SendError<M>> {
        match priority {
            Priority::Normal => self.send(message),
            priority => self.cell.send_control(priority, message),
        }
    }
}

impl<M, C> Clone for Address<M, C> {
    fn clone(&self) -> Self {
        Address { cell: Arc::clone(&self.cell) }
    }
}

impl<M, C> fmt::Debug for Address<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.cell.pid)
    }
}

/// Two addresses are equal if they are of the same process.
impl<M, C> PartialEq for Address<M, C> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.cell, &other.cell)
    }
}

impl<M, C> Eq for Address<M, C> {}
