//! The text of one family, read as strictly as a collector of metrics reads it.
//!
//! `prometheus-client` writes names, help texts and names of labels as they are. Prometheus refuses all
//! of an answer in which one line is wrong, so the families of the program are read before they are
//! served.

use std::collections::BTreeSet;

/// A family in the text format of `OpenMetrics`: its head, and the lines of its series.
#[derive(Debug)]
pub(crate) struct FamilyText<'a> {
    pub(crate) name: &'a str,
    /// The endings of the names of its series.
    endings: &'static [&'static str],
    /// The lines after the head.
    series: Vec<&'a str>,
}

impl<'a> FamilyText<'a> {
    /// Reads the head of a family. If it is none, returns the line that is wrong.
    pub(crate) fn read(text: &'a str) -> Result<Self, &'a str> {
        let mut lines = text.lines();
        let help = lines.next().unwrap_or_default();
        let kind = lines.next().unwrap_or_default();
        let head = kind.strip_prefix("# TYPE ").and_then(|head| head.rsplit_once(' '));
        let (name, endings) = head
            .and_then(|(name, kind)| Some((name, endings(kind)?)))
            .filter(|(name, _)| about(help, "# HELP ", name).is_some())
            .ok_or(if kind.starts_with("# TYPE ") { help } else { kind })?;
        let mut series: Vec<&str> = lines.collect();
        let unit = series.first().copied().and_then(|line| about(line, "# UNIT ", name));
        if unit.is_some_and(|unit| name.strip_suffix(unit).is_some_and(|of| of.ends_with('_'))) {
            series.remove(0);
        }
        Ok(FamilyText { name, endings, series })
    }

    /// The names that are taken with this family: its own, and those that its series may have.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        let series = self.endings.iter().filter(|ending| !ending.is_empty());
        let series = series.map(|ending| format!("{}{ending}", self.name));
        std::iter::once(self.name.to_owned()).chain(series)
    }

    /// Whether its name is one that a collector accepts.
    pub(crate) fn has_a_name(&self) -> bool {
        is_name(self.name, true)
    }

    /// The first line that is no series of this family, or one that was there before.
    pub(crate) fn flaw(&self) -> Option<&'a str> {
        let mut seen = BTreeSet::new();
        let mut lines = self.series.iter().copied();
        lines.find(|line| !series(line, self).is_some_and(|series| seen.insert(series)))
    }
}

/// The rest of a line of the head that is about this family.
fn about<'a>(line: &'a str, word: &str, name: &str) -> Option<&'a str> {
    line.strip_prefix(word)?.strip_prefix(name)?.strip_prefix(' ')
}

fn endings(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "counter" => Some(&["_total"]),
        "gauge" | "unknown" => Some(&[""]),
        "info" => Some(&["_info"]),
        "histogram" => Some(&["_bucket", "_count", "_sum"]),
        _ => None,
    }
}

/// `[a-zA-Z_][a-zA-Z0-9_]*`; with colons in the name of a metric.
fn is_name(name: &str, colons: bool) -> bool {
    let letter = |b: u8| b.is_ascii_alphabetic() || b == b'_' || (colons && b == b':');
    let mut bytes = name.bytes();
    bytes.next().is_some_and(letter) && bytes.all(|b| letter(b) || b.is_ascii_digit())
}

/// The name and the labels of a line `NAME{LABELS} VALUE # {LABELS} VALUE TIME`, if it is one of this
/// family. The labels, the part from `#` on and the time may be missing.
fn series<'a>(line: &'a str, family: &FamilyText<'_>) -> Option<&'a str> {
    let after = line.strip_prefix(family.name)?;
    let (ending, _) = after.split_at(after.find(['{', ' '])?);
    if !family.endings.contains(&ending) {
        return None;
    }
    let mut rest = &after[ending.len()..];
    if let Some(inside) = rest.strip_prefix('{') {
        rest = after_labels(inside)?;
    }
    let series = &line[..line.len() - rest.len()];
    let (value, exemplar) = match rest.split_once(" # {") {
        Some((value, exemplar)) => (value, after_labels(exemplar)?),
        None => (rest, ""),
    };
    (numbers(value)? == 1 && numbers(exemplar)? <= 2).then_some(series)
}

/// How many numbers follow, each after a space.
fn numbers(text: &str) -> Option<usize> {
    let mut words = text.split(' ');
    if !words.next()?.is_empty() {
        return None;
    }
    words.try_fold(0, |count, word| word.parse::<f64>().ok().map(|_| count + 1))
}

/// What follows on labels and their closing brace. No name of a label is there twice.
fn after_labels(mut rest: &str) -> Option<&str> {
    if let Some(after) = rest.strip_prefix('}') {
        return Some(after);
    }
    let mut names = BTreeSet::new();
    loop {
        let (name, value) = rest.split_once("=\"")?;
        if !is_name(name, false) || !names.insert(name) {
            return None;
        }
        rest = after_value(value)?;
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => return rest.strip_prefix('}'),
        }
    }
}

/// What follows on the value of a label and its closing quote.
fn after_value(text: &str) -> Option<&str> {
    let mut letters = text.char_indices();
    loop {
        match letters.next()? {
            (place, '"') => return Some(&text[place + 1..]),
            (_, '\\') => {
                letters.next().filter(|(_, letter)| ['\\', '"', 'n'].contains(letter))?;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FamilyText;

    /// The name of a family and its first flaw.
    fn read(text: &str) -> Result<(&str, Option<&str>), &str> {
        FamilyText::read(text).map(|family| (family.name, family.flaw()))
    }

    #[test]
    fn v86_the_text_of_a_family_is_read_as_a_collector_reads_it() {
        for good in [
            "# HELP a A.\n# TYPE a counter\na_total 1\n",
            "# HELP a \n# TYPE a gauge\n",
            "# HELP a A.\n# TYPE a gauge\na{x=\"1\"} NaN\na{x=\"2\"} -1.5e-3\na{x=\"3\"} inf\n",
            "# HELP a A.\n# TYPE a gauge\na{} 1\n",
            "# HELP a A.\n# TYPE a unknown\na{x=\"}\\\"\\\\\\n,{ # {\",y=\"\"} 1\n",
            "# HELP a A.\n# TYPE a info\na_info{x=\"1\"} 1\n",
            "# HELP a A.\n# TYPE a histogram\na_sum 1.0\na_count 1\na_bucket{le=\"+Inf\"} 1 # {t=\"9\"} 1.0 2.5\n",
        ] {
            assert_eq!(read(good), Ok(("a", None)), "{good}");
        }
        let unit =
            "# HELP a_seconds A.\n# TYPE a_seconds gauge\n# UNIT a_seconds seconds\na_seconds 1\n";
        assert_eq!(read(unit), Ok(("a_seconds", None)));
        for (wrong, line) in [
            ("# HELP a A.\n# TYPE a counter\na 1\n", "a 1"),
            ("# HELP a A.\n# TYPE a gauge\na_total 1\n", "a_total 1"),
            ("# HELP a A.\n# TYPE a gauge\nab 1\n", "ab 1"),
            ("# HELP a A.\n# TYPE a gauge\na\n", "a"),
            ("# HELP a A.\n# TYPE a gauge\na one\n", "a one"),
            ("# HELP a A.\n# TYPE a gauge\na 1 2\n", "a 1 2"),
            ("# HELP a A.\n# TYPE a gauge\n\na 1\n", ""),
            ("# HELP a A.\n# TYPE a gauge\na{x=\"1\",} 1\n", "a{x=\"1\",} 1"),
            ("# HELP a A.\n# TYPE a gauge\na{x-y=\"1\"} 1\n", "a{x-y=\"1\"} 1"),
            ("# HELP a A.\n# TYPE a gauge\na{x=\"1\",x=\"2\"} 1\n", "a{x=\"1\",x=\"2\"} 1"),
            ("# HELP a A.\n# TYPE a gauge\na{x=\"\\t\"} 1\n", "a{x=\"\\t\"} 1"),
            ("# HELP a A.\n# TYPE a gauge\na{x=\"1\n", "a{x=\"1"),
            ("# HELP a A.\n# TYPE a gauge\na{x=\"1\"} 1\na{x=\"1\"} 2\n", "a{x=\"1\"} 2"),
            ("# HELP a A.\n# TYPE a gauge\n# UNIT a seconds\n", "# UNIT a seconds"),
            ("# HELP a A.\n# TYPE a gauge\n# EOF\n", "# EOF"),
        ] {
            assert_eq!(read(wrong), Ok(("a", Some(line))), "{wrong}");
        }
        for (no_head, line) in [
            ("# HELP a two\nlines.\n# TYPE a gauge\na 1\n", "lines."),
            ("# HELP b A.\n# TYPE a gauge\n", "# HELP b A."),
            ("# HELP a A.\n# TYPE a summary\n", "# HELP a A."),
            ("# HELP a A.\n", ""),
        ] {
            assert_eq!(read(no_head), Err(line), "{no_head}");
        }
        let named = |name: &str| {
            let text = format!("# HELP {name} A.\n# TYPE {name} gauge\n");
            FamilyText::read(&text).is_ok_and(|family| family.has_a_name())
        };
        assert!(named("shop:orders_2") && named("_a"));
        assert!(!named("2a") && !named("a-b") && !named("a b") && !named(""));
    }
}
