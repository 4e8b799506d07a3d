//! The output of a demonstration: redrawn in place on a terminal, and one line a second
//! elsewhere.

use crate::load::Answers;
use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// What is shown at one moment.
pub(crate) struct Frame {
    /// How long the demonstration has run, and how long it will.
    pub(crate) time: (Duration, Duration),
    /// Requests answered in a second, recently.
    pub(crate) rate: u64,
    /// How requests were answered until now.
    pub(crate) answers: Answers,
    /// The median and the 99th percentile of the latency of quick texts, recently.
    pub(crate) latency: (Duration, Duration),
    /// Workers alive, and how many there should be.
    pub(crate) workers: (u64, u64),
    /// Workers replaced until now.
    pub(crate) restarts: u64,
    /// Jobs waiting in the pool.
    pub(crate) waiting: u64,
}

/// How many rates the curve shows.
const CURVE: usize = 32;
/// The width of the bar.
const BAR: usize = 60;

/// The output of the frames.
pub(crate) struct View {
    on_terminal: bool,
    /// Lines to move up before the next frame.
    lines: usize,
    rates: VecDeque<u64>,
}

impl View {
    /// Creates a view on standard output.
    pub(crate) fn new() -> Self {
        View { on_terminal: io::stdout().is_terminal(), lines: 0, rates: VecDeque::new() }
    }

    /// The time from one frame to the next.
    pub(crate) fn period(&self) -> Duration {
        Duration::from_millis(if self.on_terminal { 250 } else { 1000 })
    }

    /// Shows a frame. Write errors are ignored: the demonstration continues if its output
    /// is closed.
    pub(crate) fn show(&mut self, frame: &Frame) {
        self.rates.push_back(frame.rate);
        if self.rates.len() > CURVE {
            self.rates.pop_front();
        }
        let mut out = io::stdout().lock();
        let _ = if self.on_terminal {
            let lines = self.picture(frame);
            let up = std::mem::replace(&mut self.lines, lines.len());
            let up = if up > 0 { format!("\x1b[{up}A") } else { String::new() };
            // Clears the rest of each line, where an earlier, longer one may have left text.
            writeln!(out, "{up}{}\x1b[K", lines.join("\x1b[K\n"))
        } else {
            writeln!(out, "{}", line(frame))
        };
        let _ = out.flush();
    }

    fn picture(&self, frame: &Frame) -> Vec<String> {
        let Answers { counted, crashed, refused, limited, late, strange, lost, .. } = frame.answers;
        let (elapsed, length) = frame.time;
        let done = share(elapsed.as_millis(), length.as_millis(), BAR);
        vec![
            String::new(),
            format!(
                "  {}{}  {} of {} s",
                "█".repeat(done),
                "░".repeat(BAR - done),
                elapsed.as_secs(),
                length.as_secs()
            ),
            String::new(),
            format!("  requests  {} / s   {}", frame.rate, self.curve()),
            format!("  latency   p50 {:.1?}   p99 {:.1?}", frame.latency.0, frame.latency.1),
            String::new(),
            format!("  200 counted {counted:<10}    503 turned away {refused}"),
            format!("  500 crashed {crashed:<10}    504 too late    {late}"),
            format!("  lost        {lost:<10}    429 too many    {limited}"),
            format!("                            other           {strange}"),
            String::new(),
            format!(
                "  workers   {} of {} alive   {} replaced   {} jobs waiting",
                frame.workers.0, frame.workers.1, frame.restarts, frame.waiting
            ),
        ]
    }

    fn curve(&self) -> String {
        const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let most = self.rates.iter().copied().max().unwrap_or(0);
        let step = |rate: &u64| STEPS[share((*rate).into(), most.into(), STEPS.len() - 1)];
        self.rates.iter().map(step).collect()
    }
}

/// How many of `steps` correspond to the part in the whole.
fn share(part: u128, whole: u128, steps: usize) -> usize {
    let share = part * steps as u128 / whole.max(1);
    steps.min(usize::try_from(share).unwrap_or(steps))
}

fn line(frame: &Frame) -> String {
    let Answers { counted, crashed, refused, limited, late, lost, .. } = frame.answers;
    format!(
        "{:>4} s  {:>6}/s  200: {counted}  500: {crashed}  503: {refused}  429: {limited}  504: {late}  \
         lost: {lost}  p50: {:.1?}  p99: {:.1?}  workers: {}/{}  replaced: {}",
        frame.time.0.as_secs(),
        frame.rate,
        frame.latency.0,
        frame.latency.1,
        frame.workers.0,
        frame.workers.1,
        frame.restarts
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_more_than_the_whole() {
        let of_eight = |part| share(part, 100, 8);
        assert_eq!([0, 12, 13, 50, 99, 100, 300].map(of_eight), [0, 0, 1, 4, 7, 8, 8]);
        assert_eq!((share(0, 0, 8), share(5, 0, 8)), (0, 8));
    }

    #[test]
    fn the_curve_shows_the_latest_rates_against_the_highest() {
        let rates = VecDeque::from([0, 50, 100, 25]);
        let view = View { on_terminal: false, lines: 0, rates };
        assert_eq!(view.curve(), "\u{2581}\u{2584}\u{2588}\u{2582}");
    }
}
