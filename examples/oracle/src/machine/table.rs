//! The table of a machine scenario: what its callbacks answer. Any line that is not understood is
//! an error.

use krarup::Timestamp;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// What a callback answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) actions: Vec<Action>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Keep,
    Next(String),
    Repeat,
    Stop(String),
    Crash(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Postpone,
    InsertInternal(String),
    InsertCast(String),
    Set(Kind, When, String),
    Update(Kind, String),
    Cancel(Kind),
    Reply(String),
    Hold,
    Answer(String),
    Hibernate,
}

/// The kind of a time-out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    State,
    Event,
    Named(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum When {
    After(Duration),
    At(Timestamp),
}

/// One step of the driver.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Start,
    Cast(String),
    Call(String),
    Advance(Duration),
    Hold,
    Release,
    Stop(String),
    Exit(String),
}

/// The table, as it is declared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) first: String,
    pub(crate) has_enter_calls: bool,
    pub(crate) init: Vec<Action>,
    /// By state, kind and word; enter calls have the kind `enter` and no word.
    rows: HashMap<(String, String, String), VecDeque<Answer>>,
}

impl Table {
    /// Takes the next answer to an event: of the first row that there is, or the default.
    pub(crate) fn answer(&mut self, state: &str, kind: &str, word: &str) -> Answer {
        let keys = [(state, word), (state, "*"), ("*", word), ("*", "*")];
        let key = |(state, word): (&str, &str)| (state.into(), kind.into(), word.into());
        let row = keys.map(key).into_iter().find(|key| self.rows.contains_key(key));
        let planned = row.and_then(|key| self.rows.get_mut(&key)?.pop_front());
        planned.unwrap_or_else(|| {
            let reply = (kind == "call").then(|| Action::Reply("ok".to_owned()));
            Answer { outcome: Outcome::Keep, actions: reply.into_iter().collect() }
        })
    }

    /// Takes the next answer to an enter call.
    pub(crate) fn enter(&mut self, state: &str) -> Answer {
        self.answer(state, "enter", "")
    }
}

/// Parses the input lines of a scenario: its table, and its steps with their lines.
pub(crate) fn parse(lines: &[String]) -> Result<(Table, Vec<(String, Step)>), String> {
    let (mut table, mut steps) = (None, Vec::new());
    for line in lines {
        if line.starts_with("= ") {
            if steps.is_empty() {
                return Err(bad(line, "an expectation before the first step"));
            }
            expectation(line).map_err(|fault| bad(line, fault))?;
            continue;
        }
        let parsed = parse_line(line, &mut table);
        match parsed.map_err(|fault| bad(line, fault))? {
            Some(Step::Start) if !steps.is_empty() => return Err(bad(line, "it has started")),
            Some(step) if steps.is_empty() && step != Step::Start => {
                return Err(bad(line, "a step before `start`"));
            }
            None if !steps.is_empty() => return Err(bad(line, "the table is behind its steps")),
            step => steps.extend(step.map(|step| (line.clone(), step))),
        }
    }
    Ok((table.ok_or("the scenario has no `machine`")?, steps))
}

fn bad(line: &str, fault: &str) -> String {
    format!("bad line `{line}`: {fault}")
}

fn parse_line(line: &str, table: &mut Option<Table>) -> Result<Option<Step>, &'static str> {
    let words: Vec<&str> = line.split(' ').collect();
    match (&words[..], table.as_mut()) {
        (["machine", first, enter, rest @ ..], None) => {
            let has_enter_calls = match *enter {
                "enter=yes" => true,
                "enter=no" => false,
                _ => return Err("enter is yes or no"),
            };
            let init = match rest {
                [] => Vec::new(),
                [":", rest @ ..] => actions(rest, Callback::Init)?,
                _ => return Err("`:` and actions are missing"),
            };
            let first = word(first)?;
            *table = Some(Table { first, has_enter_calls, init, rows: HashMap::new() });
            Ok(None)
        }
        (["machine", ..], Some(_)) => Err("a second machine"),
        (_, None) => Err("the first line is `machine`"),
        (["on", state, kind, content, ":", rest @ ..], Some(table)) => {
            if !matches!(*kind, "cast" | "call" | "internal") {
                timeout_kind(kind)?;
            }
            let key = (word(state)?, (*kind).to_owned(), word(content)?);
            row(table, key, rest, Callback::Event)
        }
        (["enter", state, ":", rest @ ..], Some(table)) => {
            row(table, (word(state)?, "enter".into(), String::new()), rest, Callback::Enter)
        }
        (["start"], _) => Ok(Some(Step::Start)),
        (["cast", content], _) => Ok(Some(Step::Cast(word(content)?))),
        (["call", content], _) => Ok(Some(Step::Call(word(content)?))),
        (["advance", time], _) => Ok(Some(Step::Advance(millis(time)?))),
        (["hold"], _) => Ok(Some(Step::Hold)),
        (["release"], _) => Ok(Some(Step::Release)),
        (["stop", reason], _) => Ok(Some(Step::Stop(word(reason)?))),
        (["exit", reason], _) => Ok(Some(Step::Exit(word(reason)?))),
        _ => Err("this line is none of a machine"),
    }
}

/// Which callback an answer is of: not every action has a meaning in each.
#[derive(Clone, Copy, PartialEq)]
enum Callback {
    Init,
    Event,
    Enter,
}

fn row(
    table: &mut Table,
    key: (String, String, String),
    words: &[&str],
    callback: Callback,
) -> Result<Option<Step>, &'static str> {
    let answers = words.split(|word| *word == "|").map(|words| answer(words, callback));
    let answers = answers.collect::<Result<VecDeque<_>, _>>()?;
    match table.rows.insert(key, answers) {
        Some(_) => Err("this row is there already"),
        None => Ok(None),
    }
}

fn answer(words: &[&str], callback: Callback) -> Result<Answer, &'static str> {
    let (outcome, rest) = match words.iter().position(|word| *word == ";") {
        Some(place) => (&words[..place], &words[place + 1..]),
        None => (words, &[][..]),
    };
    let outcome = match (outcome, callback) {
        (["keep"], _) => Outcome::Keep,
        (["next", state], Callback::Event) => Outcome::Next(word(state)?),
        (["repeat"], Callback::Event) => Outcome::Repeat,
        (["stop", reason], _) => Outcome::Stop(word(reason)?),
        (["crash", text], _) => Outcome::Crash(word(text)?),
        _ => return Err("no such result here"),
    };
    let actions = if words.contains(&";") { actions(rest, callback)? } else { Vec::new() };
    let may = match outcome {
        Outcome::Stop(_) => {
            actions.iter().all(|action| matches!(action, Action::Reply(_) | Action::Answer(_)))
        }
        Outcome::Crash(_) => actions.is_empty(),
        _ => true,
    };
    if may { Ok(Answer { outcome, actions }) } else { Err("an action that its result has not") }
}

fn actions(words: &[&str], callback: Callback) -> Result<Vec<Action>, &'static str> {
    words.split(|word| *word == ";").map(|words| action(words, callback)).collect()
}

fn action(words: &[&str], callback: Callback) -> Result<Action, &'static str> {
    let of_event = callback == Callback::Event;
    Ok(match words {
        ["postpone"] if of_event => Action::Postpone,
        ["insert", "internal", content] if callback != Callback::Enter => {
            Action::InsertInternal(word(content)?)
        }
        ["insert", "cast", content] if callback != Callback::Enter => {
            Action::InsertCast(word(content)?)
        }
        ["cancel", kind] => Action::Cancel(timeout_kind(kind)?),
        ["update", kind, content] => Action::Update(timeout_kind(kind)?, word(content)?),
        ["reply", value] if of_event => Action::Reply(word(value)?),
        ["hold"] if of_event => Action::Hold,
        ["answer", value] if callback != Callback::Init => Action::Answer(word(value)?),
        ["hibernate"] => Action::Hibernate,
        [kind, when, content] => {
            let when = match when.strip_prefix("at=") {
                Some(at) => When::At(Timestamp::ZERO + millis(at)?),
                None => When::After(millis(when)?),
            };
            Action::Set(timeout_kind(kind)?, when, word(content)?)
        }
        _ => return Err("no such action here"),
    })
}

fn timeout_kind(text: &str) -> Result<Kind, &'static str> {
    match text {
        "state_timeout" => Ok(Kind::State),
        "event_timeout" => Ok(Kind::Event),
        text => {
            let name = text.strip_prefix("timeout:").ok_or("no such kind of event")?;
            Ok(Kind::Named(word(name)?))
        }
    }
}

fn millis(text: &str) -> Result<Duration, &'static str> {
    text.parse().map(Duration::from_millis).map_err(|_| "no number of milliseconds")
}

fn word(text: &str) -> Result<String, &'static str> {
    if text.is_empty() || matches!(text, ":" | ";" | "|" | "=") {
        return Err("a word is missing");
    }
    Ok(text.to_owned())
}

/// Checks that an expectation is one of the format.
fn expectation(line: &str) -> Result<(), &'static str> {
    let words: Vec<&str> = line.split(' ').collect();
    let is_call =
        |number: &str| number.strip_prefix('#').is_some_and(|number| number.parse::<u32>().is_ok());
    let fits = match words[1..] {
        ["on", _, kind, _] => kind != "call",
        ["on", _, "call", _, number] | ["reply" | "fail", number, _] => is_call(number),
        ["enter" | "term", _, _] | ["end", _] | ["down" | "held" | "skip"] => true,
        ["at", _, postponed, timers] => {
            let postponed = postponed.strip_prefix("postponed=");
            postponed.is_some_and(|n| n.parse::<u32>().is_ok()) && timers.starts_with("timers=")
        }
        _ => false,
    };
    if fits { Ok(()) } else { Err("no such expectation") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(lines: &[&str]) -> String {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        parse(&lines).map(|_| ()).expect_err("a line that is not understood")
    }

    #[test]
    fn a_line_that_is_not_understood_is_an_error() {
        let machine = "machine a enter=no";
        for line in [
            "machine b enter=no",
            "on a cast x",
            "on a cast x :",
            "on a cast x : keep ;",
            "on a cast x : keep ; wait",
            "on a cast x : keep ; state_timeout soon s",
            "on a cast x : next",
            "on a cast x : stop r ; postpone",
            "on a cast x : crash t ; reply ok",
            "on a sometime x : keep",
            "on a timeout: x : keep",
            "enter a : next b",
            "enter a : keep ; postpone",
            "enter a : keep ; insert internal i",
            "enter a : repeat",
            "cast x",
            "begin",
        ] {
            let text = fault(&[machine, line]);
            assert!(text.contains(line), "{line}: {text}");
        }
        for line in ["start", "cast", "call x y", "advance soon", "on b cast x : keep", "= at a"] {
            let text = fault(&[machine, "start", line]);
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(fault(&["start"]).contains("start"));
        assert!(fault(&["machine a enter=maybe"]).contains("maybe"));
        assert!(fault(&["machine a enter=no : postpone"]).contains("postpone"));
        assert!(fault(&[machine, "on a cast x : keep", "on a cast x : keep"]).contains("already"));
    }

    #[test]
    fn the_first_row_that_there_is_answers_and_then_the_default() {
        let lines = ["machine a enter=no", "on a cast * : next b | repeat", "on * cast x : keep"];
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let (mut table, _) = parse(&lines).unwrap();
        let mut outcome = || table.answer("a", "cast", "x").outcome;
        assert_eq!(outcome(), Outcome::Next("b".to_owned()));
        assert_eq!(outcome(), Outcome::Repeat);
        assert_eq!(outcome(), Outcome::Keep);
        assert_eq!(table.answer("a", "call", "x").actions, [Action::Reply("ok".to_owned())]);
    }
}
