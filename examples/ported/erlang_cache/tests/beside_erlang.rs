//! What both programs print for the same operations.

use crate::{SCRIPT, script};
use krarup::prelude::*;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program in Erlang has printed.
const RECORDED: &str = include_str!("../script.trace");

#[test]
fn it_does_what_its_original_has_done() {
    Simulation::explore(0..200, |sim| {
        let trace = script::run(sim, SCRIPT)?;
        assert_eq!(trace, RECORDED);
        Ok(())
    });
}

#[test]
fn its_original_does_what_was_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("erlang_cache");
    let Some(compiled) = Compiled::new(&folder.join("erlang")) else {
        eprintln!(
            "erl is not here: the cache was compared with what was recorded of its original, not with it"
        );
        return;
    };
    let output = Command::new("erl")
        .args(["-noshell", "-pa"])
        .arg(&compiled.0)
        .args(["-s", "lc_script", "main"])
        .arg(folder.join("script.txt"))
        .output()
        .expect("erl runs, as erlc does");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed, RECORDED);
}

/// The folder of the compiled modules, removed when it is dropped.
struct Compiled(PathBuf);

impl Compiled {
    /// Compiles the modules of a folder; `None` if there is no Erlang.
    fn new(sources: &Path) -> Option<Self> {
        let target = env::temp_dir().join(format!("krarup-erlang-cache-{}", std::process::id()));
        fs::create_dir_all(&target).expect("a folder");
        let compiled = Compiled(target);
        let mut modules: Vec<OsString> = Vec::new();
        for entry in fs::read_dir(sources).expect("the sources") {
            let path = entry.expect("a source").path();
            if path.extension().is_some_and(|extension| extension == "erl") {
                modules.push(path.into_os_string());
            } else if let Some(name) = path.file_name() {
                fs::copy(&path, compiled.0.join(name)).expect("a copy");
            }
        }
        modules.sort();
        let erlc = Command::new("erlc")
            .args(["-Wall", "-Werror", "-o"])
            .arg(&compiled.0)
            .args(modules)
            .output();
        let erlc = erlc.ok()?;
        assert!(erlc.status.success(), "{}", String::from_utf8_lossy(&erlc.stdout));
        Some(compiled)
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
