//! `/metrics`: the node as numbers, in the format `OpenMetrics`.

mod cluster_families;
pub(crate) mod cluster_totals;
pub(crate) mod exposition;
pub(crate) mod families;
pub(crate) mod family_text;
pub(crate) mod node_families;
pub(crate) mod pool_totals;
pub(crate) mod program;
pub(crate) mod program_failure;
pub(crate) mod program_families;
pub(crate) mod scrape;
