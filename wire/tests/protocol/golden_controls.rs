//! Tests with recorded control messages: what OTP writes is read to the message that the recording
//! names, and written back byte for byte.

use crate::support::hex;
use krarup_wire::frame::{FrameFormat, FrameLimits, FrameRead, Frames, OutgoingMessage};
use krarup_wire::{ControlMessage, DistributionFlags};

const RECORDED: &str = include_str!("../golden/controls.txt");

/// Returns what was done, with the flags and the frame that it made the node write.
fn recorded() -> Vec<(DistributionFlags, &'static str, Vec<u8>)> {
    let (mut flags, mut what, mut all) = (DistributionFlags::default(), "", Vec::new());
    for line in RECORDED.lines() {
        if let Some(bits) = line.strip_prefix("# flags ") {
            flags = DistributionFlags::from_bits(u64::from_str_radix(bits, 16).unwrap());
        } else if let Some(comment) = line.strip_prefix("# ") {
            what = comment;
        } else {
            all.push((flags, what, hex(&line[2..])));
        }
    }
    all
}

/// Returns the number and the arity of the control message in a frame.
fn number_and_arity(format: FrameFormat, frame: &[u8]) -> (u8, u8) {
    let tuple = &frame[if format.has_headers() { 3 } else { 2 }..];
    assert_eq!((tuple[0], tuple[2]), (104, 97));
    (tuple[3], tuple[1])
}

#[test]
fn zlink11_recorded_control_messages_are_read_and_written_back_byte_for_byte() {
    let mut numbers = Vec::new();
    for (flags, what, frame) in recorded() {
        let format = FrameFormat::of(flags);
        let (number, _) = number_and_arity(format, &frame);
        numbers.push(number);
        let length = u32::try_from(frame.len()).unwrap().to_be_bytes();
        let bytes = [&length[..], &frame].concat();
        let mut frames = Frames::new(format, FrameLimits::DEFAULT);
        let FrameRead::Message { used, message } = frames.read(&bytes).unwrap() else {
            panic!("{what}")
        };
        assert_eq!(used, bytes.len());
        let payload = message.payload.as_ref().map(|payload| payload.decoder().last_term());
        assert!(!matches!(payload, Some(Err(_))), "{what}: {payload:?}");
        assert_eq!(payload.is_some(), message.control.has_payload());
        let mut term = Vec::new();
        if let Some(payload) = payload {
            payload.unwrap().write(&mut term).unwrap();
        }
        let mut written = Vec::new();
        OutgoingMessage::new(format, &message.control, term, 1).unwrap().write_frame(&mut written);
        // A trace token is skipped, and so is the cookie of a message without a sender.
        match number {
            12 | 16 | 18 | 23 | 25 | 27 | 30 | 32 | 34 => assert!(written.len() < bytes.len()),
            _ => assert_eq!(written, bytes, "{what}"),
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    let all =
        [1, 2, 3, 6, 7, 8, 12, 16, 19, 20, 21, 22, 23, 24, 26, 28, 29, 30, 31, 33, 34, 35, 36];
    assert_eq!(numbers, all);
}

#[test]
fn zlink11_what_a_process_of_otp_does_is_the_message_of_that_name() {
    use ControlMessage as Control;
    for (flags, what, frame) in recorded() {
        let format = FrameFormat::of(flags);
        let length = u32::try_from(frame.len()).unwrap().to_be_bytes();
        let bytes = [&length[..], &frame].concat();
        let mut frames = Frames::new(format, FrameLimits::DEFAULT);
        let FrameRead::Message { message, .. } = frames.read(&bytes).unwrap() else { panic!() };
        let is = match what {
            "send to a pid" => {
                matches!(message.control, Control::Send { .. } | Control::SendSender { .. })
            }
            "send to a name" => matches!(message.control, Control::RegSend { .. }),
            "send to an alias" => matches!(message.control, Control::AliasSend { .. }),
            "link" => matches!(message.control, Control::Link { .. }),
            "unlink" => matches!(message.control, Control::UnlinkId { .. }),
            "monitor" | "monitor of a name" => matches!(message.control, Control::Monitor { .. }),
            "exit" => {
                matches!(message.control, Control::Exit2 { .. } | Control::PayloadExit2 { .. })
            }
            "group leader" => matches!(message.control, Control::GroupLeader { .. }),
            "spawn request" => matches!(message.control, Control::SpawnRequest { arity: 2, .. }),
            "demonitor" => {
                matches!(message.control, Control::Monitor { .. } | Control::Demonitor { .. })
            }
            "an unlink of ours" => {
                matches!(message.control, Control::UnlinkIdAck { id, .. } if id.get() == 9)
            }
            _ => true,
        };
        assert!(is, "{what}: {:?}", message.control);
    }
}
