//! Messages that are serialised on their way through a simulation (feature `serde`).

use crate::simulation::simulation::Simulation;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

impl Simulation {
    /// Serialises and deserialises every message of type `M` that is sent to another process's
    /// mailbox from now on (feature `serde`). It is [`Simulation::add_codec`] with `MessagePack`, in which fields
    /// have names. A message that cannot be converted fails the seed of an exploration, and is
    /// listed in [`Simulation::carried`].
    pub fn serializing<M: Serialize + DeserializeOwned + 'static>(&self) {
        self.add_codec(round_trip::<M>);
    }

    /// As [`Simulation::serializing`] (feature `serde`), but the result must equal the message: a
    /// skipped field or a rounded number is a failure too.
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
