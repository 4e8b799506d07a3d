//! Random choices that depend on a seed alone.

/// A random number generator: `SplitMix64`.
pub(crate) struct Chance(u64);

impl Chance {
    /// Creates the choices of one input.
    pub(crate) fn new(seed: u64, input: u64) -> Self {
        let mut chance = Chance(seed);
        Chance(chance.next() ^ input.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    /// A number below the limit, or 0 if that is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).unwrap();
        usize::try_from(self.next() % limit).unwrap()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    pub(crate) fn word(&mut self) -> u32 {
        u32::try_from(self.edge() & 0xffff_ffff).unwrap()
    }

    /// A number of which edges are likely: powers of two, and their neighbours.
    pub(crate) fn edge(&mut self) -> u64 {
        match self.below(4) {
            0 => self.next(),
            1 => self.next() % 300,
            _ => (1_u64 << self.below(64)).wrapping_add(self.next() % 3).wrapping_sub(1),
        }
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn choose<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }

    pub(crate) fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.byte()).collect()
    }
}
