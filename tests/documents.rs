//! The pages of `docs` with snippets: each is compiled, and run as a test.

#![forbid(unsafe_code)]

/// `docs/guide.md`.
#[doc = include_str!("../docs/guide.md")]
#[cfg(doctest)]
pub mod guide {}

/// `docs/porting.md`.
#[doc = include_str!("../docs/porting.md")]
#[cfg(doctest)]
pub mod porting {}

/// `docs/settings.md`.
#[doc = include_str!("../docs/settings.md")]
#[cfg(doctest)]
pub mod settings {}

/// `docs/observer.md`.
#[doc = include_str!("../docs/observer.md")]
#[cfg(doctest)]
pub mod observer {}

/// `docs/cluster_operation.md`.
#[doc = include_str!("../docs/cluster_operation.md")]
#[cfg(doctest)]
pub mod cluster_operation {}

/// `docs/porting/erlang_cache.md`.
#[doc = include_str!("../docs/porting/erlang_cache.md")]
#[cfg(doctest)]
pub mod ported_erlang_cache {}

/// `docs/porting/ergo_demos.md`.
#[doc = include_str!("../docs/porting/ergo_demos.md")]
#[cfg(doctest)]
pub mod ported_ergo_demos {}
