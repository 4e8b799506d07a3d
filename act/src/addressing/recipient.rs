//! Recipients: handles that send messages of one type only.

use crate::host::host::Host;
use crate::mailbox::permit::Permit;
use crate::process::current;
use crate::process::process::Process;
use krarup_gen::{Name, Pid, SendError, Target};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::sync::Arc;

/// A handle on a process for messages of type `T` only (actix's `Recipient`).
/// [`Address::recipient`](crate::Address::recipient) makes it if the process's own message type is
/// made from a `T` ([`From`]).
///
/// Recipients of actors, pools and bare processes have the same type, so a function or a field
/// that only sends takes a recipient. Like an address it does not keep its process alive, and
/// it outlives the process.
///
/// ```
/// # use krarup_act::{Address, Recipient};
/// enum Till {
///     Paid(u32),
///     Close,
/// }
///
/// impl From<u32> for Till {
///     fn from(amount: u32) -> Self {
///         Till::Paid(amount)
///     }
/// }
///
/// /// Can pay, but cannot close the till.
/// struct Customer {
///     till: Recipient<u32>,
/// }
///
/// fn customer(till: &Address<Till>) -> Customer {
///     Customer { till: till.recipient() }
/// }
/// # let _ = (customer, Till::Close, |customer: Customer| customer.till.send(3));
/// ```
pub struct Recipient<T> {
    deliver: Arc<dyn DeliverMessage<T>>,
}

/// The operations behind a recipient; implemented for addresses and aliases.
pub(crate) trait DeliverMessage<T>: Send + Sync {
    /// Sends on behalf of the process with the given number, and counts the message as sent.
    fn deliver(&self, message: T, sender: u64) -> Result<(), SendError<T>>;

    /// Sends regardless of the bound; does not report whether the message arrives.
    fn notify(&self, message: T);

    /// Reserves room for one message.
    fn reserve(&self) -> Result<Permit<T>, SendError<()>>;

    /// Waits in line for room for one message. If there is none the message is given back: it is counted here.
    fn room(&self) -> RoomInLine<T>;

    /// Sends into room at another node that [`DeliverMessage::room`] has granted, on behalf of
    /// the process with the given number.
    fn deliver_at_place(&self, message: T, sender: u64) -> Result<(), SendError<T>> {
        self.deliver(message, sender)
    }

    /// The process; `None` if it is found by its name, and none has the name now.
    fn process(&self) -> Option<Arc<dyn Process>>;

    /// The pid of the process, or, where none has its name, that of the node.
    fn pid(&self) -> Pid;

    /// The name by which the process is found, on this node.
    fn name_here(&self) -> Option<&Name> {
        None
    }

    fn host(&self) -> &Arc<dyn Host>;

    fn is_alive(&self) -> bool;

    /// A cheap hint: false if the process surely waits for no answer now, so that a call to it closes no
    /// cycle of calls.
    fn seems_to_wait(&self) -> bool {
        true
    }

    /// Takes the number of the call that the last message sent on this thread has made, if
    /// its process is on another node.
    fn begun_call(&self) -> Option<u64> {
        None
    }

    /// The name and the node of the process, if it is found by a name on another node.
    fn name_there(&self) -> Option<Target> {
        None
    }
}

/// Room that was waited for.
pub(crate) enum Room<T> {
    /// In a mailbox.
    Permit(Permit<T>),
    /// In the queue to another node. The place is left when it is dropped.
    #[cfg_attr(not(feature = "serde"), expect(dead_code, reason = "there are no other nodes"))]
    Place(Box<dyn Send>),
}

/// A future of room in line.
pub(crate) type RoomInLine<T> =
    Pin<Box<dyn Future<Output = Result<Room<T>, SendError<()>>> + Send>>;

impl<T: Send + 'static> Recipient<T> {
    pub(crate) fn new(deliver: impl DeliverMessage<T> + 'static) -> Self {
        Recipient { deliver: Arc::new(deliver) }
    }

    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        self.deliver.host()
    }

    /// The name and the node of the process, if it is found by a name on another node.
    pub(crate) fn name_there(&self) -> Option<Target> {
        self.deliver.name_there()
    }

    /// Takes the call that the last message sent on this thread has made at another node: the
    /// stand-in of its process, and its number there.
    pub(crate) fn begun_call(&self) -> Option<(Arc<dyn Process>, u64)> {
        let call = self.deliver.begun_call()?;
        Some((self.deliver.process()?, call))
    }

    pub(crate) fn process(&self) -> Option<Arc<dyn Process>> {
        self.deliver.process()
    }

    /// A cheap hint: false if the process surely waits for no answer now.
    pub(crate) fn seems_to_wait(&self) -> bool {
        self.deliver.seems_to_wait()
    }

    /// Sends a message on the Main lane.
    ///
    /// # Errors
    /// Those of [`Address::send`](crate::Address::send); all return the message unchanged.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let sender = current::sender(self.pid().creation());
        self.deliver.deliver(message, sender)
    }

    /// Reserves room for a message.
    ///
    /// # Errors
    /// Those of [`Address::send`](crate::Address::send).
    pub fn reserve(&self) -> Result<Permit<T>, SendError<()>> {
        self.deliver.reserve()
    }

    pub(crate) fn room(&self) -> RoomInLine<T> {
        self.deliver.room()
    }

    pub(crate) fn send_into(&self, room: Room<T>, message: T) -> Result<(), SendError<T>> {
        match room {
            Room::Permit(permit) => {
                permit.send(message);
                Ok(())
            }
            Room::Place(place) => {
                let sender = current::sender(self.pid().creation());
                let sent = self.deliver.deliver_at_place(message, sender);
                drop(place);
                sent
            }
        }
    }

    /// Sends regardless of the bound of the mailbox, as the runtime does. For hosts.
    pub fn notify(&self, message: T) {
        self.deliver.notify(message);
    }

    /// Returns the pid of the process. A recipient by name ([`NamedAddress::recipient`]) has that of the process
    /// that has the name now, or that of the node if there is none.
    ///
    /// [`NamedAddress::recipient`]: crate::NamedAddress::recipient
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.deliver.pid()
    }

    /// Returns the process as this recipient finds it: by its name, on this node or another one, else by its pid.
    ///
    /// A log that names the receiver of a call prints this. Errors have the pid of the process, and that of a name on
    /// another node is a number that stands for the name here (rule Zcall4):
    ///
    /// ```
    /// # use krarup_act::Recipient;
    /// # use krarup_gen::CallError;
    /// fn text(stock: &Recipient<u32>, error: &CallError) -> String {
    ///     // "stock" at shop@host: call to <4294967295.1.0> timed out after 5s
    ///     format!("{}: {error}", stock.target())
    /// }
    /// # let _ = text;
    /// ```
    #[must_use]
    pub fn target(&self) -> Target {
        match (self.deliver.name_here(), self.deliver.name_there()) {
            (Some(name), _) => Target::from(name),
            (None, Some(there)) => there,
            (None, None) => Target::Pid(self.pid()),
        }
    }

    /// Whether the process is alive and this recipient can still reach it.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.deliver.is_alive()
    }
}

impl<T> Clone for Recipient<T> {
    fn clone(&self) -> Self {
        Recipient { deliver: Arc::clone(&self.deliver) }
    }
}

impl<T: Send + 'static> fmt::Debug for Recipient<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recipient({})", self.target())
    }
}

/// Two recipients are equal if they refer to the same process, or, by name, to the same name of the same node.
impl<T: Send + 'static> PartialEq for Recipient<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self.deliver.name_here(), other.deliver.name_here()) {
            (None, None) => self.pid() == other.pid(),
            (one, two) => {
                let node = |of: &Self| of.host().node_pid();
                one == two && node(self) == node(other)
            }
        }
    }
}

impl<T: Send + 'static> Eq for Recipient<T> {}

/// The hash is that of the pid, as for [`Address`](crate::Address), or that of the name.
impl<T: Send + 'static> Hash for Recipient<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.deliver.name_here() {
            Some(name) => name.hash(state),
            None => self.pid().hash(state),
        }
    }
}
