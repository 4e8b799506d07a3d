//! Who gets the requests of a service: a process, or whichever has a name.

use krarup::mailbox::Permit;
use krarup::{Address, CallError, LookupError, Name, NamedAddress, NamedCallError, SendError};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Room, and the process that has it.
pub(crate) type ReservedRoom<M, C> = (Address<M, C>, Permit<M>);

/// Waits in line for room.
pub(crate) type RoomWait<M, C> =
    Pin<Box<dyn Future<Output = Result<ReservedRoom<M, C>, SendError<()>>> + Send>>;

pub(crate) enum Callee<M, C> {
    Process(Address<M, C>),
    Named(NamedAddress<M, C>),
}

impl<M: Send + 'static, C: Send + 'static> Callee<M, C> {
    /// The process that is called now.
    pub(crate) fn address(&self) -> Result<Address<M, C>, CallError> {
        match self {
            Callee::Process(address) => Ok(address.clone()),
            Callee::Named(named) => named.address().map_err(|error| not_found(named.name(), error)),
        }
    }

    /// Room that there is now.
    pub(crate) fn reserve(&self) -> Result<ReservedRoom<M, C>, CallError> {
        let address = self.address()?;
        let room = address.reserve().map_err(|error| self.refused(&error))?;
        Ok((address, room))
    }

    /// Waits for room; by a name also until a process has it.
    pub(crate) fn wait_for_room(&self) -> RoomWait<M, C> {
        match self {
            Callee::Process(address) => {
                let address = address.clone();
                Box::pin(async move {
                    let room = address.reserve_or_wait().await?;
                    Ok((address, room))
                })
            }
            Callee::Named(named) => {
                let named = named.clone();
                Box::pin(async move { named.reserve_or_wait().await })
            }
        }
    }

    /// Whether another process follows when this one has ended.
    pub(crate) fn outlives_processes(&self) -> bool {
        matches!(self, Callee::Named(_))
    }

    /// The error of a call whose request has found no room.
    pub(crate) fn refused(&self, error: &SendError<()>) -> CallError {
        match *error {
            SendError::Full { to, .. } => CallError::Full { to },
            SendError::NoWorkers { to, .. } => CallError::NoWorkers { to },
            SendError::RateLimited { to, retry_after, .. } => {
                CallError::RateLimited { to, retry_after }
            }
            SendError::Draining { to, .. } => CallError::Draining { to },
            SendError::NotReservable { to, .. } => CallError::NotReservable { to },
            SendError::NoProcess { to, .. } => CallError::NoProcess { to },
            _ => match self.address() {
                Ok(address) => CallError::NoProcess { to: address.pid() },
                Err(error) => error,
            },
        }
    }
}

/// The error of a call that finds no process with the name.
fn not_found(name: &str, error: LookupError) -> CallError {
    let error = match (Name::new(name), error) {
        (Ok(name), LookupError::NoName(_)) => {
            NamedCallError::NoName { name, waited: Duration::ZERO }
        }
        (_, error) => NamedCallError::Lookup(error),
    };
    error.into()
}

impl<M, C> Clone for Callee<M, C> {
    fn clone(&self) -> Self {
        match self {
            Callee::Process(address) => Callee::Process(address.clone()),
            Callee::Named(named) => Callee::Named(named.clone()),
        }
    }
}

impl<M, C> fmt::Debug for Callee<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Callee::Process(address) => address.fmt(f),
            Callee::Named(named) => named.fmt(f),
        }
    }
}
