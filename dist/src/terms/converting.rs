//! Values as terms and terms as values, outside any message.

use crate::core::ClusterCore;
use crate::terms::reading::Reading;
use crate::terms::writing::Writing;
use krarup_gen::Pid;
use krarup_wire::codec::Extension;
use krarup_wire::etf::{Decoder, Term};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::sync::Arc;

impl ClusterCore {
    /// Writes a value of a process as the bytes of a term.
    pub(crate) fn to_bytes<T: Serialize + ?Sized>(
        self: &Arc<Self>,
        by: Pid,
        value: &T,
    ) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let mut extension = Writing::new(self, by, false);
        let written = self.codec.write_with(value, &mut bytes, &mut extension);
        written.map(|()| bytes).map_err(|error| error.to_string())
    }

    pub(crate) fn to_term<T: Serialize + ?Sized>(
        self: &Arc<Self>,
        value: &T,
    ) -> Result<Term, String> {
        let bytes = self.to_bytes(self.pid, value)?;
        Decoder::new(&bytes).last_term().map_err(|error| error.to_string())
    }

    pub(crate) fn from_term<T: DeserializeOwned>(
        self: &Arc<Self>,
        term: &Term,
    ) -> Result<T, String> {
        let mut bytes = Vec::new();
        term.write(&mut bytes).map_err(|error| error.to_string())?;
        let missed_caller = Cell::default();
        let mut extension =
            Reading { core: self, by: 0, has_caller: false, missed_caller, from: None };
        let read = self.codec.read_with(Decoder::new(&bytes), &mut extension as &mut dyn Extension);
        read.map_err(|error| error.to_string())
    }
}
