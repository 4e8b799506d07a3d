//! Several discoveries, asked in their order.

use super::Discovery;
use super::error::DiscoveryError;
use krarup_gen::NodeName;
use std::net::SocketAddr;
use std::sync::Arc;

/// The discoveries of a cluster.
#[derive(Clone, Default)]
pub(crate) struct Discoveries(Vec<Arc<dyn Discovery>>);

impl Discoveries {
    pub(crate) fn add(&mut self, discovery: impl Discovery) {
        self.0.push(Arc::new(discovery));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn all(&self) -> &[Arc<dyn Discovery>] {
        &self.0
    }

    /// Returns the first answer with an address; without one, the error of the last that failed.
    pub(crate) fn find(&self, node: &NodeName) -> Result<Vec<SocketAddr>, DiscoveryError> {
        let mut failed = None;
        for discovery in &self.0 {
            match discovery.find(node) {
                Ok(found) if found.is_empty() => {}
                Ok(found) => return Ok(found),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(|| DiscoveryError::Unknown { node: node.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers always the same.
    struct Always(Result<u16, &'static str>);

    impl Discovery for Always {
        fn find(&self, _: &NodeName) -> Result<Vec<SocketAddr>, DiscoveryError> {
            match self.0 {
                Ok(0) => Ok(Vec::new()),
                Ok(port) => Ok(vec![([127, 0, 0, 1], port).into()]),
                Err(why) => Err(DiscoveryError::other(why)),
            }
        }
    }

    #[test]
    fn zhs9_the_first_answer_with_an_address_is_taken_and_else_the_last_error() {
        let node = NodeName::new("b@h").unwrap();
        let find = |answers: &[Result<u16, &'static str>]| {
            let mut all = Discoveries::default();
            assert!(all.is_empty());
            for answer in answers {
                all.add(Always(*answer));
            }
            let found = all.find(&node);
            found.map(|found| found[0].port()).map_err(|error| error.to_string())
        };
        assert_eq!(find(&[Ok(0), Err("down"), Ok(7), Ok(8)]), Ok(7));
        assert_eq!(find(&[Err("one"), Err("two"), Ok(0)]), Err("two".to_owned()));
        for none in [&[][..], &[Ok(0)]] {
            assert_eq!(find(none), Err("no discovery knows the node b@h".to_owned()));
        }
    }
}
