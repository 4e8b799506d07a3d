//! What is done at the end of the process of an address.

use super::address::Address;
use crate::lifecycle::cleaners::CleanerFn;

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// As [`CellCore::add_cleaner`](crate::process::cell_core::CellCore::add_cleaner).
    pub(crate) fn add_cleaner(&self, cleaner: CleanerFn) -> Result<(), CleanerFn> {
        self.cell.untyped().add_cleaner(cleaner)
    }
}
