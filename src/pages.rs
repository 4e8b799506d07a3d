//! The pages of the repository, as far as the documentation of the crate leads to them. The [`guide`](crate::guide),
//! [`porting`](crate::porting) and [`settings`](crate::settings) are modules of the root; the programs of the tour
//! are in `examples/` of the repository.

/// A page, with links that lead to the modules here. Of two definitions of a link the first one counts; each page
/// defines at its end where its links lead in the repository.
macro_rules! page {
    ($path:literal) => {
        concat!(
            "[../CHANGELOG.md]: crate::pages::changelog\n",
            "[../CONTRIBUTING.md]: crate::pages::contributing\n",
            "[../porting.md]: crate::porting\n",
            "[../README.md#what-is-not-there-yet]: crate#what-is-not-there-yet\n",
            "[CHANGELOG.md]: crate::pages::changelog\n",
            "[CONTRIBUTING.md]: crate::pages::contributing\n",
            "[architecture.md]: crate::pages::architecture\n",
            "[cluster_operation.md]: crate::pages::cluster_operation\n",
            "[comparison.md]: crate::pages::comparison\n",
            "[decisions.md]: crate::pages::decisions\n",
            "[decisions.md#where-it-stands-against-others]: crate::pages::decisions#where-it-stands-against-others\n",
            "[docs/architecture.md]: crate::pages::architecture\n",
            "[docs/cluster_operation.md]: crate::pages::cluster_operation\n",
            "[docs/comparison.md]: crate::pages::comparison\n",
            "[docs/decisions.md]: crate::pages::decisions\n",
            "[docs/guide.md]: crate::guide\n",
            "[docs/guide.md#clusters]: crate::guide#clusters\n",
            "[docs/guide.md#sockets]: crate::guide#sockets\n",
            "[docs/guide.md#testing]: crate::guide#testing\n",
            "[docs/observer.md]: crate::pages::observer_page\n",
            "[docs/performance.md]: crate::pages::performance\n",
            "[docs/porting.md]: crate::porting\n",
            "[docs/porting/erlang_cache.md]: crate::pages::ported_erlang_cache\n",
            "[docs/semantics.md]: crate::pages::contract\n",
            "[docs/settings.md]: crate::settings\n",
            "[docs/stability.md]: crate::pages::stability\n",
            "[docs/verification.md]: crate::pages::verification\n",
            "[guide.md]: crate::guide\n",
            "[guide.md#clusters]: crate::guide#clusters\n",
            "[observer.md]: crate::pages::observer_page\n",
            "[performance.md]: crate::pages::performance\n",
            "[performance.md#the-observer]: crate::pages::performance#the-observer\n",
            "[porting.md]: crate::porting\n",
            "[porting/ergo_demos.md]: crate::pages::ported_ergo_demos\n",
            "[porting/erlang_cache.md]: crate::pages::ported_erlang_cache\n",
            "[semantics.md]: crate::pages::contract\n",
            "[settings.md]: crate::settings\n",
            "[verification.md]: crate::pages::verification\n",
            "\n",
            include_str!(concat!("../", $path))
        )
    };
}

#[doc = page!("docs/architecture.md")]
pub mod architecture {}

#[allow(rustdoc::broken_intra_doc_links, reason = "versions stand in brackets")]
#[doc = page!("CHANGELOG.md")]
pub mod changelog {}

#[doc = page!("docs/cluster_operation.md")]
pub mod cluster_operation {}

#[doc = page!("docs/comparison.md")]
pub mod comparison {}

#[doc = page!("docs/semantics.md")]
pub mod contract {}

#[doc = page!("CONTRIBUTING.md")]
pub mod contributing {}

#[doc = page!("docs/decisions.md")]
pub mod decisions {}

#[doc = page!("docs/observer.md")]
pub mod observer_page {}

#[doc = page!("docs/performance.md")]
pub mod performance {}

#[doc = page!("docs/porting/ergo_demos.md")]
pub mod ported_ergo_demos {}

#[doc = page!("docs/porting/erlang_cache.md")]
pub mod ported_erlang_cache {}

#[doc = page!("docs/stability.md")]
pub mod stability {}

#[doc = page!("docs/verification.md")]
pub mod verification {}
