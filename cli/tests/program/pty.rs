//! A terminal of 80 × 24 with a shell in it, and what it shows.

use crate::observed::PATIENCE;
use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;
use vt100::{Parser, Screen};

/// A terminal, and the shell that runs in it.
pub(crate) struct Pty {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    bytes: Receiver<Vec<u8>>,
    parser: Parser,
    /// All that was written to it.
    pub(crate) written: Vec<u8>,
}

impl Pty {
    /// Runs a line in a shell, which then tells the exit code, and whether the settings of the
    /// terminal are as they were.
    pub(crate) fn run(line: &str) -> Pty {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new("/bin/sh");
        let script = format!(
            "echo what was there; before=$(stty -g); {line}; code=$?; \
             if [ \"$before\" = \"$(stty -g)\" ]; then echo \"settings same\"; fi; echo \"code $code\""
        );
        command.args(["-c", &script]);
        command.env("TERM", "xterm-256color");
        command.env_remove("KRARUP_OBSERVER_TOKEN");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let (tell, bytes) = channel();
        thread::spawn(move || {
            // It lives as long as the shell.
            let _master = pair.master;
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if tell.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Pty { child, keys, bytes, parser: Parser::new(24, 80, 0), written: Vec::new() }
    }

    /// Waits until the screen is as wanted.
    pub(crate) fn until(&mut self, wanted: impl Fn(&Screen) -> bool) {
        let began = Instant::now();
        while !wanted(self.parser.screen()) {
            let left = PATIENCE.saturating_sub(began.elapsed());
            match self.bytes.recv_timeout(left) {
                Ok(bytes) => {
                    self.parser.process(&bytes);
                    self.written.extend(bytes);
                }
                Err(error) => panic!("{error}: {}", self.text()),
            }
        }
    }

    /// Waits until a text is seen.
    pub(crate) fn sees(&mut self, text: &str) {
        self.until(|screen| screen.contents().contains(text));
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// What is seen.
    pub(crate) fn text(&self) -> String {
        self.parser.screen().contents()
    }

    pub(crate) fn screen(&self) -> &Screen {
        self.parser.screen()
    }

    /// The program has ended with this code, and the terminal is as it was.
    pub(crate) fn is_as_before(&mut self, code: u8) {
        self.sees(&format!("code {code}"));
        let screen = self.parser.screen();
        let text = screen.contents();
        assert!(text.starts_with("what was there"), "{text}");
        assert!(text.contains("settings same"), "{text}");
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{text}");
        assert!(!screen.bold() && !screen.dim() && !screen.inverse(), "{text}");
        self.child.wait().unwrap();
    }
}
