//! Where a host keeps what its processes share.

use crate::sync::Mutex;
use std::any::Any;
use std::fmt;
use std::sync::Weak;

/// Where a host keeps what its processes share. Opaque outside this crate.
#[derive(Default)]
pub struct SharedHostSlot(
    /// A [`SharedHost`](super::shared_host::SharedHost). Weak, as it has a handle on the host.
    pub(super) Mutex<Option<Weak<dyn Any + Send + Sync>>>,
);

impl fmt::Debug for SharedHostSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedHostSlot(..)")
    }
}
