//! The incoming atom cache of a connection: 8 segments of 256 places, which headers of
//! frames set and refer to.

use super::error::FrameError;
use crate::etf::{Atom, Atoms};
use crate::reader::Reader;

const SEGMENTS: usize = 8;
const PLACES: usize = 256;

/// The peer's cache. A segment allocates 6 KiB when it is first used.
#[derive(Debug, Default)]
pub(super) struct AtomCache {
    segments: [Vec<Option<Atom>>; SEGMENTS],
}

impl AtomCache {
    /// Reads the list of atoms in a header, after their count: half a byte of flags for
    /// each atom and another half for all, then the places, with the texts of new atoms.
    /// The terms of the frame refer to these atoms by their position in the list.
    pub(super) fn read(
        &mut self,
        reader: &mut Reader<'_>,
        count: u8,
        atoms: &mut Atoms,
    ) -> Result<Vec<Atom>, FrameError> {
        const NEW: u8 = 8;
        const SEGMENT: u8 = 7;
        const LONG_ATOMS: u8 = 1;
        if count == 0 {
            return Ok(Vec::new());
        }
        let flags = reader.take(usize::from(count) / 2 + 1)?;
        // The low half of a byte comes first.
        let half =
            |at: u8| flags.get(usize::from(at / 2)).map_or(0, |byte| byte >> (at % 2 * 4) & 15);
        let long = half(count) & LONG_ATOMS != 0;
        let mut listed = Vec::with_capacity(count.into());
        for flags in (0..count).map(half) {
            let segment = flags & SEGMENT;
            let place = reader.u8()?;
            let entry = self.entry(segment, place);
            if flags & NEW != 0 {
                let length = if long { reader.u16()? } else { reader.u8()?.into() };
                let text = reader.take(length.into())?;
                let text = str::from_utf8(text).map_err(|_| FrameError::Utf8)?;
                *entry = Some(atoms.atom(text)?);
            }
            listed.push(entry.clone().ok_or(FrameError::NeverSet { segment, place })?);
        }
        Ok(listed)
    }

    fn entry(&mut self, segment: u8, place: u8) -> &mut Option<Atom> {
        let segment = &mut self.segments[usize::from(segment) % SEGMENTS];
        if segment.is_empty() {
            segment.resize(PLACES, None);
        }
        &mut segment[usize::from(place)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zmsg7_all_8_segments_of_256_places_are_told_apart() {
        let (mut cache, mut atoms) = (AtomCache::default(), Atoms::default());
        let text = |segment: u8, place: u8| format!("{segment}_{place}");
        for segment in 0..8 {
            for place in 0..=255 {
                let name = text(segment, place);
                let length = u8::try_from(name.len()).unwrap();
                let bytes = [&[8 | segment, place, length], name.as_bytes()].concat();
                let listed = cache.read(&mut Reader::new(&bytes), 1, &mut atoms).unwrap();
                assert_eq!(listed[0], name.as_str());
            }
        }
        for segment in 0..8 {
            for place in 0..=255 {
                let listed =
                    cache.read(&mut Reader::new(&[segment, place]), 1, &mut atoms).unwrap();
                assert_eq!(listed[0], text(segment, place).as_str());
            }
        }
    }

    #[test]
    fn zmsg7_a_place_never_set_or_a_list_cut_short_is_an_error() {
        let (mut cache, mut atoms) = (AtomCache::default(), Atoms::default());
        let mut read = |bytes: &[u8], count| cache.read(&mut Reader::new(bytes), count, &mut atoms);
        assert_eq!(read(&[3, 9], 1), Err(FrameError::NeverSet { segment: 3, place: 9 }));
        // Two new atoms. Their lengths have two bytes, because bit 0 of half-byte 2 is set.
        let bytes = [0x98, 1, 5, 0, 1, b'a', 6, 0, 2, b'b', b'c'];
        assert_eq!(read(&bytes, 2), Ok(vec![Atom::fixed("a"), Atom::fixed("bc")]));
        for end in 0..bytes.len() {
            assert!(matches!(read(&bytes[..end], 2), Err(FrameError::Short(_))), "cut at {end}");
        }
        assert_eq!(read(&[8, 5, 1, 0xff], 1), Err(FrameError::Utf8));
    }
}
