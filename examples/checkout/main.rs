//! A checkout pool: workers that are leased, as with poolboy.
#![forbid(unsafe_code)]

mod calls;
mod errors;
mod lease;
mod line;
mod machine;
mod status;
mod workers;

fn main() {}
