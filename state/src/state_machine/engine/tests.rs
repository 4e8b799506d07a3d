//! Tests of the rules, one by one, with nothing around the engine. What no file is needed for
//! stands here; the recorded scenarios replay the rest (`examples/oracle`).

use super::*;
use std::time::Duration;

/// The machine of these tests: words for states, messages and names.
struct Words;

impl MachineTypes for Words {
    type State = char;
    type Message = &'static str;
    type Internal = &'static str;
    type Timer = &'static str;
}

const SECOND: Duration = Duration::from_secs(1);

/// An engine, the time, and the alarms that are set.
struct Stage {
    engine: MachineEngine<Words>,
    now: Timestamp,
    bound: Option<usize>,
    alarms: Vec<SetAlarm>,
    /// The number of the last alarm.
    last: u64,
    /// What the loop was told to do, other than alarms.
    told: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct SetAlarm {
    alarm: Ref,
    index: u32,
    at: Timestamp,
}

/// A transition of these tests.
type To = Next<Words>;

impl Stage {
    /// A machine that has begun in this state.
    fn in_state(state: char) -> Self {
        Self::begun(First::state(state))
    }

    fn begun(first: First<Words>) -> Self {
        let mut stage = Stage {
            engine: MachineEngine::new(),
            now: Timestamp::ZERO + 100 * SECOND,
            bound: None,
            alarms: Vec::new(),
            last: 0,
            told: Vec::new(),
        };
        stage.engine.started(first);
        stage.obey(&mut |_| Entered::new());
        stage
    }

    /// Does what the engine says, and then what it says of alarms. `enter` answers to enter calls.
    fn obey(&mut self, enter: &mut dyn FnMut(char) -> Entered<Words>) {
        while let Some(instruction) = self.engine.instruction() {
            match instruction {
                Instruction::Enter { from, to } => {
                    self.told.push(format!("enter {to} {from}"));
                    let (now, bound) = (self.now, self.bound);
                    self.engine.entered(
                        enter(to),
                        ProcessLimits { now: &|| now, bound: &|| bound, trace: &|| None },
                    );
                }
                Instruction::Refuse(event) => {
                    self.told.push(format!("refuse {}", word(&event.event)));
                }
                Instruction::Hibernate => self.told.push("hibernate".to_owned()),
                Instruction::Show => {}
            }
        }
        self.wait();
    }

    /// The process waits: alarms are set and cancelled.
    fn wait(&mut self) {
        while let Some(order) = self.engine.alarm() {
            self.last += 1;
            let alarm = Ref::new(self.last);
            match order {
                AlarmOrder::Cancel(key) => self.alarms.retain(|set| set.index != key.index),
                AlarmOrder::Set { kind, at } => {
                    let index = u32::try_from(self.last).unwrap();
                    self.engine.armed(&kind, (alarm, TimerKey { index, generation: 0 }));
                    self.alarms.push(SetAlarm { alarm, index, at });
                }
                AlarmOrder::Ring => {
                    self.engine.rung(alarm);
                    self.alarms.push(SetAlarm { alarm, index: 0, at: self.now });
                }
            }
        }
    }

    /// The machine has handled an event so.
    fn handled(&mut self, next: To) {
        self.handled_from(0, next);
    }

    fn handled_from(&mut self, sender: u64, next: To) {
        self.handled_and_entered(sender, next, &mut |_| Entered::new());
    }

    fn handled_and_entered(
        &mut self,
        sender: u64,
        next: To,
        enter: &mut dyn FnMut(char) -> Entered<Words>,
    ) {
        let (now, bound) = (self.now, self.bound);
        self.engine.handled(
            next,
            sender,
            ProcessLimits { now: &|| now, bound: &|| bound, trace: &|| None },
        );
        self.obey(enter);
    }

    fn state(&self) -> char {
        *self.engine.state().expect("a machine that has begun")
    }

    /// Takes the next event before the mailbox.
    fn next(&mut self) -> Option<Event<Words>> {
        self.engine.next_event().map(|event| event.event)
    }

    /// The words of all events before the mailbox, each of which is handled with `keep`.
    fn all(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        while let Some(event) = self.next() {
            words.push(word(&event));
            self.handled(Next::keep());
        }
        words
    }

    /// Time passes; the alarms that are due by then fire, in their order. The events that come.
    fn pass(&mut self, time: Duration) -> Vec<String> {
        self.now = self.now + time;
        let mut words = Vec::new();
        loop {
            let due = self.alarms.iter().filter(|set| set.at <= self.now);
            let Some(SetAlarm { alarm, .. }) = due.min_by_key(|set| set.at).cloned() else {
                return words;
            };
            self.alarms.retain(|set| set.alarm != alarm);
            if let Some(event) = self.engine.fired(alarm) {
                words.push(word(&event));
                self.handled(Next::keep());
            }
        }
    }

    fn timers(&self) -> String {
        self.engine.timers(self.now).iter().map(ToString::to_string).collect()
    }
}

/// The kind of an event and its content.
fn word(event: &Event<Words>) -> String {
    match event {
        Event::Message(word) => format!("message {word}"),
        Event::Internal(word) => format!("internal {word}"),
        Event::StateTimeout(word) => format!("state {word}"),
        Event::EventTimeout(word) => format!("event {word}"),
        Event::Timeout(name, word) => format!("{name} {word}"),
        other => format!("{other:?}"),
    }
}

fn message(word: &'static str) -> Event<Words> {
    Event::Message(word)
}

#[test]
fn f2_the_queue_comes_before_zero_and_zero_before_the_mailbox() {
    let mut stage = Stage::in_state('a');
    assert!(!stage.engine.has_event());
    stage.handled(Next::keep().state_timeout(Duration::ZERO, "z").insert("i"));
    assert!(stage.engine.has_event());
    assert_eq!(stage.engine.queued(), 2);
    assert_eq!(stage.all(), ["internal i", "state z"]);
    assert!(!stage.engine.has_event());
}

#[test]
fn f3_a_state_is_entered_at_the_start_after_a_change_and_after_repeat() {
    let mut stage = Stage::in_state('a');
    assert_eq!(std::mem::take(&mut stage.told), ["enter a a"]);
    stage.handled(Next::keep());
    stage.handled(Next::state('a'));
    assert!(stage.told.is_empty(), "{:?}", stage.told);
    stage.handled(Next::state('b'));
    stage.handled(Next::repeat());
    assert_eq!(stage.told, ["enter b a", "enter b b"]);
    assert_eq!(stage.state(), 'b');
}

#[test]
fn f4_after_a_change_postponed_events_come_again_the_oldest_first() {
    let mut stage = Stage::in_state('a');
    stage.handled_from(7, Next::keep().postpone(message("x")));
    stage.handled_from(8, Next::keep().postpone(message("y")));
    // None of these is a change.
    stage.handled(Next::keep());
    stage.handled(Next::state('a'));
    stage.handled(Next::repeat());
    assert_eq!((stage.engine.postponed(), stage.engine.has_event()), (2, false));
    // The event in hand is the youngest of them.
    stage.handled_from(9, Next::state('b').postpone(message("z")));
    let again: Vec<_> = std::iter::from_fn(|| stage.engine.next_event()).collect();
    let again: Vec<_> = again.iter().map(|it| (it.sender, word(&it.event))).collect();
    let expected = [(7, "message x"), (8, "message y"), (9, "message z")];
    assert_eq!(again, expected.map(|(sender, word)| (sender, word.to_owned())));
    assert_eq!(stage.engine.postponed(), 0);
}

#[test]
fn f4_events_that_come_again_go_before_what_is_queued() {
    let mut stage = Stage::in_state('a');
    stage.handled(Next::keep().postpone(message("x")).insert("i").insert("j"));
    assert_eq!(stage.next().map(|event| word(&event)).as_deref(), Some("internal i"));
    stage.handled(Next::state('b'));
    assert_eq!(stage.all(), ["message x", "internal j"]);
}

#[test]
fn f5_inserted_events_come_first_in_their_order_and_can_be_postponed() {
    let mut stage = Stage::in_state('a');
    stage.handled(Next::keep().postpone(message("x")));
    stage.handled(Next::state('b').insert("i").insert_message("m").insert("j"));
    let first = stage.next().expect("an event");
    assert_eq!(word(&first), "internal i");
    stage.handled(Next::keep().postpone(first).insert("k"));
    assert_eq!(stage.all(), ["internal k", "message m", "internal j", "message x"]);
    // Time-outs too, as what they were.
    stage.handled(Next::keep().timeout("t", Duration::ZERO, "late"));
    let late = stage.next().expect("a time-out");
    stage.handled(Next::keep().postpone(late));
    stage.handled(Next::state('c'));
    assert_eq!(stage.all(), ["internal i", "t late"]);
}

#[test]
fn f6_a_state_timeout_ends_with_its_state_and_an_event_timeout_with_any_event() {
    let set = |next: To| {
        next.state_timeout(SECOND, "s").event_timeout(2 * SECOND, "e").timeout("t", 3 * SECOND, "n")
    };
    let mut stage = Stage::in_state('a');
    stage.handled(set(Next::keep()));
    assert_eq!(stage.pass(4 * SECOND), ["state s", "t n"], "the first was an event");
    stage.handled(set(Next::keep()));
    stage.handled(Next::keep());
    assert_eq!(stage.alarms.len(), 2);
    stage.handled(Next::state('a'));
    assert_eq!(stage.alarms.len(), 2, "no change of the state");
    stage.handled(Next::state('b'));
    assert_eq!(stage.pass(4 * SECOND), ["t n"]);
    // What an event sets is not ended by itself.
    stage.handled(set(Next::state('c')));
    assert_eq!(stage.alarms.len(), 3);
}

#[test]
fn f7_the_last_action_of_a_kind_counts_and_the_enter_call_is_behind() {
    let mut stage = Stage::in_state('a');
    let next = Next::keep()
        .timeout("t", SECOND, "lost")
        .timeout("u", SECOND, "lost")
        .cancel("u")
        .timeout("t", 2 * SECOND, "set");
    stage.handled(next);
    assert_eq!(stage.pass(3 * SECOND), ["t set"]);
    // A time that is lost to an update behind it was never set.
    stage.handled(Next::keep().state_timeout(SECOND, "lost").update_state_timeout("now"));
    assert_eq!((stage.alarms.len(), stage.all()), (0, vec!["state now".to_owned()]));
    let next = Next::state('b').state_timeout(SECOND, "of the event").timeout("t", SECOND, "t");
    stage.handled_and_entered(0, next, &mut |_| Entered::new().state_timeout(SECOND, "of enter"));
    let came = stage.pass(SECOND);
    assert_eq!(came.len(), 2, "{came:?}");
    assert!(came.contains(&"state of enter".to_owned()), "{came:?}");
}

#[test]
fn f8_a_timeout_that_is_set_again_or_cancelled_does_not_come_by_its_old_alarm() {
    let mut stage = Stage::in_state('a');
    stage.handled(Next::keep().timeout("t", SECOND, "old").state_timeout(SECOND, "old"));
    let old: Vec<Ref> = stage.alarms.iter().map(|set| set.alarm).collect();
    // Both alarms have fired, and lie in the mailbox.
    stage.alarms.clear();
    stage.handled(Next::keep().timeout("t", SECOND, "new").cancel_state_timeout());
    for timer in old {
        assert!(stage.engine.fired(timer).is_none());
    }
    assert_eq!(stage.pass(SECOND), ["t new"]);
}

#[test]
fn f8_a_timeout_that_is_set_and_cancelled_before_the_process_waits_has_no_alarm() {
    let mut stage = Stage::in_state('a');
    let zero = ProcessLimits { now: &|| Timestamp::ZERO, bound: &|| None, trace: &|| None };
    stage.engine.handled(
        Next::keep().state_timeout(SECOND, "s").timeout("t", SECOND, "t"),
        0,
        zero,
    );
    stage.engine.handled(Next::keep().cancel_state_timeout().cancel("t"), 0, zero);
    stage.wait();
    assert_eq!((stage.alarms.len(), stage.last), (0, 0));
    // One that was set is cancelled when the process waits.
    stage.handled(Next::keep().timeout("t", SECOND, "t"));
    stage.handled(Next::keep().timeout("t", 2 * SECOND, "t"));
    assert_eq!(stage.alarms.len(), 1);
    stage.handled(Next::keep().cancel("t"));
    assert!(stage.alarms.is_empty());
    stage.engine.release();
    assert!(stage.engine.agenda.is_none());
}

#[test]
fn f9_update_changes_the_content_and_not_the_time() {
    let mut stage = Stage::in_state('a');
    stage.handled(Next::keep().timeout("t", SECOND, "old"));
    let alarms = stage.alarms.clone();
    stage.handled(Next::keep().update("t", "new"));
    assert_eq!(stage.alarms, alarms);
    assert_eq!(stage.pass(SECOND), ["t new"]);
    // Of one that lies in the mailbox.
    stage.handled(Next::keep().timeout("t", SECOND, "old"));
    let SetAlarm { alarm, .. } = stage.alarms.pop().expect("an alarm");
    stage.handled(Next::keep().update("t", "newer"));
    assert_eq!(stage.engine.fired(alarm).map(|event| word(&event)).as_deref(), Some("t newer"));
    // Of one that is not set it is zero; of one of zero it keeps its place.
    stage.handled(Next::keep().update("u", "u").update("t", "t"));
    stage.handled(Next::keep().update("u", "changed"));
    assert_eq!(stage.all(), ["u changed", "t t"]);
}

#[test]
fn f9_an_event_timeout_is_over_when_its_update_is_done() {
    let mut stage = Stage::in_state('a');
    stage.handled(Next::keep().event_timeout(SECOND, "old"));
    stage.handled(Next::keep().update_event_timeout("new"));
    assert_eq!((stage.alarms.len(), stage.all()), (0, vec!["event new".to_owned()]));
}

#[test]
fn f10_zero_waits_at_the_end_of_its_line_and_can_be_cancelled_and_set_again() {
    let zero = Duration::ZERO;
    let mut stage = Stage::in_state('a');
    stage.handled(
        Next::keep().timeout("t", zero, "1").timeout("u", zero, "2").timeout("v", zero, "3"),
    );
    stage.handled(Next::keep().timeout("t", zero, "4").cancel("u"));
    assert_eq!(stage.all(), ["v 3", "t 4"]);
    // A time that is set over it takes its place.
    stage.handled(Next::keep().timeout("t", zero, "now").insert("i"));
    assert_eq!(stage.next().map(|event| word(&event)).as_deref(), Some("internal i"));
    stage.handled(Next::keep().timeout("t", SECOND, "later"));
    assert_eq!((stage.all(), stage.alarms.len()), (Vec::new(), 1));
    // And zero that of a time.
    stage.handled(Next::keep().timeout("t", zero, "now"));
    assert_eq!((stage.all(), stage.alarms.len()), (vec!["t now".to_owned()], 0));
    // One of a state ends with it.
    stage.handled(Next::keep().state_timeout(zero, "gone").insert("i"));
    drop(stage.next());
    stage.handled(Next::state('b'));
    assert!(!stage.engine.has_event());
}

#[test]
fn f8_times_that_are_over_come_in_their_order_each_once() {
    let mut stage = Stage::in_state('a');
    let at = |seconds: u32| Timestamp::ZERO + seconds * SECOND;
    let next = Next::keep().timeout_at("t", at(9), "9").timeout_at("u", at(8), "8");
    stage.handled(next.timeout_at("v", at(7), "7").state_timeout_at(at(200), "later"));
    assert_eq!(stage.alarms.len(), 4);
    // Its notice lies in the mailbox, and brings nothing.
    stage.handled(Next::keep().cancel("v"));
    assert_eq!(stage.pass(Duration::ZERO), ["u 8", "t 9"]);
    assert!(stage.timers().contains("left=100s"), "{}", stage.timers());
}

#[test]
fn f8_named_timeouts_that_are_due_at_the_same_time_come_in_the_order_in_which_they_were_set() {
    let mut stage = Stage::in_state('a');
    let names = ["n", "c", "z", "a", "m", "b", "y", "k"];
    stage.handled(names.iter().fold(Next::keep(), |next, name| next.timeout(name, SECOND, "!")));
    assert_eq!(stage.pass(SECOND), names.map(|name| format!("{name} !")));
}

#[test]
fn f11_an_error_of_enter_ends_in_the_new_state_and_anything_else_in_the_old_one() {
    let mut stage = Stage::in_state('a');
    let limits = ProcessLimits { now: &|| Timestamp::ZERO, bound: &|| None, trace: &|| None };
    stage.engine.handled(Next::state('b'), 0, limits);
    assert_eq!(stage.state(), 'a', "until `enter` has returned, for a panic in it");
    assert!(matches!(stage.engine.instruction(), Some(Instruction::Enter { from: 'a', to: 'b' })));
    stage.engine.enter_failed();
    assert_eq!(stage.state(), 'b');
}

#[test]
fn f11_everything_that_waits_is_found_when_the_machine_ends() {
    let mut stage = Stage::in_state('a');
    stage.handled_from(7, Next::keep().postpone(message("postponed")));
    stage.handled(Next::keep().insert_message("queued").insert("internal"));
    let limits = ProcessLimits { now: &|| Timestamp::ZERO, bound: &|| None, trace: &|| None };
    // It ends in the enter call, with what the event wanted.
    let next = Next::state('b').postpone(message("in hand")).insert_message("wanted");
    stage.engine.handled(next, 9, limits);
    let waiting: Vec<_> = stage.engine.close().0.collect();
    let mut senders: Vec<_> = waiting.iter().map(|it| (word(&it.event), it.sender)).collect();
    senders.sort();
    let expected = [
        ("internal internal", ITSELF),
        ("message in hand", 9),
        ("message postponed", 7),
        ("message queued", ITSELF),
        ("message wanted", ITSELF),
    ];
    assert_eq!(senders, expected.map(|(word, sender)| (word.to_owned(), sender)));
}

#[test]
fn f13_one_message_more_than_the_bound_is_not_postponed() {
    let mut stage = Stage::in_state('a');
    stage.told.clear();
    stage.bound = Some(2);
    for word in ["x", "y", "z"] {
        stage.handled(Next::keep().postpone(message(word)));
    }
    // What nobody has sent does not count.
    stage.handled(Next::keep().postpone(Event::Internal("i")));
    assert_eq!(
        (stage.engine.postponed(), std::mem::take(&mut stage.told)),
        (3, vec!["refuse message z".to_owned()])
    );
    // With a change it does not wait at all.
    stage.handled(Next::state('b').postpone(message("w")));
    assert_eq!(stage.all(), ["message x", "message y", "internal i", "message w"]);
    assert_eq!(stage.told, ["enter b a"]);
    // The room is free again.
    stage.handled(Next::keep().postpone(message("v")));
    assert_eq!(stage.engine.postponed(), 1);
}

#[test]
fn a_machine_that_keeps_nothing_holds_no_memory() {
    let mut stage = Stage::begun(First::state('a').state_timeout(SECOND, "s").hibernate());
    assert_eq!(stage.told, ["enter a a", "hibernate"]);
    stage.engine.release();
    assert!(stage.engine.agenda.is_some(), "a time-out is set");
    stage.handled(Next::keep().cancel_state_timeout());
    stage.engine.release();
    assert!(stage.engine.agenda.is_none());
    assert!(stage.engine.is_done_with(&Next::keep()));
}

#[test]
fn a_hundred_thousand_actions_of_one_event_are_carried_out() {
    let mut stage = Stage::in_state('a');
    let names: Vec<&'static str> = vec!["t"; 100_000];
    let next = names.iter().fold(Next::keep(), |next: To, name| {
        next.timeout(name, Duration::ZERO, "z").insert("i").postpone(message("x"))
    });
    stage.handled(next);
    assert_eq!((stage.engine.queued(), stage.engine.postponed()), (100_001, 100_000));
    stage.handled(Next::state('b'));
    assert_eq!(stage.engine.queued(), 200_001);
}
