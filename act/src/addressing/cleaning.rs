//! What is done at the end of the process of an address.

use super::address::Address;
use crate::lifecycle::cleaners::CleanerFn;

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// As [`UntypedCell::add_cleaner`](crate::process::untyped_cell::UntypedCell).
    pub(crate) fn add_cleaner(&self, cleaner: CleanerFn) -> Result<(), CleanerFn> {
        self.cell.untyped().add_cleaner(cleaner)
    }
}
