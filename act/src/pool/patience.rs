//! Whether who asks for room is ready to wait for it.

use crate::addressing::address::Address;
use crate::mailbox::permit::Permit;
use krarup_gen::SendError;

/// Whether who asks for room is ready to wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// It does not wait: a full worker or pool does what its overflow choice says.
    Hurried,
    /// It is ready to wait: nothing is dropped for it, and what it brings is not dropped.
    Waits,
}

impl Patience {
    /// Reserves room at a worker.
    pub(super) fn reserve<M, C>(self, worker: &Address<M, C>) -> Result<Permit<M>, SendError<()>>
    where
        M: Send + 'static,
        C: Send + 'static,
    {
        match self {
            Patience::Hurried => worker.reserve(),
            Patience::Waits => worker.reserve_patiently(),
        }
    }
}
