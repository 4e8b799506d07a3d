//! Recipients of whichever process has a name (rule H2).

use crate::addressing::recipient::{DeliverMessage, Recipient, Room, RoomInLine};
use crate::host::host::Host;
use crate::mailbox::permit::Permit;
use crate::names::named_address::NamedAddress;
use crate::process::current;
use crate::process::process::Process;
use krarup_gen::{Name, Pid, SendError};
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> NamedAddress<M, C> {
    /// Returns a recipient for messages of type `T` that sends to whichever process has the name, as this address does.
    /// What takes a recipient need not know that its process may be replaced.
    ///
    /// [`Recipient::send`] fails with [`SendError::NoName`] while no process has the name, and a call
    /// ([`Recipient::call`]) is one attempt; [`NamedAddress::call`] waits through a restart.
    /// [`Recipient::send_or_wait`] does too: it waits until a process has the name and has room, as long as its timeout
    /// allows or the node runs. What is bound to a
    /// process, as a membership of a group or a subscription, is made for the process that has the name then.
    ///
    /// ```
    /// # use krarup_act::{Context, Recipient};
    /// # use krarup_gen::Result;
    /// enum Till {
    ///     Paid(u32),
    /// }
    /// # impl From<u32> for Till { fn from(amount: u32) -> Self { Till::Paid(amount) } }
    ///
    /// fn till(ctx: &Context<()>) -> Result<Recipient<u32>> {
    ///     Ok(ctx.named_address::<Till, Till>("till")?.recipient())
    /// }
    /// # let _ = (till, |Till::Paid(amount)| amount);
    /// ```
    #[must_use]
    pub fn recipient<T>(&self) -> Recipient<T>
    where
        T: Send + 'static,
        M: From<T>,
    {
        Recipient::new(self.clone())
    }
}

impl<M, C, T> DeliverMessage<T> for NamedAddress<M, C>
where
    M: From<T> + Send + 'static,
    C: Send + 'static,
    T: Send + 'static,
{
    fn deliver(&self, message: T, sender: u64) -> Result<(), SendError<T>> {
        // A message that is not accepted is given back as it came: it is converted when there is room.
        match self.reserved() {
            Ok(permit) => {
                permit.converting().send_from(message, sender);
                current::count_sent();
                Ok(())
            }
            Err(error) => {
                self.note_given_back(&error);
                Err(error.with_message(message))
            }
        }
    }

    fn notify(&self, message: T) {
        match self.address() {
            Ok(address) => address.notify(message.into()),
            // It is a dead letter.
            Err(_) => drop(self.send(message.into())),
        }
    }

    fn reserve(&self) -> Result<Permit<T>, SendError<()>> {
        self.reserved().map(Permit::converting)
    }

    fn room(&self) -> RoomInLine<T> {
        let named = self.clone();
        Box::pin(async move {
            let room = named.reserve_or_wait().await;
            let room = room.inspect_err(|error| named.note_given_back(error));
            room.map(|(_, permit)| Room::Permit(permit.converting()))
        })
    }

    fn process(&self) -> Option<Arc<dyn Process>> {
        self.address().ok().map(|address| address.process())
    }

    fn pid(&self) -> Pid {
        self.address().map_or_else(|_| NamedAddress::host(self).node_pid(), |found| found.pid())
    }

    fn host(&self) -> &Arc<dyn Host> {
        NamedAddress::host(self)
    }

    fn is_alive(&self) -> bool {
        self.address().is_ok()
    }

    fn name_here(&self) -> Option<&Name> {
        Some(self.full_name())
    }
}
