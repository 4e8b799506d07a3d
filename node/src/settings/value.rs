//! The values that settings take, and how they are read. Pure.

use super::error::Origin;
use super::tree::{self, Given};
use krarup_gen::Name;
use std::time::Duration;

/// The longest time that can be set.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The units of times, in nanoseconds.
const TIMES: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The units of sizes, in bytes.
const SIZES: &[(&str, u64)] = &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// The word that turns a setting off.
const OFF: &str = "off";

/// The type of a setting's values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueType {
    Whole {
        least: u64,
        most: u64,
    },
    /// A number of bytes, or a text with a unit.
    Size {
        least: u64,
        most: u64,
    },
    /// A whole number, or `"off"`.
    WholeOrOff {
        least: u64,
        most: u64,
    },
    /// A time with a unit, or `"off"`.
    Time,
    /// A time to wait, with a unit.
    Wait,
    /// True or false.
    Switch,
    Name,
    Word(&'static [&'static str]),
}

/// A value that was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Setting {
    Whole(u64),
    Time(Duration),
    /// The setting is turned off.
    Off,
    Switch(bool),
    Text(String),
}

/// Why a value does not fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum InvalidValue {
    Type,
    Value,
}

/// Reads a value of this type.
pub(crate) fn read(takes: ValueType, given: &Given) -> Result<Setting, InvalidValue> {
    match (takes, given) {
        (_, Given::Variable(text)) => {
            let read_as = |given: &Given| read(takes, given);
            read_as(&tree::other_than_text(text, &Origin::default())).or_else(|misfit| {
                let as_text = read_as(&Given::Text(text.clone()));
                as_text.map_err(|other| if misfit == InvalidValue::Type { other } else { misfit })
            })
        }
        (
            ValueType::Whole { least, most }
            | ValueType::WholeOrOff { least, most }
            | ValueType::Size { least, most },
            Given::Whole(number, _),
        ) => {
            let number = number.and_then(|number| u64::try_from(number).ok());
            within(number, least, most).map(Setting::Whole)
        }
        (ValueType::Size { least, most }, Given::Text(text)) => {
            within(measure(text, SIZES), least, most).map(Setting::Whole)
        }
        (ValueType::Time | ValueType::WholeOrOff { .. }, Given::Text(text)) if text == OFF => {
            Ok(Setting::Off)
        }
        (ValueType::Switch, Given::Switch(on)) => Ok(Setting::Switch(*on)),
        (ValueType::Time | ValueType::Wait, Given::Text(text)) => {
            // A wait of zero is over at once; a limit or a period of zero has no meaning.
            let least = u64::from(!matches!(takes, ValueType::Wait));
            let longest = u64::try_from(LONGEST.as_nanos()).unwrap_or(u64::MAX);
            let nanos = within(measure(text, TIMES), least, longest)?;
            Ok(Setting::Time(Duration::from_nanos(nanos)))
        }
        (ValueType::Name, Given::Text(text)) => {
            Name::new(text).map(|_| Setting::Text(text.clone())).map_err(|_| InvalidValue::Value)
        }
        (ValueType::Word(words), Given::Text(text)) => {
            let known = words.contains(&text.as_str());
            known.then(|| Setting::Text(text.clone())).ok_or(InvalidValue::Value)
        }
        _ => Err(InvalidValue::Type),
    }
}

fn within(number: Option<u64>, least: u64, most: u64) -> Result<u64, InvalidValue> {
    number.filter(|number| (least..=most).contains(number)).ok_or(InvalidValue::Value)
}

/// Reads a whole number with one of these units.
fn measure(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, each) = units.iter().find(|(name, _)| *name == unit.trim_start_matches(' '))?;
    number.parse::<u64>().ok()?.checked_mul(*each)
}

/// Describes the values of a type, for error messages and for the reference page.
pub(crate) fn takes(takes: ValueType) -> String {
    let units =
        |units: &[(&str, u64)]| units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    match takes {
        ValueType::Whole { least, most } => format!("a whole number, {least} to {most}"),
        ValueType::WholeOrOff { least, most } => {
            format!("a whole number, {least} to {most}, or \"{OFF}\"")
        }
        ValueType::Size { least, most } => format!(
            "a number of bytes, or text with a unit ({}), {least} to {most} bytes",
            units(SIZES)
        ),
        ValueType::Time => format!(
            "text: a whole number with a unit ({}), 1 ns to 24 h, or \"{OFF}\"",
            units(TIMES)
        ),
        ValueType::Wait => {
            format!("text: a whole number with a unit ({}), 0 ns to 24 h", units(TIMES))
        }
        ValueType::Switch => "true or false".to_owned(),
        ValueType::Name => format!("text of 1 to {} bytes", Name::MAX_BYTES),
        ValueType::Word(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
            format!("one of {}", words.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidValue, LONGEST, Setting, TIMES, ValueType, measure, read};
    use crate::settings::tree::Given;
    use std::time::Duration;

    fn time(text: &str) -> Result<Setting, InvalidValue> {
        read(ValueType::Time, &Given::Text(text.to_owned()))
    }

    #[test]
    fn x7_times_have_a_unit_and_bounds() {
        let is = |nanos| Ok(Setting::Time(Duration::from_nanos(nanos)));
        assert_eq!(time("5ms"), is(5_000_000));
        assert_eq!(time("5 ms"), is(5_000_000));
        assert_eq!(time("1ns"), is(1));
        assert_eq!(time("24h"), Ok(Setting::Time(LONGEST)));
        assert_eq!(time("off"), Ok(Setting::Off));
        // A wait may be over at once, and is never off.
        let wait = |text: &str| read(ValueType::Wait, &Given::Text(text.to_owned()));
        assert_eq!((wait("0s"), wait("24h")), (is(0), Ok(Setting::Time(LONGEST))));
        assert_eq!(wait("25h"), Err(InvalidValue::Value));
        assert!(wait("off").is_err());
        for bad in [
            "",
            " ",
            "ms",
            "0ms",
            "-1ms",
            "1.5s",
            "5",
            "5 m s",
            "5MS",
            "Off",
            "25h",
            "1441min",
            "18446744073709551615h",
            // Overflows 64 bits, and would wrap to a quarter of an hour.
            "5124096h",
            "99999999999999999999ns",
            "5ms ",
            "５ms",
            "5\u{a0}ms",
        ] {
            assert_eq!(time(bad), Err(InvalidValue::Value), "{bad:?}");
        }
        assert_eq!(
            read(ValueType::Time, &Given::Whole(Some(5), "5".into())),
            Err(InvalidValue::Type)
        );
        assert_eq!(measure("2min", TIMES), Some(120_000_000_000));
    }

    #[test]
    fn x7_numbers_and_sizes_are_within_their_bounds() {
        let takes = ValueType::Size { least: 1024, most: 4096 };
        let text = |text: &str| read(takes, &Given::Text(text.to_owned()));
        assert_eq!(text("1KiB"), Ok(Setting::Whole(1024)));
        assert_eq!(text("4096 B"), Ok(Setting::Whole(4096)));
        for bad in
            ["1023B", "5KiB", "1kb", "1 MB", "1024", "17179869184GiB", "18014398509481986KiB"]
        {
            assert_eq!(text(bad), Err(InvalidValue::Value), "{bad:?}");
        }
        let whole = |number| read(takes, &Given::Whole(number, String::new()));
        assert_eq!(whole(Some(1024)), Ok(Setting::Whole(1024)));
        for bad in [Some(0), Some(-1), Some(1023), Some(4097), Some(i128::MAX), None] {
            assert_eq!(whole(bad), Err(InvalidValue::Value), "{bad:?}");
        }
        let other = Given::Other { found: "a float", shown: "1.0".into() };
        assert_eq!(read(takes, &other), Err(InvalidValue::Type));
    }
}
