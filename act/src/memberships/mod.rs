//! What a process is a member of: groups, and keys of registries (rules G2, G7).

pub(crate) mod records;
