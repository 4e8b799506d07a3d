//! Settings of a node that come from a file.
//!
//! The idea is Akka's configurator: a dispatcher is asked for by its id, and what it is stands
//! in a file that operators change without the program. Here the file is TOML, what it says is
//! checked whole before any thread is started, and every complaint names its key.
//!
//! ```text
//! text ── tree ──> items with their lines     (what TOML says)
//!      ── layer ─> settings by key            (what we know: keys, types, bounds)
//!      ── over ──> one layer on another       (a base file, that of the machine)
//!      ── resolve > options by dispatcher     (`like`, defaults, kinds)
//!      ── build ─> a `NodeBuilder`            (what code says goes on top)
//! ```

mod build;
mod error;
mod keys;
mod layer;
mod resolve;
#[allow(clippy::module_inception, reason = "the type of the name")]
mod settings;
mod tree;
mod value;

pub use error::{SettingsError, SettingsFault};
pub use settings::Settings;
