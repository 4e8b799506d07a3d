//! The recipes: `docs/recipes/*.md`.

#[doc = page!("docs/recipes/http_service.md")]
pub mod http_service {}

#[doc = page!("docs/recipes/live_updates.md")]
pub mod live_updates {}

#[doc = page!("docs/recipes/persistence.md")]
pub mod persistence {}

#[doc = page!("docs/recipes/stopping_a_service.md")]
pub mod stopping_a_service {}

#[doc = page!("docs/recipes/what_survives.md")]
pub mod what_survives {}
