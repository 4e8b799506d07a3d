//! State machines: the second format of scenarios.
//!
//! | module | subject |
//! |---|---|
//! | [`table`] | the table of a scenario, and its strict parser |
//! | [`recorded`] | the machine that answers as the table says, and records what it does |
//! | [`replay`] | the steps |

mod recorded;
pub(crate) mod replay;
pub(crate) mod table;
