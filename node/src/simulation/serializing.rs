//! Messages that are serialised on their way, in a simulation (feature `serde`).

use crate::simulation::simulation::Simulation;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

impl Simulation {
    /// Has every message of type `M` serialised and deserialised from now on, wherever it is sent
    /// to another process's mailbox: [`Simulation::add_codec`] with `MessagePack`, which says
    /// what its types say of themselves, by name. What it cannot take fails the seed that is
    /// explored, and stands in [`Simulation::carried`].
    pub fn serializing<M: Serialize + DeserializeOwned + 'static>(&self) {
        self.add_codec(round_trip::<M>);
    }

    /// As [`Simulation::serializing`], and what comes out must equal what went in: a field that
    /// is skipped, or a number that is rounded, is a failure too.
    pub fn serializing_unchanged<M>(&self)
    where
        M: Serialize + DeserializeOwned + PartialEq + fmt::Debug + 'static,
    {
        self.add_codec(|message: &M| match round_trip(message)? {
            same if same == *message => Ok(same),
            other => Err(format!("{message:?} comes out as {other:?}")),
        });
    }
}

fn round_trip<M: Serialize + DeserializeOwned>(message: &M) -> Result<M, String> {
    let bytes = rmp_serde::to_vec_named(message).map_err(|error| error.to_string())?;
    rmp_serde::from_slice(&bytes).map_err(|error| error.to_string())
}
