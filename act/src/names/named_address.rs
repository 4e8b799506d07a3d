//! The address of whichever process has a name (rules H2, H3).

use crate::addressing::address::Address;
use crate::host::host::Host;
use crate::mailbox::permit::Permit;
use crate::names::name_wait::LookupOrWait;
use crate::process::current;
use crate::sync::RwLock;
use krarup_gen::{
    DeadLetter, DeadLetterCause, LookupError, MessageTypes, Name, NameError, SendError, Target,
};
use std::any::type_name;
use std::fmt;
use std::sync::Arc;

/// The address of whichever process has a name, now or later: of a service that its supervisor may
/// replace.
///
/// An [`Address`] belongs to one process and ends with it. A named address remembers the address that
/// its name had last, and looks the name up again when that process has ended (rule H2). So a message
/// needs no look-up, and a handle that is kept in a field, in a closure or in the state of an HTTP
/// service stays right for as long as the node runs. It keeps no process alive. Clones share what they
/// remember.
///
/// [`NamedAddress::send`] needs a process that has the name now. [`NamedAddress::call`] waits through
/// a restart, and repeats requests that no handler has seen; [`Retry`](crate::Retry) says which others
/// (rules H3 to H6).
///
/// ```
/// # use krarup_act::{Context, Reply};
/// # use krarup_gen::Result;
/// enum Stock {
///     Take { item: u64, reply: Reply<bool> },
/// }
///
/// async fn order(ctx: &Context<()>, item: u64) -> Result<bool> {
///     let stock = ctx.named_address::<Stock, Stock>("stock")?;
///     // If the process is being restarted, this waits for the next one, 5 s at most.
///     Ok(stock.call(move |reply| Stock::Take { item, reply }).await?)
/// }
/// # let _ = order;
/// ```
///
/// The names are those of this node. A process of another node is sent to by its name there with
/// `ctx.send((name, node), message)`, which looks up there each time.
pub struct NamedAddress<M, C = M> {
    shared: Arc<SharedAddress<M, C>>,
}

struct SharedAddress<M, C> {
    host: Arc<dyn Host>,
    name: Name,
    /// The address that the name had last. It is copied and replaced under the lock, and used and
    /// dropped without it.
    last: RwLock<Option<Address<M, C>>>,
}

impl<M: Send + 'static, C: Send + 'static> NamedAddress<M, C> {
    /// Creates the address of whichever process has this name. For hosts; users have
    /// `Node::named_address` and [`Context::named_address`](crate::Context::named_address).
    ///
    /// # Errors
    /// [`NameError`]: the text is no name.
    pub fn new(host: Arc<dyn Host>, name: impl AsRef<str>) -> Result<Self, NameError> {
        let name = Name::new(name)?;
        let last = RwLock::default();
        Ok(NamedAddress { shared: Arc::new(SharedAddress { host, name, last }) })
    }

    /// Returns the address of the process that has the name now.
    ///
    /// # Errors
    /// [`LookupError::NoName`]: no process has the name. [`LookupError::WrongType`]: it takes other
    /// messages.
    pub fn address(&self) -> Result<Address<M, C>, LookupError> {
        match self.last() {
            Some(last) if last.is_alive() => Ok(last),
            _ => self.look_up(),
        }
    }

    /// Waits until a process has the name (rule H1).
    pub fn lookup_or_wait(&self) -> LookupOrWait<M, C> {
        LookupOrWait::new(Arc::clone(self.host()), self.name())
    }

    /// Sends a message on the Main lane of the process that has the name now (rule H2). It does not
    /// wait for one.
    ///
    /// # Errors
    /// [`SendError::NoName`] if no process has the name, [`SendError::WrongType`] if the one that has
    /// it takes other messages, and those of [`Address::send`]. All return the message.
    pub fn send(&self, message: M) -> Result<(), SendError<M>> {
        let Some(last) = self.last() else { return self.send_anew(message) };
        let sent = last.forward(message, current::sender(last.pid().creation()));
        match sent {
            Ok(()) => {
                current::count_sent();
                Ok(())
            }
            // It is no dead letter yet: another process may have the name.
            Err(SendError::NoProcess { message, to }) if to == last.pid() => {
                self.send_anew(message)
            }
            Err(error) => {
                if let Some(cause) = error.refusal() {
                    self.host().count_refusal(cause);
                }
                Err(error)
            }
        }
    }

    /// Looks the name up and sends.
    #[cold]
    fn send_anew(&self, message: M) -> Result<(), SendError<M>> {
        match self.look_up() {
            Ok(address) => address.send(message),
            Err(error) => {
                let error = self.not_found(&error);
                self.note_given_back(&error);
                Err(error.with_message(message))
            }
        }
    }

    /// Reserves room at the process that has the name now (rule H2). There is no message yet, so
    /// nothing is counted.
    pub(super) fn reserved(&self) -> Result<Permit<M>, SendError<()>> {
        if let Some(last) = self.last() {
            match last.reserve() {
                // Another process may have the name.
                Err(SendError::NoProcess { to, .. }) if to == last.pid() => {}
                reserved => return reserved,
            }
        }
        match self.look_up() {
            Ok(address) => address.reserve(),
            Err(error) => Err(self.not_found(&error)),
        }
    }

    /// The error of a message that finds no process, or one that takes other messages.
    #[cold]
    pub(super) fn not_found(&self, error: &LookupError) -> SendError<()> {
        if let LookupError::WrongType { expected, found, .. } = *error {
            let commands = (expected.1 != found.1).then_some((expected.1, found.1));
            let types = MessageTypes { expected: expected.0, found: found.0, commands };
            let to = self.host().whereis(self.name()).map(|process| process.pid());
            let to = to.unwrap_or_else(|| self.host().node_pid());
            return SendError::WrongType { message: (), to, types: Box::new(types) };
        }
        SendError::NoName { message: (), name: self.name().to_owned() }
    }

    /// Counts a message that is given back to its sender with this error: as a dead letter if it
    /// has found no process.
    #[cold]
    pub(super) fn note_given_back(&self, error: &SendError<()>) {
        let target = match error {
            SendError::NoName { .. } => Target::Name(self.shared.name.clone(), None),
            SendError::NoProcess { to, .. } => Target::Pid(*to),
            error => {
                if let Some(cause) = error.refusal() {
                    self.host().count_refusal(cause);
                }
                return;
            }
        };
        let host = &**self.host();
        let from = current::pid().filter(|pid| pid.creation() == host.node_pid().creation());
        let cause = DeadLetterCause::NoProcess;
        host.dead_letter(DeadLetter::new(target, from, type_name::<M>(), cause));
    }

    /// Looks the name up, and remembers what was found.
    pub(super) fn look_up(&self) -> Result<Address<M, C>, LookupError> {
        let process = self.host().whereis(self.name());
        let process = process.ok_or_else(|| LookupError::NoName(self.name().to_owned()))?;
        let address = Address::of(&process)?;
        self.remember(&address);
        Ok(address)
    }

    pub(super) fn remember(&self, address: &Address<M, C>) {
        let before = self.shared.last.write().replace(address.clone());
        drop(before);
    }

    pub(super) fn last(&self) -> Option<Address<M, C>> {
        self.shared.last.read().clone()
    }
}

impl<M, C> NamedAddress<M, C> {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.shared.name.as_str()
    }

    pub(super) fn full_name(&self) -> &Name {
        &self.shared.name
    }

    pub(super) fn host(&self) -> &Arc<dyn Host> {
        &self.shared.host
    }
}

impl<M, C> Clone for NamedAddress<M, C> {
    fn clone(&self) -> Self {
        NamedAddress { shared: Arc::clone(&self.shared) }
    }
}

impl<M, C> fmt::Debug for NamedAddress<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NamedAddress({:?})", self.name())
    }
}
