//! The Erlang program of the OTP sides, compiled for this run.

use crate::failure::ClusterFailure;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The source of the program.
const SOURCE: &str = include_str!("krarup_bench.erl");

/// The folder of the compiled program, which is removed at the end.
pub(crate) struct ErlangCode(PathBuf);

impl ErlangCode {
    /// Compiles the program, and sees whether `erl` runs it.
    pub(crate) fn compile() -> Result<Self, ClusterFailure> {
        let folder = std::env::temp_dir().join(format!("bench-cluster-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let code = ErlangCode(folder);
        fs::write(code.0.join("krarup_bench.erl"), SOURCE)?;
        run(Command::new("erlc").arg("krarup_bench.erl").current_dir(&code.0))?;
        let loads = "{module, krarup_bench} = code:load_file(krarup_bench), halt().";
        run(Command::new("erl").args(["-noshell", "-eval", loads]).current_dir(&code.0))?;
        Ok(code)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for ErlangCode {
    fn drop(&mut self) {
        // What is left is a small folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(command: &mut Command) -> Result<(), ClusterFailure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output();
    let output = output.map_err(|error| ClusterFailure::Erlang(format!("{name}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    Err(ClusterFailure::Erlang(format!("{name}: {}: {}", output.status, said.trim())))
}
