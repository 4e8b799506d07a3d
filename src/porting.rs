//! The pages on porting, by origin: `docs/porting/*.md`.

#[doc = page!("docs/porting/actor_crates.md")]
pub mod actor_crates {}

#[doc = page!("docs/porting/akka.md")]
pub mod akka {}

#[doc = page!("docs/porting/ergo.md")]
pub mod ergo {}

#[doc = page!("docs/porting/ergo_demos.md")]
pub mod ergo_demos {}

#[doc = page!("docs/porting/ergo_desk.md")]
pub mod ergo_desk {}

#[doc = page!("docs/porting/erlang.md")]
pub mod erlang {}

#[doc = page!("docs/porting/erlang_cache.md")]
pub mod erlang_cache {}

#[doc = page!("docs/porting/goakt.md")]
pub mod goakt {}

#[doc = page!("docs/porting/goakt_bank.md")]
pub mod goakt_bank {}

#[doc = page!("docs/porting/otavia.md")]
pub mod otavia {}

#[doc = page!("docs/porting/rust.md")]
pub mod rust {}

#[doc = page!("docs/porting/tokio.md")]
pub mod tokio {}

#[doc = page!("docs/porting/wippy.md")]
pub mod wippy {}
