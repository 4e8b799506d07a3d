//! Test of the memory that decoding allocates, measured as the peak memory of the process.
//! It is the only test, because all tests of a process share that value.
#![cfg(target_os = "linux")]

use krarup_wire::codec::TermCodec;
use krarup_wire::etf::Decoder;
use krarup_wire::frame::{FrameFormat, FrameLimits, Frames};
use krarup_wire::{DistributionFlags, etf::Term};
use std::collections::HashMap;

/// Returns the peak memory so far, in bytes.
fn greatest() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

/// Returns by how much the peak memory grows while this runs.
fn growth(run: impl FnOnce()) -> usize {
    let before = greatest();
    run();
    greatest() - before
}

const MIB: usize = 1 << 20;

#[test]
fn zterm5_decoding_allocates_in_proportion_to_the_input() {
    // Inputs of a few bytes that announce gigabytes: for every tag, typed and untyped, and
    // in frames.
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

    // Messages in fragments whose control messages are large terms: they are kept as bytes.
    let open = growth(|| {
        let options = 256 << 10;
        let mut frames =
            Frames::new(FrameFormat::of(DistributionFlags::OFFERED), FrameLimits::DEFAULT);
        for sequence in 0..64_u64 {
            let mut frame = vec![131, 69];
            frame.extend([sequence, 2].map(u64::to_be_bytes).concat());
            frame.extend([0, 104, 6, 97, 29, 90, 0, 1, 119, 3, b'a', b'@', b'b', 0, 0, 0, 4]);
            frame.extend([0, 0, 0, 1]);
            for _ in 0..2 {
                frame.extend([88, 119, 3, b'a', b'@', b'b', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4]);
            }
            frame.extend([104, 3, 119, 1, b'm', 119, 1, b'f', 97, 0, 108]);
            frame.extend(u32::try_from(options).unwrap().to_be_bytes());
            frame.extend(vec![106; options + 1]);
            let length = u32::try_from(frame.len()).unwrap().to_be_bytes();
            let read = frames.read(&[&length[..], &frame].concat()).map(drop);
            assert_eq!(read, Ok(()));
        }
        assert_eq!(frames.under_way(), 64);
    });
    assert!(open < 64 * MIB, "{open}");

    // The terms that need most memory for their bytes: one byte each.
    let bytes = [&[108, 0, 16, 0, 0][..], &vec![106; MIB + 1]].concat();
    let many = growth(|| drop(Decoder::new(&bytes).last_term().unwrap()));
    assert!(many < 104 * MIB, "{many}");

    // Nested lists, each of which announces 65 535 elements: a sixteenth of the number of bytes.
    let mut bytes = Vec::new();
    while bytes.len() < MIB {
        bytes.extend([108, 0, 0, 255, 255]);
        bytes.extend([106; 20]);
    }
    let announced = growth(|| assert!(Decoder::new(&bytes).last_term().is_err()));
    assert!(announced < 104 * MIB, "{announced}");

    // Large bytes are not larger as a term.
    let binary = Term::binary(vec![7; 16 * MIB]).encode().unwrap();
    let large = growth(|| drop(Term::decode(&binary).unwrap()));
    assert!(large < 2 * 17 * MIB, "{large}");
}
