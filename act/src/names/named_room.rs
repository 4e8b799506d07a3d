//! Room at whichever process has a name (rule H2).

use crate::addressing::address::Address;
use crate::mailbox::permit::Permit;
use crate::names::name_wait::NameWait;
use crate::names::named_address::NamedAddress;
use krarup_gen::{Pid, SendError};

impl<M: Send + 'static, C: Send + 'static> NamedAddress<M, C> {
    /// Waits until a process has the name and has room, through restarts too, and reserves it. Returns the process with
    /// its room, for [`Address::call_into`](crate::Address::call_into) or [`Permit::send`](crate::Permit::send). It waits
    /// as long as the node runs, and in a process until that is asked to stop (rule H10); drop the future to give up.
    ///
    /// There is no message yet, so nothing is a dead letter.
    ///
    /// # Errors
    /// [`SendError::NoName`] if the node stops, or the process that waits, [`SendError::WrongType`] if the process that has the name takes other
    /// messages, and those of [`Address::reserve_or_wait`](crate::Address::reserve_or_wait) but that the process has ended.
    pub async fn reserve_or_wait(&self) -> Result<(Address<M, C>, Permit<M>), SendError<()>> {
        let mut ended = None;
        loop {
            let Some(address) = self.address_or_wait(ended).await else {
                // The node stops, who waits is asked to stop, or it takes other messages.
                let address = self.address().map_err(|error| self.not_found(&error))?;
                let permit = address.reserve()?;
                return Ok((address, permit));
            };
            match address.reserve_or_wait().await {
                Err(SendError::NoProcess { to, .. }) if to == address.pid() => ended = Some(to),
                room => return room.map(|permit| (address, permit)),
            }
        }
    }

    /// The address of the process that has the name, other than the one that has ended, as soon as there is one; `None`
    /// if the node stops, if who waits is asked to stop (rule H10), or if it takes other messages.
    async fn address_or_wait(&self, ended: Option<Pid>) -> Option<Address<M, C>> {
        if let Ok(address) = self.address()
            && ended != Some(address.pid())
        {
            return Some(address);
        }
        let process = NameWait::new(NamedAddress::host(self), self.full_name(), ended).await;
        let address = Address::of(&process.ok()?).ok()?;
        self.remember(&address);
        Some(address)
    }
}
