//! Which families of the program can be served: those that harm no other one.

use crate::metrics::family_text::FamilyText;
use crate::text::cut;
use std::collections::BTreeMap;

/// The beginnings of the names of the observer's own families.
const RESERVED: [&str; 2] = ["krarup_", "process_"];

/// Why a family of the program's own metrics cannot be served (rule V86).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricFlaw {
    /// Its name begins with `krarup_` or `process_`.
    #[error("names that begin with krarup_ and process_ are those of the observer")]
    Reserved,
    /// Its name, or the name of a series of it, is that of another family of the program, in the same
    /// registry or in another one. Two sub-registries with the same name and different labels are two
    /// families: use a `Family` with a label instead.
    #[error("the family {by:?} of the program has the name {name:?}")]
    NameTaken {
        /// The name.
        name: String,
        /// The family that has it.
        by: String,
    },
    /// Its name is none of a metric.
    #[error("a name has letters of ASCII, digits, _ and : alone, and begins with no digit")]
    Name,
    /// A line of its text is not `OpenMetrics`: a help text of two lines, the name of a label with
    /// another character than a letter, a digit and `_`, a label or a series that is there twice.
    #[error("the line {line:?} is not OpenMetrics")]
    Line {
        /// The line, cut at 4096 bytes.
        line: String,
    },
}

/// A family that is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlawedFamily {
    pub(crate) family: String,
    pub(crate) flaw: MetricFlaw,
}

/// Families of the program, and the names that they have taken.
#[derive(Debug, Default)]
pub(crate) struct ProgramFamilies {
    /// The text of those that can be served.
    pub(crate) text: String,
    pub(crate) flawed: Vec<FlawedFamily>,
    /// The names, each with its family.
    taken: BTreeMap<String, String>,
}

impl ProgramFamilies {
    /// Adds the families of a text, which has no end mark.
    pub(crate) fn add(&mut self, text: &str) {
        for family in families(text) {
            match self.take(family) {
                Ok(()) => self.text.push_str(family),
                Err(flawed) => self.flawed.push(flawed),
            }
        }
    }

    fn take(&mut self, text: &str) -> Result<(), FlawedFamily> {
        let read = FamilyText::read(text).map_err(|line| FlawedFamily {
            // What follows on `# HELP `, as far as it can be a name.
            family: text.split_ascii_whitespace().nth(2).unwrap_or_default().to_owned(),
            flaw: line_flaw(line),
        })?;
        let flawed = |flaw| FlawedFamily { family: read.name.to_owned(), flaw };
        if !read.has_a_name() {
            return Err(flawed(MetricFlaw::Name));
        }
        if RESERVED.iter().any(|reserved| read.name.starts_with(reserved)) {
            return Err(flawed(MetricFlaw::Reserved));
        }
        for name in read.names() {
            if let Some(by) = self.taken.get(&name) {
                return Err(flawed(MetricFlaw::NameTaken { name, by: by.clone() }));
            }
        }
        if let Some(line) = read.flaw() {
            return Err(flawed(line_flaw(line)));
        }
        self.taken.extend(read.names().map(|name| (name, read.name.to_owned())));
        Ok(())
    }
}

fn line_flaw(line: &str) -> MetricFlaw {
    MetricFlaw::Line { line: cut(line) }
}

/// The text without its last family, which may not be complete.
pub(crate) fn without_the_last(text: &str) -> &str {
    families(text).last().map_or("", |last| &text[..text.len() - last.len()])
}

/// The texts of the families. Each begins with a line `# HELP`.
fn families(text: &str) -> impl Iterator<Item = &str> {
    const BEGINNING: &str = "\n# HELP ";
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.find(BEGINNING).map_or(rest.len(), |place| place + 1);
        let (family, after) = rest.split_at(end);
        rest = after;
        (!family.is_empty()).then_some(family)
    })
}

#[cfg(test)]
mod tests {
    use super::{MetricFlaw, ProgramFamilies, without_the_last};

    fn gauge(name: &str) -> String {
        format!("# HELP {name} A.\n# TYPE {name} gauge\n{name} 1\n")
    }

    /// The flaw of the second family, after the first one.
    fn flaw(first: &str, second: &str) -> Option<(String, MetricFlaw)> {
        let mut families = ProgramFamilies::default();
        families.add(first);
        families.add(second);
        families.flawed.pop().map(|it| (it.family, it.flaw))
    }

    #[test]
    fn v86_names_that_collide_are_found_and_the_first_one_is_served() {
        let counter = "# HELP jobs Jobs.\n# TYPE jobs counter\njobs_total 1\n";
        let taken =
            |name: &str, by: &str| MetricFlaw::NameTaken { name: name.into(), by: by.into() };
        let found = |family: &str, flaw| Some((family.to_owned(), flaw));
        for name in ["krarup_orders", "process_orders"] {
            assert_eq!(flaw("", &gauge(name)), found(name, MetricFlaw::Reserved));
        }
        assert_eq!(flaw("", &gauge("krarup")), None);
        assert_eq!(flaw(counter, counter), found("jobs", taken("jobs", "jobs")));
        assert_eq!(
            flaw(counter, &gauge("jobs_total")),
            found("jobs_total", taken("jobs_total", "jobs"))
        );
        assert_eq!(
            flaw(&gauge("jobs_total"), counter),
            found("jobs", taken("jobs_total", "jobs_total"))
        );
        assert_eq!(flaw(counter, &gauge("jobs_count")), None);
        assert_eq!(flaw("", &gauge("a-b")), found("a-b", MetricFlaw::Name));
        let line = MetricFlaw::Line { line: "lines.".to_owned() };
        let two_lines = "# HELP a two\nlines.\n# TYPE a gauge\na 1\n";
        assert_eq!(flaw("", two_lines), found("a", line));
        let mut families = ProgramFamilies::default();
        families.add(&format!("{}{two_lines}{}", gauge("before"), gauge("after")));
        families.add(&gauge("before"));
        assert_eq!(families.text, gauge("before") + &gauge("after"));
        assert_eq!(families.flawed.len(), 2);
        // A family that is left out takes no name.
        let mut families = ProgramFamilies::default();
        families.add(two_lines);
        families.add(&gauge("a"));
        assert_eq!((families.text, families.flawed.len()), (gauge("a"), 1));
    }

    #[test]
    fn v86_the_family_that_a_failure_cut_is_left_out() {
        let (one, two) = (gauge("one"), gauge("two"));
        assert_eq!(without_the_last(&format!("{one}{two}")), one);
        assert_eq!(without_the_last(&format!("{one}# HELP two A.\n# TY")), one);
        assert_eq!(without_the_last(&one), "");
        assert_eq!(without_the_last(""), "");
    }
}
