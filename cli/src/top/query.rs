//! Which processes a view asks for: the column they are sorted by, the filter, the page.

use crate::target::encoded;

/// The most bytes of a filter, as the route has it.
const FILTER: usize = 64;

/// A column that processes can be sorted by: a place in [`SORTS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SortColumn(usize);

/// How a column is chosen and named.
#[derive(Debug)]
pub(crate) struct Sort {
    /// The key that chooses it.
    pub(crate) key: char,
    /// Its name in the API.
    pub(crate) name: &'static str,
    /// Its name on the screen.
    pub(crate) title: &'static str,
    /// Small values first.
    ascends: bool,
}

const fn sort(key: char, name: &'static str, title: &'static str, ascends: bool) -> Sort {
    Sort { key, name, title, ascends }
}

/// The columns, the default first.
pub(crate) const SORTS: [Sort; 10] = [
    sort('c', "cpu", "CPU", false),
    sort('m', "main", "mailbox", false),
    sort('g', "growth", "growth", false),
    sort('h', "handled_rate", "handled", false),
    sort('w', "head_wait_ms", "waits", false),
    sort('t', "running_ms", "time", false),
    sort('n', "name", "name", true),
    sort('b', "behavior", "behaviour", true),
    sort('s', "state", "state", true),
    sort('p', "id", "pid", true),
];

impl SortColumn {
    /// The column of this name in the API.
    pub(crate) fn find(name: &str) -> Option<Self> {
        SORTS.iter().position(|sort| sort.name == name).map(SortColumn)
    }

    /// The column that a key chooses.
    pub(crate) fn of_key(key: char) -> Option<Self> {
        SORTS.iter().position(|sort| sort.key == key).map(SortColumn)
    }

    pub(crate) fn name(self) -> &'static str {
        SORTS[self.0].name
    }

    pub(crate) fn title(self) -> &'static str {
        SORTS[self.0].title
    }
}

/// A page of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopQuery {
    pub(crate) sort: SortColumn,
    /// Against the order that the column has by itself.
    pub(crate) reversed: bool,
    pub(crate) filter: String,
    pub(crate) offset: u64,
    pub(crate) limit: u64,
}

impl TopQuery {
    pub(crate) fn new(sort: SortColumn, limit: u64) -> Self {
        TopQuery { sort, reversed: false, filter: String::new(), offset: 0, limit }
    }

    pub(crate) fn ascends(&self) -> bool {
        SORTS[self.sort.0].ascends != self.reversed
    }

    /// Adds to the filter, if there is room.
    pub(crate) fn type_filter(&mut self, letter: char) {
        if self.filter.len() + letter.len_utf8() <= FILTER {
            self.filter.push(letter);
            self.offset = 0;
        }
    }

    /// The parameters of the route.
    pub(crate) fn parameters(&self) -> String {
        let order = if self.ascends() { "asc" } else { "desc" };
        let mut text = format!(
            "limit={}&offset={}&sort={}&order={order}",
            self.limit,
            self.offset,
            self.sort.name()
        );
        if !self.filter.is_empty() {
            text.push_str("&q=");
            text.push_str(&encoded(&self.filter));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v81_a_query_is_the_parameters_of_its_route() {
        let mut query = TopQuery::new(SortColumn::of_key('n').unwrap(), 12);
        assert_eq!(query.parameters(), "limit=12&offset=0&sort=name&order=asc");
        query.reversed = true;
        query.offset = 24;
        for letter in "a&ü %".chars() {
            query.type_filter(letter);
        }
        assert_eq!(query.parameters(), "limit=12&offset=0&sort=name&order=desc&q=a%26%C3%BC%20%25");
        for _ in 0..100 {
            query.type_filter('ü');
        }
        assert_eq!(query.filter.len(), FILTER);
        let keys: std::collections::BTreeSet<char> = SORTS.iter().map(|sort| sort.key).collect();
        assert_eq!(keys.len(), SORTS.len());
        assert!(!keys.contains(&'q') && !keys.contains(&'r'));
    }
}
