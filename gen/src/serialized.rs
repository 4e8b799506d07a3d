//! Identities in messages that leave the node.
//!
//! Each is a newtype struct whose name begins with `krarup.`, by which the codec of a cluster
//! knows it. A pid contains the text that it prints, a reference and an alias their numbers.

use crate::{Alias, Pid, Ref};
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use serde::ser::{Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// The name of a serialized pid.
const PID: &str = "krarup.Pid";
/// The name of a serialized reference.
const REF: &str = "krarup.Ref";
/// The name of a serialized alias.
const ALIAS: &str = "krarup.Alias";

/// Reads the contents of a newtype struct.
struct Inner<T>(&'static str, PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Inner<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<T, D::Error> {
        T::deserialize(inner)
    }
}

impl Serialize for Pid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(PID, &self.to_string())
    }
}

impl<'de> Deserialize<'de> for Pid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let inner = Inner::<String>("a pid", PhantomData);
        let text = deserializer.deserialize_newtype_struct(PID, inner)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl Serialize for Ref {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(REF, &self.number())
    }
}

impl<'de> Deserialize<'de> for Ref {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let inner = Inner::<u64>("a reference", PhantomData);
        deserializer.deserialize_newtype_struct(REF, inner).map(Ref::new)
    }
}

impl Serialize for Alias {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(ALIAS, &self.number())
    }
}

impl<'de> Deserialize<'de> for Alias {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let inner = Inner::<u64>("an alias", PhantomData);
        let number = deserializer.deserialize_newtype_struct(ALIAS, inner)?;
        Ok(Alias::new(Ref::new(number)))
    }
}
