//! Messages that are taken apart and put together again on their way, in a simulation: what
//! would not survive a network is found before there is one.
//!
//! The form is that of Akka's `serialize-messages`; here it is said for each type, for in Rust
//! not every type can be serialised, and what is sent to a neighbour in the same node need
//! not be.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Takes a message apart and puts it together; `Err` says why not.
pub(crate) type MessageCodec = Arc<dyn Fn(&mut dyn Any) -> Result<(), String> + Send + Sync>;

/// How many failures are kept.
const KEPT: usize = 16;

/// What has gone by the codecs of a simulation; see `Simulation::carried`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Carried {
    /// Messages that did not come through, the first 16.
    pub failures: Vec<CodecFailure>,
    /// Types that have a codec, and how many messages of each came through.
    pub through: BTreeMap<&'static str, u64>,
    /// Types that were sent and have none: they went as they were.
    pub untouched: BTreeSet<&'static str>,
}

/// A message that did not come through its codec. It went on as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodecFailure {
    /// Its type.
    pub message: &'static str,
    /// What the codec said.
    pub error: String,
}

impl fmt::Display for CodecFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} does not come through its codec: {}", self.message, self.error)
    }
}

impl std::error::Error for CodecFailure {}

#[derive(Default)]
pub(crate) struct Codecs {
    by_type: BTreeMap<TypeId, MessageCodec>,
    carried: Carried,
}

impl Codecs {
    /// `codec` gives the message as it comes out at the other end.
    pub(crate) fn add<M: 'static, E: fmt::Display>(
        &mut self,
        codec: impl Fn(&M) -> Result<M, E> + Send + Sync + 'static,
    ) {
        let codec = move |message: &mut dyn Any| match message.downcast_mut::<M>() {
            Some(message) => {
                *message = codec(message).map_err(|error| error.to_string())?;
                Ok(())
            }
            // Not reached: codecs are found by the type.
            None => Ok(()),
        };
        self.by_type.insert(TypeId::of::<M>(), Arc::new(codec));
    }

    /// The codec for a message of this type, if one is to be used.
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
