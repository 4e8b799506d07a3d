//! Messages that are encoded and decoded on their way through a simulation, to find those that
//! would not survive a network before there is one.
//!
//! The model is Akka's `serialize-messages`. Here codecs are set per type, because in Rust not
//! every type can be serialised, and messages within a node need not be.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Encodes and decodes a message; `Err` gives the reason for a failure.
pub(crate) type MessageCodec = Arc<dyn Fn(&mut dyn Any) -> Result<(), String> + Send + Sync>;

/// The most failures that are kept.
const KEPT: usize = 16;

/// The results of a simulation's codecs; see `Simulation::carried`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Carried {
    /// The failures, at most the first 16.
    pub failures: Vec<CodecFailure>,
    /// The types that have a codec, with the number of messages that passed it.
    pub through: BTreeMap<&'static str, u64>,
    /// The types without a codec: their messages were delivered unchanged.
    pub untouched: BTreeSet<&'static str>,
}

/// A message that its codec failed to convert. It was delivered unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodecFailure {
    /// The type of the message.
    pub message: &'static str,
    /// The error of the codec.
    pub error: String,
}

impl fmt::Display for CodecFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the codec of {} failed: {}", self.message, self.error)
    }
}

impl std::error::Error for CodecFailure {}

#[derive(Default)]
pub(crate) struct Codecs {
    by_type: BTreeMap<TypeId, MessageCodec>,
    carried: Carried,
}

impl Codecs {
    /// Adds a codec, which returns the message as it is received.
    pub(crate) fn add<M: 'static, E: fmt::Display>(
        &mut self,
        codec: impl Fn(&M) -> Result<M, E> + Send + Sync + 'static,
    ) {
        let codec = move |message: &mut dyn Any| match message.downcast_mut::<M>() {
            Some(message) => {
                *message = codec(message).map_err(|error| error.to_string())?;
                Ok(())
            }
            // Not reached: a codec is found by the type.
            None => Ok(()),
        };
        self.by_type.insert(TypeId::of::<M>(), Arc::new(codec));
    }

    /// The codec for a message of this type, if there is one.
    pub(crate) fn find(&mut self, name: &'static str, message: &dyn Any) -> Option<MessageCodec> {
        if self.by_type.is_empty() {
            return None;
        }
        let codec = self.by_type.get(&message.type_id()).cloned();
        if codec.is_none() {
            self.carried.untouched.insert(name);
        }
        codec
    }

    pub(crate) fn note(&mut self, name: &'static str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => *self.carried.through.entry(name).or_default() += 1,
            Err(error) if self.carried.failures.len() < KEPT => {
                self.carried.failures.push(CodecFailure { message: name, error });
            }
            Err(_) => {}
        }
    }

    pub(crate) fn carried(&self) -> &Carried {
        &self.carried
    }
}
