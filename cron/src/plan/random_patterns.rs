//! Random patterns in zones, for tests of the plan and of the process.

use chrono_tz::Tz;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const ZONES: [Tz; 6] = [
    Tz::UTC,
    chrono_tz::Europe::Berlin,
    chrono_tz::America::New_York,
    chrono_tz::Australia::Lord_Howe,
    chrono_tz::Asia::Kathmandu,
    chrono_tz::America::Sao_Paulo,
];

/// As many patterns and zones as asked for, the same each time.
pub(crate) fn random_patterns(count: usize) -> Vec<(String, Tz)> {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut one = || (pattern(&mut random), ZONES[random.random_range(0..ZONES.len())]);
    (0..count).map(|_| one()).collect()
}

/// A pattern that runs once an hour at most, and often near the hours at which zones change.
fn pattern(random: &mut ChaCha8Rng) -> String {
    let minute = random.random_range(0..60);
    let hour = match random.random_range(0..6) {
        0 => "*".to_owned(),
        1 => format!("*/{}", random.random_range(2..13)),
        2 => format!("{}-{}", random.random_range(0..3), random.random_range(3..24)),
        _ => random.random_range(0..4).to_string(),
    };
    let (day, weekday) = match random.random_range(0..8) {
        0 => (random.random_range(1..32).to_string(), "*".to_owned()),
        1 => ("L".to_owned(), "*".to_owned()),
        2 => (format!("{}W", random.random_range(1..29)), "*".to_owned()),
        3 => ("*".to_owned(), format!("SUN#{}", random.random_range(1..5))),
        4 => ("*".to_owned(), "MON-FRI".to_owned()),
        _ => ("*".to_owned(), "*".to_owned()),
    };
    let month = match random.random_range(0..4) {
        0 => random.random_range(1..13).to_string(),
        1 => "MAR,APR,OCT,NOV".to_owned(),
        _ => "*".to_owned(),
    };
    format!("{minute} {hour} {day} {month} {weekday}")
}
