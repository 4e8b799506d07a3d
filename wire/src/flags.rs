//! The capabilities of a node: the flags of the handshake.
//!
//! Each side sends its flags. A connection has the flags that both sent. If a mandatory
//! flag is missing, there is no connection.

use std::fmt;
use std::ops::{BitAnd, BitOr};

/// A set of flags, as OTP numbers them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct DistributionFlags(u64);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bits:expr;)*) => {
        impl DistributionFlags {
            $($(#[$doc])* pub const $name: DistributionFlags = DistributionFlags($bits);)*

            /// All flags that have a name here, without the mandatory sets.
            const NAMED: &'static [(DistributionFlags, &'static str)] = &[$((DistributionFlags::$name, stringify!($name)),)*];
        }
    };
}

flags! {
    /// The node is published. A Krarup node is never published (rule Zglobal1).
    PUBLISHED = 1;
    /// The old atom cache, without headers.
    ATOM_CACHE = 1 << 1;
    /// References have several words.
    EXTENDED_REFERENCES = 1 << 2;
    /// Monitors of processes.
    DIST_MONITOR = 1 << 3;
    /// Funs in the old encoding.
    FUN_TAGS = 1 << 4;
    /// Monitors of names.
    DIST_MONITOR_NAME = 1 << 5;
    /// The old atom cache, for hidden nodes.
    HIDDEN_ATOM_CACHE = 1 << 6;
    /// Funs in the new encoding.
    NEW_FUN_TAGS = 1 << 7;
    /// Pids and ports have more bits.
    EXTENDED_PIDS_PORTS = 1 << 8;
    /// `fun module:function/arity`.
    EXPORT_PTR_TAG = 1 << 9;
    /// Bit strings.
    BIT_BINARIES = 1 << 10;
    /// Floats of 8 bytes.
    NEW_FLOATS = 1 << 11;
    /// I/O servers produce Unicode.
    UNICODE_IO = 1 << 12;
    /// Frames have a header with an atom cache.
    DIST_HDR_ATOM_CACHE = 1 << 13;
    /// Atoms with a length of one byte.
    SMALL_ATOM_TAGS = 1 << 14;
    /// Atoms in UTF-8.
    UTF8_ATOMS = 1 << 16;
    /// Maps.
    MAP_TAG = 1 << 17;
    /// Creations have 32 bits.
    BIG_CREATION = 1 << 18;
    /// A message to a pid contains its sender.
    SEND_SENDER = 1 << 19;
    /// Labels of sequential trace tokens are terms.
    BIG_SEQTRACE_LABELS = 1 << 20;
    /// Exit reasons are payloads, not part of the control message.
    EXIT_PAYLOAD = 1 << 22;
    /// Messages may be sent in fragments.
    FRAGMENTS = 1 << 23;
    /// The handshake of version 6.
    HANDSHAKE_23 = 1 << 24;
    /// Unlinks have numbers and are acknowledged.
    UNLINK_ID = 1 << 25;
    /// Represents the mandatory flags of OTP 25.
    MANDATORY_25_DIGEST = 1 << 26;
    /// Processes can be spawned remotely.
    SPAWN = 1 << 32;
    /// The node requests a name. Such a peer is refused.
    NAME_ME = 1 << 33;
    /// Pids and ports of 64 bits, references of five words.
    V4_NC = 1 << 34;
    /// Messages to aliases, in OTP 24 to 29.
    ALIAS = 1 << 35;
    /// Messages with flags of their own, since OTP 28.
    ALTACT_SIG = 1 << 37;
    /// Native records, since OTP 29.
    NATIVE_RECORDS = 1 << 38;
}

impl DistributionFlags {
    /// The mandatory flags of OTP 26 and later.
    pub const MANDATORY: DistributionFlags = DistributionFlags(0x4_0307_0f94);

    /// The mandatory flags of OTP 25, which [`DistributionFlags::MANDATORY_25_DIGEST`]
    /// represents.
    const MANDATORY_25: DistributionFlags = DistributionFlags(0x107_0f94);

    /// The flags that a Krarup node offers.
    pub const OFFERED: DistributionFlags = DistributionFlags(
        Self::MANDATORY.0
            | Self::DIST_MONITOR.0
            | Self::DIST_MONITOR_NAME.0
            | Self::UNICODE_IO.0
            | Self::DIST_HDR_ATOM_CACHE.0
            | Self::SMALL_ATOM_TAGS.0
            | Self::SEND_SENDER.0
            | Self::BIG_SEQTRACE_LABELS.0
            | Self::EXIT_PAYLOAD.0
            | Self::FRAGMENTS.0
            | Self::MANDATORY_25_DIGEST.0
            | Self::SPAWN.0
            | Self::ALIAS.0
            | Self::ALTACT_SIG.0,
    );

    /// Creates a set of flags from these bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        DistributionFlags(bits)
    }

    /// Returns the bits of the flags.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether this set contains all of `others`.
    #[must_use]
    pub const fn contains(self, others: DistributionFlags) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns this set without `others`.
    #[must_use]
    pub const fn without(self, others: DistributionFlags) -> Self {
        DistributionFlags(self.0 & !others.0)
    }

    /// Returns this set, extended by the flags that [`DistributionFlags::MANDATORY_25_DIGEST`]
    /// represents if it is in the set. Received flags must be interpreted this way.
    #[must_use]
    pub const fn expanded(self) -> Self {
        if self.contains(Self::MANDATORY_25_DIGEST) {
            DistributionFlags(self.0 | Self::MANDATORY_25.0)
        } else {
            self
        }
    }

    /// Returns the flags of a connection: those in both this set and the peer's.
    ///
    /// # Errors
    /// [`MissingFlags`] if one of the two lacks a mandatory flag.
    pub fn negotiate(self, theirs: DistributionFlags) -> Result<DistributionFlags, MissingFlags> {
        let both = self.expanded() & theirs.expanded();
        if both.contains(Self::MANDATORY) {
            Ok(both)
        } else {
            Err(MissingFlags { missing: Self::MANDATORY.without(both) })
        }
    }
}

impl BitAnd for DistributionFlags {
    type Output = DistributionFlags;

    fn bitand(self, other: DistributionFlags) -> DistributionFlags {
        DistributionFlags(self.0 & other.0)
    }
}

impl BitOr for DistributionFlags {
    type Output = DistributionFlags;

    fn bitor(self, other: DistributionFlags) -> DistributionFlags {
        DistributionFlags(self.0 | other.0)
    }
}

/// Writes the names of the flags, and the bits that have no name here.
impl fmt::Display for DistributionFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = *self;
        let mut between = "";
        for (flag, name) in Self::NAMED.iter().filter(|(flag, _)| self.contains(*flag)) {
            write!(f, "{between}{name}")?;
            between = " ";
            rest = rest.without(*flag);
        }
        if rest.0 != 0 || self.0 == 0 {
            write!(f, "{between}{:#x}", rest.0)?;
        }
        Ok(())
    }
}

impl fmt::Debug for DistributionFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One of the two nodes lacks mandatory flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("mandatory flags are missing: {missing}")]
pub struct MissingFlags {
    /// The missing flags.
    pub missing: DistributionFlags,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zhs1_the_flags_of_otp_and_c_nodes_are_accepted() {
        for bits in [0xd_07df_7fbc, 0x6d_07df_7fbc, 0x4_0707_4f9c, 0xd_07df_7fbd] {
            let both =
                DistributionFlags::OFFERED.negotiate(DistributionFlags::from_bits(bits)).unwrap();
            assert!(both.contains(DistributionFlags::MANDATORY));
            assert!(
                !both.contains(DistributionFlags::PUBLISHED)
                    && !both.contains(DistributionFlags::NATIVE_RECORDS)
            );
        }
        let c_node = DistributionFlags::OFFERED
            .negotiate(DistributionFlags::from_bits(0x4_0707_4f9c))
            .unwrap();
        for optional in [
            DistributionFlags::FRAGMENTS,
            DistributionFlags::DIST_HDR_ATOM_CACHE,
            DistributionFlags::EXIT_PAYLOAD,
            DistributionFlags::ALIAS,
        ] {
            assert!(!c_node.contains(optional));
        }
    }

    #[test]
    fn zhs3_each_missing_mandatory_flag_is_named() {
        for (flag, name) in DistributionFlags::NAMED
            .iter()
            .filter(|(flag, _)| DistributionFlags::MANDATORY.contains(*flag))
        {
            let without = DistributionFlags::MANDATORY.without(*flag);
            let error = DistributionFlags::OFFERED.negotiate(without).unwrap_err();
            assert_eq!(error.missing, *flag);
            assert!(error.to_string().ends_with(name), "{error}");
        }
    }

    #[test]
    fn the_digest_of_25_stands_for_its_set() {
        let digest = DistributionFlags::MANDATORY_25_DIGEST
            | DistributionFlags::UNLINK_ID
            | DistributionFlags::V4_NC;
        assert!(DistributionFlags::OFFERED.negotiate(digest).is_ok());
        assert!(
            DistributionFlags::OFFERED.negotiate(DistributionFlags::MANDATORY_25_DIGEST).is_err()
        );
    }

    #[test]
    fn unsupported_flags_are_not_offered() {
        let never = [
            DistributionFlags::PUBLISHED,
            DistributionFlags::ATOM_CACHE,
            DistributionFlags::HIDDEN_ATOM_CACHE,
            DistributionFlags::NAME_ME,
        ];
        assert!(never.iter().all(|flag| !DistributionFlags::OFFERED.contains(*flag)));
        assert!(!DistributionFlags::OFFERED.contains(DistributionFlags::NATIVE_RECORDS));
        assert_eq!(DistributionFlags::from_bits(1 << 60).to_string(), "0x1000000000000000");
    }
}
