//! The page of the observer in a true Chromium, rules V66 to V80 and V90.
//!
//! Where there is no Chromium each test says that it is left out. Each page is also photographed at
//! both sizes, into `target/observer-screenshots`.

mod access;
mod browser;
mod cluster;
mod failures;
mod frame;
mod node;
mod page;
mod picture;
mod processes;
mod questions;
mod scene;
mod scenes;
mod screenshots;
mod shop;
mod told;
mod words;
