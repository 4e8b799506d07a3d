//! The protocol: what a line of a client means, and what it is answered. Pure: no process, no
//! socket.
//!
//! | line of the client | lines of the answer |
//! |---|---|
//! | `CREATE bucket` | `OK`, or `FULL` if there are as many buckets as there may be |
//! | `PUT bucket key value` | `OK` |
//! | `GET bucket key` | the value and `OK`; for a key without a value an empty line and `OK` |
//! | `DELETE bucket key` | `OK`, whether the key had a value or not |
//! | any of the last three, without such a bucket | `NOT FOUND` |
//! | anything else | `UNKNOWN COMMAND` |
//!
//! Words are separated by white space, so no name, key or value contains any.

/// The longest line of a client, in bytes. A longer one is no command. No answer is longer,
/// because a value has come in a line.
pub(crate) const LONGEST_LINE: usize = 1024;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// There is to be a bucket of this name.
    Create { bucket: String },
    /// Something of a bucket that is there.
    Ask { bucket: String, request: Request },
}

/// What a client asks of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Put { key: String, value: String },
    Get { key: String },
    Delete { key: String },
}

impl Command {
    /// Returns the command of a line; `None` if the line is none.
    pub(crate) fn parse(line: &str) -> Option<Command> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (bucket, request) = match words[..] {
            ["CREATE", bucket] => return Some(Command::Create { bucket: bucket.to_owned() }),
            ["PUT", bucket, key, value] => {
                (bucket, Request::Put { key: key.to_owned(), value: value.to_owned() })
            }
            ["GET", bucket, key] => (bucket, Request::Get { key: key.to_owned() }),
            ["DELETE", bucket, key] => (bucket, Request::Delete { key: key.to_owned() }),
            _ => return None,
        };
        Some(Command::Ask { bucket: bucket.to_owned(), request })
    }
}

/// What a client is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is done.
    Done,
    /// The value of a key, if it has one.
    Value(Option<String>),
    /// There is no such bucket.
    NotFound,
    /// There are as many buckets as there may be.
    Full,
    UnknownCommand,
}

impl Answer {
    /// Returns the lines of the answer.
    pub(crate) fn lines(&self) -> Vec<&str> {
        match self {
            Answer::Done => vec!["OK"],
            Answer::Value(value) => vec![value.as_deref().unwrap_or(""), "OK"],
            Answer::NotFound => vec!["NOT FOUND"],
            Answer::Full => vec!["FULL"],
            Answer::UnknownCommand => vec!["UNKNOWN COMMAND"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kv_1_a_line_is_one_of_four_commands_or_none() {
        let ask = |request| Some(Command::Ask { bucket: "shopping".to_owned(), request });
        let key = || "milk".to_owned();
        for (line, command) in [
            ("CREATE shopping", Some(Command::Create { bucket: "shopping".to_owned() })),
            ("PUT shopping milk 3", ask(Request::Put { key: key(), value: "3".to_owned() })),
            ("GET shopping milk", ask(Request::Get { key: key() })),
            ("  GET\tshopping   milk ", ask(Request::Get { key: key() })),
            ("DELETE shopping milk", ask(Request::Delete { key: key() })),
        ] {
            assert_eq!(Command::parse(line), command, "{line}");
        }
        for line in [
            "",
            " ",
            "CREATE",
            "CREATE two names",
            "create shopping",
            "CREATE_shopping",
            "PUT shopping milk",
            "PUT shopping milk two words",
            "GET shopping",
            "GET shopping milk 3",
            "DELETE shopping",
            "\0CREATE shopping",
            "QUIT",
        ] {
            assert_eq!(Command::parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn kv_1_an_answer_is_one_line_or_a_value_and_a_line() {
        let value = Answer::Value(Some("3".to_owned()));
        for (answer, lines) in [
            (Answer::Done, &["OK"][..]),
            (value, &["3", "OK"]),
            (Answer::Value(None), &["", "OK"]),
            (Answer::NotFound, &["NOT FOUND"]),
            (Answer::Full, &["FULL"]),
            (Answer::UnknownCommand, &["UNKNOWN COMMAND"]),
        ] {
            assert_eq!(answer.lines(), lines);
        }
    }
}
