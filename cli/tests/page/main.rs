//! The page on a file, in a true Chromium: of a node, and of a failing seed.
//!
//! Where there is no Chromium each test says that it is left out. The pages are also photographed,
//! into `target/observer-screenshots`.

#![cfg(unix)]

#[path = "../../../observer/tests/page/browser.rs"]
mod browser;
mod node_file;
#[path = "../program/observed.rs"]
#[allow(dead_code, reason = "the tests of the program use the rest of it")]
mod observed;
#[path = "../../../observer/tests/page/page.rs"]
#[allow(dead_code, reason = "the tests of the observer use the rest of it")]
mod page;
#[path = "../../../observer/tests/page/picture.rs"]
mod picture;
mod seed_file;
#[path = "../program/viewed.rs"]
#[allow(dead_code, reason = "the tests of the program use the rest of it")]
mod viewed;

/// The tests of WCAG, run in the page; it tells what it finds.
pub(crate) const AXE: &str = include_str!("../../../observer/tests/page/axe.min.js");
