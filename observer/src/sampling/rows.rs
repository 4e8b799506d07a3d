//! The rows of a picture, in pages.
//!
//! ```text
//!   pages:  [row 1 .. row 256]  [row 257 .. row 512]  ...  [the rest]
//! ```
//!
//! A picture of a million processes has hundreds of megabytes. In one piece it would be grown by
//! moving it, and freed, in a single turn of the sampler, for tens of milliseconds (rule V63). Every
//! page but the last is full, so a row is found by its place as in a slice.

use crate::sampling::row::Row;
use std::ops::Index;

/// The rows of a page: fewer than 128 KiB, so that an allocator does not map each page anew.
const PAGE: usize = 256;

/// Rows by ascending number of the process.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pages: Vec<Vec<Row>>,
    len: usize,
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a row whose number is greater than those of the rows that are there.
    pub(crate) fn push(&mut self, row: Row) {
        if self.len.is_multiple_of(PAGE) {
            self.pages.push(Vec::with_capacity(PAGE));
        }
        if let Some(page) = self.pages.last_mut() {
            page.push(row);
            self.len += 1;
        }
    }

    /// Removes the last rows, at most a page of them; `None` if there are none.
    pub(crate) fn pop_page(&mut self) -> Option<Vec<Row>> {
        let page = self.pages.pop()?;
        self.len -= page.len();
        Some(page)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Row> + Clone {
        self.pages.iter().flatten()
    }

    /// The place of the process with this number.
    pub(crate) fn place(&self, id: u64) -> Option<usize> {
        let after =
            self.pages.partition_point(|page| page.first().is_some_and(|row| row.id() <= id));
        let page = after.checked_sub(1)?;
        let place = self.pages[page].binary_search_by_key(&id, Row::id).ok()?;
        Some(page * PAGE + place)
    }
}

impl Index<usize> for Rows {
    type Output = Row;

    fn index(&self, place: usize) -> &Row {
        &self.pages[place / PAGE][place % PAGE]
    }
}
