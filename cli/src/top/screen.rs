//! The terminal: taken for the view, and given back as it was, whatever ends the program.

use crate::top::frame::draw;
use crate::top::state::TopState;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::style::ResetColor;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::text::Span;
use std::io::{self, Stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{panic, process};

/// Whether the terminal is taken.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The exit code after a panic, as Rust has it.
const PANICKED: i32 = 101;

/// A terminal in raw mode with the view on its other screen. Dropped, it is as it was before.
pub(crate) struct TopScreen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl TopScreen {
    /// Takes the terminal. From now on a panic, on whatever thread, gives it back, tells its
    /// message and ends the program.
    pub(crate) fn take() -> io::Result<Self> {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            give_back();
            tell(panic);
            process::exit(PANICKED);
        }));
        TAKEN.store(true, Ordering::SeqCst);
        let screen = enable_raw_mode()
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen))
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        screen.map(|terminal| TopScreen { terminal }).inspect_err(|_| give_back())
    }

    /// Draws the view.
    pub(crate) fn draw(&mut self, top: &TopState) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame, top)).map(|_| ())
    }

    /// How many lines there are.
    pub(crate) fn height(&self) -> io::Result<u16> {
        self.terminal.size().map(|size| size.height)
    }
}

impl Drop for TopScreen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back, once. Nobody could be told of a failure.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stdout(), ResetColor, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// The lines of a picture as text, without spaces at their ends.
pub(crate) fn lines_of(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let line = |y: u16| {
        let (mut text, mut x) = (String::new(), 0);
        while x < area.width {
            let symbol = buffer[(x, y)].symbol();
            text.push_str(symbol);
            // A wide character covers the cell behind it.
            x += u16::try_from(Span::raw(symbol).width()).unwrap_or(1).max(1);
        }
        text.trim_end().to_owned()
    };
    (0..area.height).map(line).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::top::query::SortColumn;
    use portable_pty::{CommandBuilder, PtySize, native_pty_system};
    use std::io::Read;
    use std::time::Duration;
    use std::{env, thread};

    /// Says to the test below that it is the program in the terminal.
    const IN_TERMINAL: &str = "KRARUP_TEST_IN_TERMINAL";

    /// What the test below runs in a terminal.
    fn take_the_terminal_and_panic() {
        let mut screen = TopScreen::take().unwrap();
        let period = Duration::from_secs(1);
        screen.draw(&TopState::new(SortColumn::default(), period, 24)).unwrap();
        let _ = thread::spawn(|| panic!("a thread of the view has panicked")).join();
        unreachable!("a panic of any thread ends the program");
    }

    #[test]
    fn v81_after_a_panic_the_terminal_is_as_it_was_and_shows_the_message() {
        if env::var_os(IN_TERMINAL).is_some() {
            return take_the_terminal_and_panic();
        }
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let program = env::current_exe().unwrap();
        let name =
            "top::screen::tests::v81_after_a_panic_the_terminal_is_as_it_was_and_shows_the_message";
        let mut command = CommandBuilder::new("/bin/sh");
        command.args([
            "-c",
            &format!(
                "before=$(stty -g); {IN_TERMINAL}=1 '{}' --exact {name} --nocapture; echo code $?; \
                 [ \"$before\" = \"$(stty -g)\" ] && echo settings same",
                program.display()
            ),
        ]);
        let mut child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let reads = thread::spawn(move || {
            let mut written = Vec::new();
            // The end of a terminal is an error.
            let _ = reader.read_to_end(&mut written);
            written
        });
        child.wait().unwrap();
        let written = reads.join().unwrap();
        drop(pair.master);
        let mut terminal = vt100::Parser::new(24, 80, 0);
        terminal.process(&written);
        let (screen, whole) = (terminal.screen(), String::from_utf8_lossy(&written));
        assert!(whole.contains("connecting"), "the view was drawn: {whole}");
        let text = screen.contents();
        assert!(text.contains("a thread of the view has panicked"), "{text}");
        assert!(text.contains("code 101") && text.contains("settings same"), "{text}");
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{text}");
    }
}
