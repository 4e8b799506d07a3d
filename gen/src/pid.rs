//! The identity of a process.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// The identity of a process: copyable, untyped, 16 bytes, never reused within the life of a
/// node (rule N1).
///
/// It prints as in Erlang, `<0.N.0>` for a process of this node and `<node.ID.SERIAL>` for one
/// of another, whose number is `SERIAL` · 2^32 + `ID`, and parses back from that text.
///
/// A pid also carries the *creation* of its node, a number drawn when the node started. It is
/// neither printed nor compared. By the creation the node detects a pid of another node in the
/// same operating system process and treats it as unknown. A parsed pid has creation 0, which
/// means "of this node".
#[derive(Clone, Copy)]
pub struct Pid {
    id: u64,
    node: u32,
    creation: u32,
}

impl Pid {
    /// Creates the pid with number `id` of the local node with the given `creation`.
    #[must_use]
    pub const fn local(id: u64, creation: u32) -> Self {
        Pid { id, node: 0, creation }
    }

    /// Creates the pid with number `id` on the node with the number `node` of the cluster of
    /// the local node with the given `creation`. `node` is not 0.
    #[must_use]
    pub const fn remote(id: u64, node: u32, creation: u32) -> Self {
        Pid { id, node, creation }
    }

    /// Returns the number `N` in `<0.N.0>`. Number 0 is the node itself, which is the sender of
    /// messages from outside any process.
    #[must_use]
    pub const fn id(self) -> u64 {
        self.id
    }

    /// Returns the node number: 0 for the local node.
    #[must_use]
    pub const fn node(self) -> u32 {
        self.node
    }

    /// Returns the creation of the node; 0 if unknown (a parsed pid).
    #[must_use]
    pub const fn creation(self) -> u32 {
        self.creation
    }

    /// Returns whether both are the same process. Two equal pids are not the same if they are
    /// known to be of different nodes in one operating system process.
    #[must_use]
    pub const fn is_same_process(self, other: Pid) -> bool {
        self.id == other.id
            && self.node == other.node
            && (self.creation == other.creation || self.creation == 0 || other.creation == 0)
    }

    /// Returns whether this is the node itself (`<0.0.0>`), not a process.
    #[must_use]
    pub const fn is_node(self) -> bool {
        self.id == 0
    }
}

/// The low half of a number.
const LOW: u64 = 0xffff_ffff;

impl PartialEq for Pid {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.node == other.node
    }
}

impl Eq for Pid {}

impl Hash for Pid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
        self.node.hash(state);
    }
}

impl Ord for Pid {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.node, self.id).cmp(&(other.node, other.id))
    }
}

impl PartialOrd for Pid {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.node == 0 {
            return write!(f, "<0.{}.0>", self.id);
        }
        write!(f, "<{}.{}.{}>", self.node, self.id & LOW, self.id >> 32)
    }
}

impl fmt::Debug for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error of a text that is not a pid such as `<0.17.0>`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a pid: {text:?} (expected a form like <0.17.0>)")]
pub struct ParsePidError {
    text: String,
}

impl FromStr for Pid {
    type Err = ParsePidError;

    fn from_str(text: &str) -> Result<Self, ParsePidError> {
        let parts = || {
            let inner = text.strip_prefix('<')?.strip_suffix('>')?;
            let mut numbers = inner.split('.');
            let node = number(numbers.next()?)?;
            let id = number(numbers.next()?)?;
            let serial = number(numbers.next()?)?;
            if numbers.next().is_some() {
                return None;
            }
            match node {
                0 => (serial == 0).then_some((node, id)),
                _ => (id <= LOW && serial <= LOW).then_some((node, serial << 32 | id)),
            }
        };
        let (node, id) = parts().ok_or_else(|| ParsePidError { text: text.to_owned() })?;
        let node = u32::try_from(node).map_err(|_| ParsePidError { text: text.to_owned() })?;
        Ok(Pid { id, node, creation: 0 })
    }
}

/// Parses decimal digits only. `u64::from_str` would also take `+1`, and a careless split the
/// empty text; neither is part of a printed pid.
fn number(text: &str) -> Option<u64> {
    let canonical = !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    canonical.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n1_a_pid_prints_and_parses_back() {
        let pid = Pid::local(17, 99);
        assert_eq!(pid.to_string(), "<0.17.0>");
        assert_eq!("<0.17.0>".parse(), Ok(pid));
        assert_eq!("<3.9.0>".parse::<Pid>().unwrap().to_string(), "<3.9.0>");
    }

    #[test]
    fn n1_a_text_that_no_pid_prints_does_not_parse() {
        for text in [
            "",
            "<>",
            "<0.1>",
            "<0.1.1>",
            "<0.1.2>",
            "<0.1.0.0>",
            "<0.+1.0>",
            "<0.01.0>",
            "0.1.0",
            "<0.99999999999999999999.0>",
            "<4294967296.1.0>",
        ] {
            let error = text.parse::<Pid>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }

    #[test]
    fn zid3_a_remote_pid_prints_its_serial_and_parses_back() {
        let pid = Pid::remote(7 << 32 | 9, 3, 99);
        assert_eq!(pid.to_string(), "<3.9.7>");
        assert_eq!("<3.9.7>".parse(), Ok(pid));
        assert!("<3.4294967296.0>".parse::<Pid>().is_err());
        assert!("<3.0.4294967296>".parse::<Pid>().is_err());
    }

    #[test]
    fn a_pid_is_sixteen_bytes() {
        assert_eq!(size_of::<Pid>(), 16);
    }

    #[test]
    fn n1_pids_compare_by_node_and_number_and_differ_by_creation() {
        let far: Pid = "<3.17.0>".parse().unwrap();
        let (ours, stranger, parsed) = (Pid::local(17, 1), Pid::local(17, 2), Pid::local(17, 0));
        assert_eq!((ours, ours), (stranger, parsed));
        assert_ne!(ours, far);
        assert_eq!((far.node(), far.id(), far.creation()), (3, 17, 0));
        assert!(ours.is_same_process(parsed) && parsed.is_same_process(ours));
        assert!(!ours.is_same_process(stranger) && !stranger.is_same_process(ours));
        assert!(!ours.is_same_process(far) && !ours.is_same_process(Pid::local(18, 1)));
        // Pids are ordered by node first. Equal pids are one element of a set.
        let mut pids = [far, Pid::local(18, 1), ours, Pid::local(2, 1)];
        pids.sort_unstable();
        assert_eq!(pids, [Pid::local(2, 1), ours, Pid::local(18, 1), far]);
        let set: std::collections::HashSet<_> = [ours, stranger, parsed, far].into();
        assert_eq!(set.len(), 2);
        assert!(Pid::local(0, 1).is_node() && !ours.is_node());
        assert_eq!(format!("{far:?}"), "<3.17.0>");
    }
}
