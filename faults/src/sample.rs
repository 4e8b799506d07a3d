//! A sample of the faults that is the same for the same seed.

use crate::list::PlantedFault;

/// Selects `count` faults, in order: those whose names, with the seed, have the lowest hashes.
pub(crate) fn draw(faults: Vec<PlantedFault>, count: usize, seed: &str) -> Vec<PlantedFault> {
    let mut ranks: Vec<u64> = faults.iter().map(|fault| rank(&fault.name, seed)).collect();
    ranks.sort_unstable();
    let Some(&last) = ranks.get(count.min(ranks.len()).wrapping_sub(1)) else { return Vec::new() };
    faults.into_iter().filter(|fault| rank(&fault.name, seed) <= last).collect()
}

/// FNV-1a, so that a seed selects the same faults with any compiler, and a final mix, because
/// names are similar.
fn rank(name: &str, seed: &str) -> u64 {
    let hash =
        seed.bytes().chain([0]).chain(name.bytes()).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3_u64)
        });
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::parse;

    fn faults(count: usize) -> Vec<PlantedFault> {
        let one = |n| format!("@ fault {n} | gen/src/a.rs | lib krarup-gen\n-a\n+b\n");
        let text = (0..count).map(one).collect::<Vec<_>>().concat();
        let mut faults = Vec::new();
        parse(&text, "a.txt", &mut faults).unwrap();
        faults
    }

    fn names(seed: &str) -> Vec<String> {
        draw(faults(100), 20, seed).into_iter().map(|fault| fault.name).collect()
    }

    #[test]
    fn the_same_seed_draws_the_same_and_another_seed_others() {
        assert_eq!(names("day 1").len(), 20);
        assert_eq!(names("day 1"), names("day 1"));
        assert_ne!(names("day 1"), names("day 2"));
    }

    #[test]
    fn a_sample_is_not_larger_than_the_list() {
        assert_eq!(draw(faults(3), 20, "day").len(), 3);
        assert_eq!(draw(faults(3), 0, "day").len(), 0);
    }
}
