//! Inspections: how a process describes itself.

use std::fmt;
use std::time::Duration;

/// The answer of a process to an inspection: named values, in the order in which they were set
/// (Ergo's Inspect).
///
/// ```
/// # use krarup_gen::Inspection;
/// let answer = Inspection::new().with("orders", 3_u64).with("open", true);
/// assert_eq!(answer.number("orders"), Some(3));
/// assert_eq!(answer.to_string(), "orders=3 open=true");
/// assert_eq!(answer.only(&["open", "closed"]).to_string(), "open=true");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inspection {
    items: Vec<(String, Value)>,
}

impl Inspection {
    /// Creates an answer without items.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the answer with one more item. An item of the same name is replaced.
    #[must_use]
    pub fn with(mut self, item: impl Into<String>, value: impl Into<Value>) -> Self {
        self.set(item, value);
        self
    }

    /// Sets an item. An item of the same name is replaced.
    pub fn set(&mut self, item: impl Into<String>, value: impl Into<Value>) {
        let (item, value) = (item.into(), value.into());
        match self.items.iter_mut().find(|(name, _)| *name == item) {
            Some((_, old)) => *old = value,
            None => self.items.push((item, value)),
        }
    }

    /// Returns the answer with only these items. Names without an item are ignored.
    #[must_use]
    pub fn only<T: AsRef<str>>(mut self, items: &[T]) -> Self {
        self.items.retain(|(name, _)| items.iter().any(|item| item.as_ref() == name));
        self
    }

    /// Returns the value of an item.
    #[must_use]
    pub fn value(&self, item: &str) -> Option<&Value> {
        self.items.iter().find(|(name, _)| name == item).map(|(_, value)| value)
    }

    /// Returns the value of an item that is a number.
    #[must_use]
    pub fn number(&self, item: &str) -> Option<u64> {
        match self.value(item) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// Returns the value of an item that is a text.
    #[must_use]
    pub fn text(&self, item: &str) -> Option<&str> {
        match self.value(item) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the items in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.items.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.items.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{name}={value}")?;
        }
        Ok(())
    }
}

/// The value of one item of an [`Inspection`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A count, or a number that is not negative.
    Number(u64),
    /// A number below zero.
    Negative(i64),
    /// A floating-point value.
    Float(f64),
    /// A flag.
    Flag(bool),
    /// A text.
    Text(String),
    /// A duration.
    Duration(Duration),
    /// A list of values.
    List(Vec<Value>),
    /// Named values.
    Record(Inspection),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => fmt::Display::fmt(number, f),
            Value::Negative(number) => fmt::Display::fmt(number, f),
            Value::Float(float) => fmt::Display::fmt(float, f),
            Value::Flag(flag) => fmt::Display::fmt(flag, f),
            Value::Text(text) => f.write_str(text),
            Value::Duration(duration) => fmt::Debug::fmt(duration, f),
            Value::List(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    fmt::Display::fmt(value, f)?;
                }
                f.write_str("]")
            }
            Value::Record(record) => write!(f, "{{{record}}}"),
        }
    }
}

macro_rules! value_from {
    ($($from:ty => $to:expr),* $(,)?) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Self {
                $to(value)
            }
        })*
    };
}

value_from! {
    u64 => Value::Number,
    i64 => |n: i64| u64::try_from(n).map_or(Value::Negative(n), Value::Number),
    i32 => |n: i32| Value::from(i64::from(n)),
    u32 => |n| Value::Number(u64::from(n)),
    usize => |n| Value::Number(n as u64),
    f64 => Value::Float,
    bool => Value::Flag,
    String => Value::Text,
    &str => |text: &str| Value::Text(text.to_owned()),
    Duration => Value::Duration,
    Vec<Value> => Value::List,
    Inspection => Value::Record,
    crate::Pid => |pid: crate::Pid| Value::Text(pid.to_string()),
    crate::Name => |name: crate::Name| Value::Text(name.to_string()),
    &crate::Reason => |reason: &crate::Reason| Value::Text(reason.to_string()),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Name, Pid, Reason};

    #[test]
    fn x3_a_number_with_a_sign_is_an_item_too() {
        let inspection =
            Inspection::new().with("one", 1).with("balance", -7_i64).with("big", i64::MAX);
        assert_eq!(inspection.to_string(), format!("one=1 balance=-7 big={}", i64::MAX));
        assert_eq!((inspection.number("one"), inspection.number("balance")), (Some(1), None));
        assert_eq!(inspection.value("balance"), Some(&Value::Negative(-7)));
    }

    #[test]
    fn x3_an_inspection_keeps_its_items_in_order_and_one_of_each_name() {
        let mut inspection = Inspection::new();
        assert!(inspection.is_empty());
        for (item, value) in [("open", 1_u64), ("done", 2), ("open", 3)] {
            inspection.set(item, value);
        }
        let inspection = inspection.with("name", "stock");
        assert!(!inspection.is_empty());
        let names: Vec<_> = inspection.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["open", "done", "name"]);
        assert_eq!((inspection.number("open"), inspection.number("done")), (Some(3), Some(2)));
        assert_eq!((inspection.number("name"), inspection.number("none")), (None, None));
        assert_eq!((inspection.text("name"), inspection.text("open")), (Some("stock"), None));
        assert_eq!((inspection.value("none"), inspection.value("op")), (None, None));
        // Only the items that were asked for, in their own order.
        let some = inspection.clone().only(&["name", "none", "open"]);
        assert_eq!(some.to_string(), "open=3 name=stock");
        assert!(inspection.only::<&str>(&[]).is_empty());
    }

    #[test]
    fn x3_every_kind_of_value_is_printed() {
        let record = Inspection::new().with("a", 1_u32).with("b", true);
        let values = [
            (Value::from(7_u64), "7"),
            (Value::from(8_u32), "8"),
            (Value::from(9_usize), "9"),
            (Value::from(0.5), "0.5"),
            (Value::from(false), "false"),
            (Value::from("text"), "text"),
            (Value::from(String::from("owned")), "owned"),
            (Value::from(Duration::from_millis(1500)), "1.5s"),
            (
                Value::from(vec![Value::from(1_u64), Value::from("x"), Value::from(true)]),
                "[1, x, true]",
            ),
            (Value::from(Vec::new()), "[]"),
            (Value::from(record), "{a=1 b=true}"),
            (Value::from(Pid::local(7, 1)), "<0.7.0>"),
            (Value::from(Name::new("stock").unwrap()), "stock"),
            (Value::from(&Reason::Killed), "killed"),
        ];
        for (value, printed) in values {
            assert_eq!(value.to_string(), printed);
        }
    }
}
