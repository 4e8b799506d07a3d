//! What reading allocates at most, seen from the system: the greatest memory that the process ever had. One test, since
//! all tests of a process share it.
#![cfg(target_os = "linux")]

use krarup_wire::codec::TermCodec;
use krarup_wire::etf::Decoder;
use krarup_wire::frame::{FrameFormat, FrameLimits, Frames};
use krarup_wire::{DistributionFlags, etf::Term};
use std::collections::HashMap;

/// The greatest memory so far, in bytes.
fn greatest() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

/// How much the greatest memory grows while this runs.
fn growth(run: impl FnOnce()) -> usize {
    let before = greatest();
    run();
    greatest() - before
}

const MIB: usize = 1 << 20;

#[test]
fn zterm5_what_is_read_allocates_in_proportion_to_what_came() {
    // Inputs of a few bytes that announce gigabytes: by every tag, typed and not, and in frames.
    let lies = growth(|| {
        for tag in 0..=255_u8 {
            for length in [[255; 4], [63, 255, 255, 255], [0, 255, 255, 255]] {
                let bytes = [&[tag][..], &length, &[1; 1000]].concat();
                let _ = Decoder::new(&bytes).last_term();
                let codec = TermCodec::DEFAULT;
                let _ = codec.read::<Vec<u64>>(Decoder::new(&bytes));
                let _ = codec.read::<HashMap<String, u64>>(Decoder::new(&bytes));
                let _ = codec.read::<String>(Decoder::new(&bytes));
                let _ = codec.read::<Term>(Decoder::new(&bytes));
                let mut frames =
                    Frames::new(FrameFormat::of(DistributionFlags::OFFERED), FrameLimits::DEFAULT);
                let _ = frames.read(&bytes);
                let _ = frames.read(&[&[0, 0, 3, 232, 131][..], &bytes].concat());
            }
        }
    });
    assert!(lies < 8 * MIB, "{lies}");

    // The terms that need most for their bytes: a byte each.
    let bytes = [&[108, 0, 16, 0, 0][..], &vec![106; MIB + 1]].concat();
    let many = growth(|| drop(Decoder::new(&bytes).last_term().unwrap()));
    assert!(many < 104 * MIB, "{many}");

    // A sixteenth of the list is announced again in each element.
    let mut bytes = Vec::new();
    while bytes.len() < MIB {
        bytes.extend([108, 0, 0, 255, 255]);
        bytes.extend([106; 20]);
    }
    let announced = growth(|| assert!(Decoder::new(&bytes).last_term().is_err()));
    assert!(announced < 104 * MIB, "{announced}");

    // What is large as bytes is not larger as a term.
    let binary = Term::binary(vec![7; 16 * MIB]).encode().unwrap();
    let large = growth(|| drop(Term::decode(&binary).unwrap()));
    assert!(large < 2 * 17 * MIB, "{large}");
}
