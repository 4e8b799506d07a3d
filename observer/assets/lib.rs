//! The page of `krarup-observer`: its files, their types, the policy that they need. Nothing here
//! serves them: an observer does, and `krarup view` does.

#![forbid(unsafe_code)]

pub mod tools;
pub mod words;

/// The type of [`PAGE`].
pub const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// The `Content-Security-Policy` of [`PAGE`].
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                          connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page itself, served at `/`.
pub const PAGE: &str = include_str!("index.html");

/// The [`PAGE`] on a file of a running node, which changes no more.
#[must_use]
pub fn on_node_file() -> String {
    PAGE.replacen("<html", "<html data-file=\"node\"", 1)
}

/// The [`PAGE`] that shows the steps of a simulation, from `/api/v1/replay`, and nothing else.
#[must_use]
pub fn on_replay() -> String {
    PAGE.replacen("<html", "<html data-file=\"replay\"", 1)
}

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFile {
    /// Its name below `/assets/`.
    pub name: &'static str,
    /// Its `Content-Type`.
    pub kind: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The files below `/assets/`.
pub const FILES: &[PageFile] = &[
    script("api.js", include_str!("api.js")),
    script("app.js", include_str!("app.js")),
    script("cluster.js", include_str!("cluster.js")),
    script("crashes.js", include_str!("crashes.js")),
    script("dom.js", include_str!("dom.js")),
    script("events.js", include_str!("events.js")),
    script("flow.js", include_str!("flow.js")),
    script("format.js", include_str!("format.js")),
    script("graph.js", include_str!("graph.js")),
    script("health.js", include_str!("health.js")),
    PageFile { name: "icon.svg", kind: IMAGE, text: include_str!("icon.svg") },
    script("live.js", include_str!("live.js")),
    script("logs.js", include_str!("logs.js")),
    script("now.js", include_str!("now.js")),
    script("pools.js", include_str!("pools.js")),
    script("process.js", include_str!("process.js")),
    script("processes.js", include_str!("processes.js")),
    script("replay.js", include_str!("replay.js")),
    script("steps.js", include_str!("steps.js")),
    PageFile { name: "style.css", kind: STYLE, text: include_str!("style.css") },
    script("tree.js", include_str!("tree.js")),
    script("turns.js", include_str!("turns.js")),
    script("waits.js", include_str!("waits.js")),
    script("widgets.js", include_str!("widgets.js")),
];

/// The file of this name, if there is one.
pub fn file(name: &str) -> Option<&'static PageFile> {
    FILES.iter().find(|file| file.name == name)
}

const fn script(name: &'static str, text: &'static str) -> PageFile {
    PageFile { name, kind: SCRIPT, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v66_every_file_of_the_folder_is_one_of_the_page() {
        let names = std::fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let of_the_crate = [
            "Cargo.toml",
            "README.md",
            "LICENSE-APACHE",
            "LICENSE-MIT",
            "lib.rs",
            "tools.rs",
            "words.rs",
        ];
        let served = |name: &str| name != "index.html" && !of_the_crate.contains(&name);
        for name in names.filter(|name| served(name)) {
            assert!(file(&name).is_some(), "{name} is not served");
        }
        assert_eq!(file("../Cargo.toml"), None);
    }

    #[test]
    fn v83_the_page_knows_that_it_is_on_a_file() {
        assert!(!PAGE.contains("data-file"));
        for (page, kind) in [(on_node_file(), "node"), (on_replay(), "replay")] {
            assert!(page.contains(&format!("<html data-file=\"{kind}\" lang")), "{page}");
        }
    }
}
