//! The form of a connection's frames, which depends on the negotiated flags.

use crate::flags::DistributionFlags;

/// The form of the frames of a connection.
///
/// | negotiated | contents of a frame |
/// |---|---|
/// | neither | length, 112, 131, control, and 131, payload if there is one |
/// | FRAGMENTS | length, 131, 68, 0, control, payload; large messages in fragments |
/// | DIST_HDR_ATOM_CACHE | the same with a list of cached atoms; with FRAGMENTS large messages in fragments |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameFormat {
    cache: bool,
    fragments: bool,
}

impl FrameFormat {
    /// Returns the form for a connection with these flags.
    #[must_use]
    pub fn of(negotiated: DistributionFlags) -> Self {
        FrameFormat {
            cache: negotiated.contains(DistributionFlags::DIST_HDR_ATOM_CACHE),
            fragments: negotiated.contains(DistributionFlags::FRAGMENTS),
        }
    }

    /// Whether frames have a header. Frames without one are "passed through".
    #[must_use]
    pub fn has_headers(self) -> bool {
        self.cache || self.fragments
    }

    /// Whether headers may list atoms.
    #[must_use]
    pub fn has_cache(self) -> bool {
        self.cache
    }

    /// Whether messages may come in fragments.
    #[must_use]
    pub fn has_fragments(self) -> bool {
        self.fragments
    }
}

/// The first byte of a frame without a header.
pub(super) const PASS_THROUGH: u8 = 112;
/// The second byte of a frame that holds a whole message.
pub(super) const WHOLE: u8 = 68;
/// The second byte of a frame that holds the first fragment of a message.
pub(super) const FIRST_FRAGMENT: u8 = 69;
/// The second byte of a frame that holds a further fragment.
pub(super) const FURTHER_FRAGMENT: u8 = 70;
