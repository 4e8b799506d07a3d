//! Settings of a node that come from a file.
//!
//! The idea is Akka's configurator: a process names its dispatcher by id, and a file that
//! operators can change defines the dispatcher. Here the file is TOML. It is checked as a whole
//! before any thread is started, and every error names its key.
//!
//! ```text
//! text ── tree ──> items with their lines     (the TOML document)
//!      ── layer ─> settings by key            (known keys, types, bounds)
//!      ── over ──> one layer on another       (a base file, that of the machine)
//! variables ───────> the same items, over a file (names, spelled as the keys are)
//!      ── resolve > options by dispatcher     (`like`, defaults, kinds)
//!      ── build ─> a `NodeBuilder`            (later calls override it)
//!      ── typed ─> the settings of an application, as a value of its type
//! ```

mod application_settings;
mod build;
mod error;
mod keys;
mod layer;
mod placed;
mod resolve;
#[allow(clippy::module_inception, reason = "the type of the name")]
mod settings;
mod tree;
mod typed;
mod value;
mod variables;

pub(crate) use application_settings::{ApplicationSettings, read_settings};
pub use error::{SettingsError, SettingsFault};
pub use settings::Settings;
