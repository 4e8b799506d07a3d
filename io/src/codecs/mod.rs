//! How a stream of bytes becomes frames, and frames bytes.

pub(crate) mod codec;
pub(crate) mod lines;
pub(crate) mod prefixed;
pub(crate) mod raw;
