//! Recording turns: exact begins and ends, in a ring (rule X13).
//!
//! ```text
//!   worker: turn ──► note ──► ┌─ ring of the newest turns ─┐ ──► finish ──► RecordedTurns
//!                             └──── until: a time, a stop ─┘
//! ```
//!
//! A node has one recorder, and the recorder at most one recording. While there is none a worker
//! does nothing for it. A recording whose time is over ends with the next turn, so it needs no
//! timer.

use krarup_gen::{RecordTurnsError, RecordedTurn, RecordedTurns, Timestamp, TurnRecordingLimits};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The recorder of a node. For hosts.
#[derive(Default)]
pub struct TurnRecorder {
    /// Whether there is a recording. Written under the lock.
    on: AtomicBool,
    state: Mutex<RecorderState>,
}

#[derive(Default)]
struct RecorderState {
    /// The number of the last recording.
    number: u64,
    recording: Option<TurnRing>,
    /// What is left of a recording whose time is over, until it is fetched.
    over: Option<TurnRing>,
}

struct TurnRing {
    most: usize,
    until: Timestamp,
    turns: VecDeque<CountedTurn>,
    lost: u64,
}

/// A turn, and what its process had handled in all, before it and when it was noted.
///
/// When a turn is noted its process may already be in the next one, on another worker. The count
/// before a turn is exact, so a later turn corrects the one before it.
struct CountedTurn {
    turn: RecordedTurn,
    before: u64,
    after: u64,
}

impl TurnRing {
    fn finish(self) -> RecordedTurns {
        let mut later: HashMap<u64, u64> = HashMap::new();
        let mut turns: Vec<_> = self.turns.into();
        for CountedTurn { turn, before, after } in turns.iter_mut().rev() {
            let next = later.insert(turn.pid.id(), *before).unwrap_or(u64::MAX);
            turn.handled = next.min(*after).saturating_sub(*before);
        }
        let turns = turns.into_iter().map(|counted| counted.turn).collect();
        RecordedTurns::new(turns, self.lost)
    }
}

impl TurnRecorder {
    /// Begins a recording. `prepare` is called with the recorder locked, before the first turn is
    /// recorded: it tells the workers.
    ///
    /// # Errors
    /// [`RecordTurnsError`], except `NodeStopped`.
    pub fn begin(
        self: &Arc<Self>,
        node: &str,
        now: Timestamp,
        limits: TurnRecordingLimits,
        prepare: impl FnOnce(),
    ) -> Result<TurnRecording, RecordTurnsError> {
        let TurnRecordingLimits { turns, time } = limits;
        let most = TurnRecordingLimits::MOST_TURNS;
        if !(1..=most).contains(&turns) {
            return Err(RecordTurnsError::Turns { turns, most });
        }
        if time.is_zero() {
            return Err(RecordTurnsError::Time(time));
        }
        let (before, recording) = {
            let mut state = self.state.lock();
            if let Some(TurnRing { until, .. }) = state.recording
                && now < until
            {
                let node = node.to_owned();
                return Err(RecordTurnsError::AlreadyRecording { node, now, until });
            }
            state.number += 1;
            let ring = TurnRing { most: turns, until: now + time, turns: VecDeque::new(), lost: 0 };
            let before = (state.recording.replace(ring), state.over.take());
            self.on.store(true, Ordering::Relaxed);
            prepare();
            let recording = TurnRecording { recorder: Arc::clone(self), number: state.number };
            drop(state);
            (before, recording)
        };
        drop(before);
        Ok(recording)
    }

    /// Whether turns are recorded. A hint: a worker that sees it too late records one turn less
    /// or more.
    #[inline]
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Calls this while no recording can begin, unless there is one. For workers that were told
    /// of one that is over.
    pub fn unless_on(&self, ended: impl FnOnce()) {
        let state = self.state.lock();
        if state.recording.is_none() {
            ended();
        }
    }

    /// Records a turn that is over. Its process had handled `before` messages before it, and
    /// `after` when this is called. A turn that began too late ends the recording.
    pub fn note(&self, turn: RecordedTurn, before: u64, after: u64) {
        let mut state = self.state.lock();
        let Some(ring) = &mut state.recording else { return };
        if turn.begin >= ring.until {
            state.over = state.recording.take();
            self.on.store(false, Ordering::Relaxed);
            return;
        }
        if ring.turns.len() == ring.most {
            ring.turns.pop_front();
            ring.lost += 1;
        }
        ring.turns.push_back(CountedTurn { turn, before, after });
    }

    /// Ends this recording, if it is the last that was begun.
    fn end(&self, number: u64) -> RecordedTurns {
        let ring = {
            let mut state = self.state.lock();
            if state.number != number {
                return RecordedTurns::default();
            }
            self.on.store(false, Ordering::Relaxed);
            let running = state.recording.take();
            running.or_else(|| state.over.take())
        };
        ring.map(TurnRing::finish).unwrap_or_default()
    }

    fn is_over(&self, number: u64, now: Timestamp) -> bool {
        let state = self.state.lock();
        let runs = |ring: &TurnRing| now < ring.until;
        state.number != number || !state.recording.as_ref().is_some_and(runs)
    }
}

impl fmt::Debug for TurnRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnRecorder").field("on", &self.is_on()).finish_non_exhaustive()
    }
}

/// A recording of turns, made by [`NodeView::record_turns`](crate::NodeView::record_turns). It
/// ends at its time, with [`TurnRecording::finish`], or when this is dropped.
#[derive(Debug)]
#[must_use = "a recording that is dropped ends"]
pub struct TurnRecording {
    recorder: Arc<TurnRecorder>,
    number: u64,
}

impl TurnRecording {
    /// Whether the time of the recording is over at this time of the node.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.recorder.is_over(self.number, now)
    }

    /// Ends the recording and returns the turns. Those that still run are not among them. After
    /// its time the turns are kept until they are fetched or another recording begins.
    #[must_use]
    pub fn finish(self) -> RecordedTurns {
        self.recorder.end(self.number)
    }
}

impl Drop for TurnRecording {
    fn drop(&mut self) {
        drop(self.recorder.end(self.number));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use krarup_gen::Pid;
    use std::time::Duration;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn turn(begin: u64) -> RecordedTurn {
        RecordedTurn::new("d".into(), 0, Pid::local(begin, 1), at(begin))
    }

    fn limits(turns: usize, millis: u64) -> TurnRecordingLimits {
        TurnRecordingLimits { turns, time: Duration::from_millis(millis) }
    }

    fn numbers(turns: &RecordedTurns) -> Vec<u64> {
        turns.turns.iter().map(|turn| turn.pid.id()).collect()
    }

    #[test]
    fn x13_a_recording_keeps_the_newest_turns_that_began_in_its_time() {
        let recorder = Arc::new(TurnRecorder::default());
        recorder.note(turn(1), 0, 1);
        let recording = recorder.begin("n", at(10), limits(3, 100), || ()).unwrap();
        [11, 12, 13, 14, 109].into_iter().for_each(|begin| recorder.note(turn(begin), 0, 1));
        assert!(recorder.is_on() && !recording.is_over(at(109)) && recording.is_over(at(110)));
        recorder.note(turn(110), 0, 1);
        assert!(!recorder.is_on() && recording.is_over(at(50)));
        recorder.note(turn(111), 0, 1);
        let recorded = recording.finish();
        assert_eq!((numbers(&recorded), recorded.lost), (vec![13, 14, 109], 2));
    }

    #[test]
    fn x13_there_is_one_recording_at_a_time_and_a_dropped_one_is_over() {
        let recorder = Arc::new(TurnRecorder::default());
        let first = recorder.begin("n", at(0), limits(3, 100), || ()).unwrap();
        let busy = RecordTurnsError::AlreadyRecording {
            node: "n".to_owned(),
            now: at(99),
            until: at(100),
        };
        assert_eq!(recorder.begin("n", at(99), limits(3, 100), || ()).unwrap_err(), busy);
        recorder.note(turn(1), 0, 1);
        // Its time is over, though no turn has shown that.
        let second = recorder.begin("n", at(100), limits(3, 100), || ()).unwrap();
        recorder.note(turn(101), 0, 1);
        // The first one ends neither the second nor takes its turns.
        assert_eq!((numbers(&first.finish()), recorder.is_on()), (vec![], true));
        assert_eq!(numbers(&second.finish()), [101]);
        assert!(!recorder.is_on());
        drop(recorder.begin("n", at(200), limits(3, 100), || ()).unwrap());
        assert!(!recorder.is_on());
    }

    #[test]
    fn x13_messages_of_a_turn_that_had_begun_when_the_last_was_noted_count_once() {
        let recorder = Arc::new(TurnRecorder::default());
        let recording = recorder.begin("n", at(0), limits(9, 100), || ()).unwrap();
        let of = |pid: u64| RecordedTurn::new("d".into(), 0, Pid::local(pid, 1), at(1));
        // The first turn handled 3. When it was noted the next one had handled 2.
        recorder.note(of(7), 10, 15);
        recorder.note(of(8), 0, 4);
        recorder.note(of(7), 13, 18);
        recorder.note(of(7), 18, 18);
        let handled: Vec<_> = recording.finish().turns.iter().map(|turn| turn.handled).collect();
        assert_eq!(handled, [3, 4, 5, 0]);
    }

    #[test]
    fn x13_the_workers_are_told_under_the_lock_and_untold_only_without_a_recording() {
        let recorder = Arc::new(TurnRecorder::default());
        let mut told = false;
        let recording = recorder.begin("n", at(0), limits(1, 1), || told = true).unwrap();
        recorder.unless_on(|| told = false);
        assert!(told);
        drop(recording);
        recorder.unless_on(|| told = false);
        assert!(!told);
    }

    #[test]
    fn x13_limits_that_record_nothing_are_errors() {
        let recorder = Arc::new(TurnRecorder::default());
        let most = TurnRecordingLimits::MOST_TURNS;
        for turns in [0, most + 1] {
            let error = recorder.begin("n", at(0), limits(turns, 1), || ()).unwrap_err();
            assert_eq!(error, RecordTurnsError::Turns { turns, most });
        }
        let error = recorder.begin("n", at(0), limits(1, 0), || ()).unwrap_err();
        assert_eq!(error, RecordTurnsError::Time(Duration::ZERO));
        assert!(!recorder.is_on());
    }
}
