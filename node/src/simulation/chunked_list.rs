//! A list that keeps the order of its items when any of them is taken out.
//!
//! ```text
//!   chunks   [a b c]  [d e]  [f g h i]        place 4 is e: the lengths of the chunks are added up
//! ```
//!
//! A simulation takes the item that its seed chooses from the midst of thousands. In one array each take would
//! move half of the others, so n processes that are ready at once would cost n². Here a take moves the items
//! of one chunk, and reads the lengths of the chunks before it.

/// The most items in one chunk.
const MOST: usize = 512;

/// The items, in chunks of at most [`MOST`]. No chunk is empty, and two neighbours hold more than half as
/// many together, so there are few.
pub(crate) struct ChunkedList<T> {
    chunks: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for ChunkedList<T> {
    fn default() -> Self {
        ChunkedList { chunks: Vec::new(), len: 0 }
    }
}

impl<T> ChunkedList<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The items in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        let (chunk, within) = self.locate(place)?;
        self.chunks[chunk].get(within)
    }

    /// Adds an item, last.
    pub(crate) fn push(&mut self, item: T) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < MOST => last.push(item),
            _ => self.chunks.push(vec![item]),
        }
        self.len += 1;
    }

    /// Adds an item before the one at this place.
    pub(crate) fn insert(&mut self, place: usize, item: T) {
        let Some((chunk, within)) = self.locate(place) else { return self.push(item) };
        self.chunks[chunk].insert(within, item);
        self.len += 1;
        if self.chunks[chunk].len() > MOST {
            let second_half = self.chunks[chunk].split_off(MOST / 2);
            self.chunks.insert(chunk + 1, second_half);
        }
    }

    /// Takes out the item at this place.
    pub(crate) fn remove(&mut self, place: usize) -> Option<T> {
        let (chunk, within) = self.locate(place)?;
        let item = self.chunks[chunk].remove(within);
        self.len -= 1;
        if self.chunks[chunk].is_empty() {
            self.chunks.remove(chunk);
        }
        self.join(chunk);
        self.join(chunk.saturating_sub(1));
        Some(item)
    }

    /// Takes out the items for which `is_wanted` returns true, in their order.
    pub(crate) fn take_if(&mut self, mut is_wanted: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        for item in std::mem::take(self).chunks.into_iter().flatten() {
            if is_wanted(&item) { taken.push(item) } else { self.push(item) }
        }
        taken
    }

    /// The place of the first item for which `is_before` returns false, in a list in which those for
    /// which it returns true come first.
    pub(crate) fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let whole = self.chunks.partition_point(|chunk| chunk.last().is_some_and(&is_before));
        let before = self.chunks[..whole].iter().map(Vec::len).sum::<usize>();
        before + self.chunks.get(whole).map_or(0, |chunk| chunk.partition_point(is_before))
    }

    /// The chunk of this place, and the place within it.
    fn locate(&self, place: usize) -> Option<(usize, usize)> {
        let mut within = place;
        for (number, chunk) in self.chunks.iter().enumerate() {
            if within < chunk.len() {
                return Some((number, within));
            }
            within -= chunk.len();
        }
        None
    }

    /// Joins this chunk and the next one, if they are small.
    fn join(&mut self, chunk: usize) {
        if let Some([first, second]) = self.chunks.get_mut(chunk..chunk + 2)
            && first.len() + second.len() <= MOST / 2
        {
            first.append(second);
            self.chunks.remove(chunk + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// No item is in a large chunk, and none behind many small ones: so each take is cheap.
    fn check_chunks<T>(list: &ChunkedList<T>) {
        let lengths: Vec<usize> = list.chunks.iter().map(Vec::len).collect();
        assert!(lengths.iter().all(|length| (1..=MOST).contains(length)), "{lengths:?}");
        assert!(lengths.windows(2).all(|pair| pair[0] + pair[1] > MOST / 2), "{lengths:?}");
        assert_eq!(lengths.iter().sum::<usize>(), list.len());
    }

    proptest! {
        #[test]
        fn t3_a_list_in_chunks_is_like_an_array_and_no_take_moves_many(
            first in 0_usize..2_000,
            ops in prop::collection::vec((0_u8..10, any::<prop::sample::Index>()), 1..1_500),
        ) {
            let (mut list, mut array) = (ChunkedList::default(), Vec::new());
            for item in 0..first {
                list.push(item);
                array.push(item);
            }
            for (number, (op, place)) in ops.into_iter().enumerate() {
                let item = first + number;
                match op {
                    0 => {
                        list.push(item);
                        array.push(item);
                    }
                    1..=3 => {
                        let place = place.index(array.len() + 1);
                        list.insert(place, item);
                        array.insert(place, item);
                    }
                    _ if array.is_empty() => assert_eq!(list.remove(0), None),
                    _ => {
                        let place = place.index(array.len());
                        prop_assert_eq!(list.get(place), array.get(place));
                        prop_assert_eq!(list.remove(place), Some(array.remove(place)));
                    }
                }
                prop_assert_eq!(list.len(), array.len());
                check_chunks(&list);
            }
            prop_assert!(list.iter().eq(&array));
            let even: Vec<usize> = array.extract_if(.., |item| *item % 2 == 0).collect();
            prop_assert_eq!(list.take_if(|item| item % 2 == 0), even);
            prop_assert!(list.iter().eq(&array));
            check_chunks(&list);
        }
    }

    #[test]
    fn t3_the_place_of_an_item_is_found_in_a_sorted_list() {
        let mut list = ChunkedList::default();
        (0..3_000).for_each(|item| list.push(2 * item));
        for place in [0, 1, MOST - 1, MOST, 2_999] {
            assert_eq!(list.partition_point(|item| *item < 2 * place), place);
            assert_eq!(list.partition_point(|item| *item <= 2 * place), place + 1);
        }
        assert_eq!(ChunkedList::<u8>::default().partition_point(|_| true), 0);
    }

    #[test]
    fn t3_a_list_that_grew_in_its_midst_has_no_large_chunk() {
        let mut list = ChunkedList::default();
        for item in 0..10_000 {
            list.insert(list.len() / 2, item);
            check_chunks(&list);
        }
        while list.remove(list.len() / 3).is_some() {
            check_chunks(&list);
        }
    }
}
