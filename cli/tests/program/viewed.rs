//! `krarup view` on a file.

use crate::observed::{PROGRAM, get};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::{env, fs, process};

/// The program on a file, until it is dropped.
pub(crate) struct Viewed {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) file: PathBuf,
}

impl Viewed {
    pub(crate) fn start(name: &str, text: &str) -> Self {
        let file = env::temp_dir().join(format!("krarup-{name}-{}.json", process::id()));
        fs::write(&file, text).unwrap();
        let mut command = Command::new(PROGRAM);
        let mut child = command.arg("view").arg(&file).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim_end().rsplit(' ').next().unwrap();
        let address = url.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
        Viewed { child, address, file }
    }

    pub(crate) fn json(&self, target: &str) -> Value {
        let (status, body) = get(self.address, target);
        assert_eq!(status, 200, "{target}: {body}");
        serde_json::from_str(&body).unwrap()
    }
}

impl Drop for Viewed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.file);
    }
}
