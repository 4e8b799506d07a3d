//! The options of a spawn request.

use krarup_wire::etf::Term;

/// What is asked for beside the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestedBonds {
    pub(crate) link: bool,
    pub(crate) monitor: bool,
}

impl RequestedBonds {
    /// Reads the options of a request; `None` if they are none of `spawn_opt`. Options that are
    /// about OTP's memory and schedulers mean nothing here, and are ignored.
    pub(crate) fn read(options: &Term) -> Option<Self> {
        let Term::List(options) = options else { return None };
        let mut read = RequestedBonds::default();
        for option in options {
            let name = match option {
                Term::Atom(name) => name,
                Term::Tuple(parts) => match &parts[..] {
                    [Term::Atom(name), _] => name,
                    _ => return None,
                },
                _ => return None,
            };
            match (name.as_str(), option) {
                ("link", _) => read.link = true,
                ("monitor", _) => read.monitor = true,
                (
                    "priority" | "fullsweep_after" | "min_heap_size" | "min_bin_vheap_size"
                    | "max_heap_size" | "message_queue_data" | "async_dist" | "scheduler" | "reply"
                    | "reply_tag",
                    Term::Tuple(_),
                ) => {}
                _ => return None,
            }
        }
        Some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zcall9_options_of_spawn_opt_are_read_and_others_refused() {
        let pair = |name| Term::tuple([Term::atom(name), Term::Int(1)]);
        let read = |options: &[Term]| RequestedBonds::read(&Term::list(options.to_vec()));
        let (link, monitor) = (Term::atom("link"), Term::atom("monitor"));
        let asked = |link, monitor| Some(RequestedBonds { link, monitor });
        assert_eq!(read(&[]), asked(false, false));
        assert_eq!(read(std::slice::from_ref(&link)), asked(true, false));
        assert_eq!(read(&[pair("monitor"), pair("priority")]), asked(false, true));
        assert_eq!(read(&[link.clone(), monitor, pair("max_heap_size")]), asked(true, true));
        for odd in [Term::atom("priority"), Term::atom("other"), pair("other"), Term::Int(1)] {
            assert_eq!(read(&[odd, link.clone()]), None);
        }
        assert_eq!(RequestedBonds::read(&link), None);
        let improper = Term::list_with_tail([link], Term::Int(1));
        assert_eq!(RequestedBonds::read(&improper), None);
    }
}
