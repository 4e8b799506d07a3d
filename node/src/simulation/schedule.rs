//! A schedule: the choices of one run, as deviations from the order of arrival.
//!
//! ```text
//!   the next step   s0  s1  s2  s3  s4  ..        what a simulation is asked, in order, by kind
//!   the seed         0   2   0   0   1  ..        a run as the seed chooses
//!   default          0   0   0   0   0  ..        first come, first served; no random fault
//!   deviations         s1=2        s4=1           what makes the run another one
//! ```
//!
//! | kind | choice | default |
//! |---|---|---|
//! | `s` | the next step: a turn, a timer, work, an event of the network | a turn, of the process behind the one that was chosen last; around: the one that has been ready for the longest. Another process is named by its number (`p14`), a timer, work or an event by its place among them (`t0`, `w0`, `n0`) |
//! | `m` | how many messages a message overtakes | none |
//! | `f` | whether a random fault strikes | it does not |
//! | `v` | the victim of a fault | the process that lives for the longest; others by their numbers |
//! | `d` | how long a fault lasts | the shortest time |
//! | `t` | a choice of the test's own | 0 |
//!
//! Without deviations processes run in the order in which they became ready. A process that was passed
//! over is passed over until its turn comes around, so to delay one takes a deviation for each round
//! and not for each step. A choice of a process names it, so that it stays the same when another
//! deviation is left out.
//!
//! A run is its seed, from which numbers that are no choices come, and the choices that were not
//! the default. That is a small text if the run is a simple one, so the search for a simple one that
//! still fails is the search for a short text
//! ([`simulation::shrinking`](crate::simulation::shrinking)). Each kind has places of its own: what
//! a fault needs besides does not move the places of the steps.
//!
//! Behind its last choice a schedule leaves the choices to the seed. A run that goes on for longer
//! than it did, because the program has changed, ends as any other does.

use crate::simulation::trace::Run;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What is chosen. The order is that of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ChoiceKind {
    Step,
    Message,
    Fault,
    Victim,
    Duration,
    Test,
}

impl ChoiceKind {
    /// All kinds, with their letters, each at the place of its number.
    pub(crate) const ALL: [(ChoiceKind, char); 6] = [
        (ChoiceKind::Step, 's'),
        (ChoiceKind::Message, 'm'),
        (ChoiceKind::Fault, 'f'),
        (ChoiceKind::Victim, 'v'),
        (ChoiceKind::Duration, 'd'),
        (ChoiceKind::Test, 't'),
    ];

    /// How many places there are for choices of this kind among as many choices.
    fn places(self, choices: u64) -> u64 {
        match self {
            ChoiceKind::Victim | ChoiceKind::Duration => choices.saturating_mul(VICTIMS),
            _ => choices,
        }
    }
}

/// How many places for victims and durations a fault has.
pub(crate) const VICTIMS: u64 = 4;

/// A choice: its kind, and its number among those. The numbers of victims and durations follow those
/// of the faults, [`VICTIMS`] for each.
pub(crate) type ChoicePlace = (ChoiceKind, u64);

/// The number by which a step is named: a process by its number, anything else by its place.
pub(crate) struct StepName;

impl StepName {
    /// Processes, timers, work, events of the network.
    const KINDS: [char; 4] = ['p', 't', 'w', 'n'];

    pub(crate) fn of(kind: usize, number: usize) -> usize {
        number.saturating_mul(Self::KINDS.len()).saturating_add(kind)
    }

    pub(crate) fn parts(name: usize) -> (usize, usize) {
        (name % Self::KINDS.len(), name / Self::KINDS.len())
    }

    /// No process has the number 0, and the default is no deviation.
    fn read(text: &str) -> Option<usize> {
        let kind = Self::KINDS.iter().position(|letter| text.starts_with(*letter))?;
        Some(Self::of(kind, text[1..].parse().ok()?)).filter(|name| *name != 0)
    }
}

/// The choices of one run of a [`Simulation`](crate::Simulation): its seed, and where it deviates from the order of
/// arrival.
///
/// A failure that was shrunk prints it, and the variable `KRARUP_SCHEDULE` runs it again
/// ([`Simulation::explore`](crate::Simulation::explore)); as does
/// [`Simulation::with_schedule`](crate::Simulation::with_schedule). Its text has the form
/// `SEED.MESSAGES.CHOICES:PLACE=CHOICE,..`: the seed, the most messages of a turn, the number of
/// choices, and the choices that are not the default. `s3` is the fourth choice of a next step, here process 14, `m`
/// of what a message overtakes, `f` of whether a fault strikes, `v` of its victim, `d` of its duration, `t` of the test.
/// Victims and durations are numbered by the faults, four for each: those of `f66` begin with `v264` and `d264`.
///
/// ```
/// # use krarup_node::Schedule;
/// let schedule: Schedule = "7.1.60:s3=p14,m17=2".parse().unwrap();
/// assert_eq!((schedule.seed(), schedule.choices(), schedule.deviations()), (7, 60, 2));
/// assert_eq!(schedule.to_string(), "7.1.60:s3=p14,m17=2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub(crate) run: Run,
    /// The number of choices for which it holds.
    pub(crate) length: u64,
    /// By their places, the choices that are not the default.
    pub(crate) deviations: BTreeMap<ChoicePlace, usize>,
}

impl Schedule {
    /// Leaves every choice to the seed.
    pub(crate) fn of_seed(run: Run) -> Self {
        Schedule { run, length: 0, deviations: BTreeMap::new() }
    }

    /// Returns the seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.run.seed
    }

    /// Returns the number of choices.
    #[must_use]
    pub fn choices(&self) -> u64 {
        self.length
    }

    /// Returns how many of the choices are not the default.
    #[must_use]
    pub fn deviations(&self) -> usize {
        self.deviations.len()
    }

    /// The choice at this place, which is the `number`th of all; `None` leaves it to the seed.
    pub(crate) fn at(&self, number: u64, place: ChoicePlace) -> Option<usize> {
        let scheduled = || self.deviations.get(&place).copied().unwrap_or(0);
        (number < self.length).then(scheduled)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.run.seed, self.run.throughput, self.length)?;
        for (number, ((kind, place), choice)) in self.deviations.iter().enumerate() {
            let between = if number == 0 { ':' } else { ',' };
            write!(f, "{between}{}{place}=", ChoiceKind::ALL[*kind as usize].1)?;
            match kind {
                ChoiceKind::Step => {
                    let (kind, number) = StepName::parts(*choice);
                    write!(f, "{}{number}", StepName::KINDS[kind])?;
                }
                _ => write!(f, "{choice}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        read(text).ok_or_else(|| ScheduleError { text: text.chars().take(MOST_TEXT).collect() })
    }
}

/// The most characters of a text that an error repeats.
const MOST_TEXT: usize = 100;

fn read(text: &str) -> Option<Schedule> {
    let (head, list) = text.split_once(':').map_or((text, None), |(head, list)| (head, Some(list)));
    let mut numbers = head.split('.');
    let (seed, throughput, length) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let throughput: u32 = throughput.parse().ok().filter(|most| *most > 0)?;
    let run = Run { seed: seed.parse().ok()?, throughput };
    let mut schedule = Schedule { length: length.parse().ok()?, ..Schedule::of_seed(run) };
    for one in list.into_iter().flat_map(|list| list.split(',')) {
        let (place, choice) = one.split_once('=')?;
        let kind = ChoiceKind::ALL.iter().find(|(_, letter)| place.starts_with(*letter))?.0;
        let places = kind.places(schedule.length);
        let place = place[1..].parse().ok().filter(|place| *place < places)?;
        let choice = match kind {
            ChoiceKind::Step => StepName::read(choice)?,
            _ => choice.parse().ok()?,
        };
        if schedule.deviations.insert((kind, place), choice).is_some() {
            return None;
        }
    }
    numbers.next().is_none().then_some(schedule)
}

/// The error of a text that is no [`Schedule`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a schedule (expected a form like 7.1.60:s3=p14,m17=2)")]
pub struct ScheduleError {
    /// The text, cut at 100 characters.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn y4_a_schedule_is_read_from_the_text_that_it_prints() {
        use ChoiceKind::{Message, Step};

        for text in [
            "0.1.0",
            "7.1.60",
            "7.1.60:s3=p14,m17=2,f0=0,v1=3,t2=1",
            "3.1.229:f66=1,v264=9",
            "7.1.60:m59=1,f59=1,v239=3,d239=5,t59=1",
            "18446744073709551615.64.4:s0=t0,s1=w1,s2=n7,s3=p1",
        ] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
        let schedule: Schedule = "7.1.60:s3=p14,m17=2".parse().unwrap();
        let places = [(0, (Step, 0)), (3, (Step, 3)), (9, (Message, 3)), (59, (Message, 17))];
        let at = places.map(|(number, place)| schedule.at(number, place));
        assert_eq!(at, [Some(0), Some(StepName::of(0, 14)), Some(0), Some(2)]);
        assert_eq!(schedule.at(60, (Step, 3)), None);
        for (place, (kind, _)) in ChoiceKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place);
        }
    }

    #[test]
    fn y4_a_text_that_is_no_schedule_is_an_error() {
        let wrong = [
            "",
            "7",
            "7.1",
            "7.0.60",
            "7.1.60.1",
            "7.1.60:",
            "7.1.60:s3",
            "7.1.60:s60=p1",
            "7.1.60:f60=1",
            "7.1.60:v240=1",
            "7.1.60:d240=1",
            "-7.1.60",
            "7.1.60:s3=p1,s3=p2",
            "7.1.60:s3=p1,",
            "7.1.60:s3=p0",
            "7.1.60:s3=1",
            "7.1.60:s3=q1",
            "7.1.60:s3=-1",
            "x",
            "7.1.60:3=1",
            "7.1.60:x3=1",
            "7.1.60:=1",
            "7.1.60:é3=1",
        ];
        for text in wrong {
            let error = text.parse::<Schedule>().unwrap_err();
            assert!(error.to_string().starts_with(&format!("{text:?} is not a")), "{error}");
        }
        assert_eq!("x".repeat(999).parse::<Schedule>().unwrap_err().text.len(), 100);
    }
}
