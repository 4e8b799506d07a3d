//! What users of the cache call.

use crate::application::ELEMENTS;
use crate::element::{ElementRequest, NewElement};
use crate::store::{Keys, STORE};
use krarup::NamedAddress;
use krarup::prelude::*;
use krarup::supervisor::SupervisorCommand;
use std::convert::Infallible;
use std::time::Duration;

/// The lease of a key that is inserted without one.
pub(crate) const LEASE: Duration = Duration::from_secs(24 * 60 * 60);

/// The cache, for a process or any other code. It stays right when parts of the cache are restarted.
#[derive(Clone)]
pub(crate) struct Cache {
    store: NamedAddress<Reply<Keys>>,
    elements: NamedAddress<Infallible, SupervisorCommand<NewElement>>,
}

impl Cache {
    /// The cache of a node.
    pub(crate) fn of(node: &Node) -> Result<Self> {
        Ok(Cache { store: node.named_address(STORE)?, elements: node.named_address(ELEMENTS)? })
    }

    /// The cache of the node of a process.
    pub(crate) fn near<M: Send + 'static, C: Send + 'static>(ctx: &Context<M, C>) -> Result<Self> {
        Ok(Cache { store: ctx.named_address(STORE)?, elements: ctx.named_address(ELEMENTS)? })
    }

    /// Gives a key a value. A key that has one keeps its lease.
    pub(crate) async fn insert(&self, key: &str, value: &str, lease: Duration) -> Result {
        loop {
            let replace = |reply| ElementRequest::Replace(value.to_owned(), reply);
            if self.ask(key, replace).await?.is_some() {
                return Ok(());
            }
            let new = NewElement { key: key.to_owned(), value: value.to_owned(), lease };
            let elements = self.elements.lookup_or_wait().await?;
            // `None`: another process has been faster.
            if elements.start_child(new).await?.is_some() {
                return Ok(());
            }
        }
    }

    /// Returns the value of a key, if it has one.
    pub(crate) async fn lookup(&self, key: &str) -> Result<Option<String>> {
        self.ask(key, ElementRequest::Fetch).await
    }

    /// Takes the value of a key away, if it has one.
    pub(crate) async fn delete(&self, key: &str) -> Result {
        self.ask(key, ElementRequest::Delete).await?;
        Ok(())
    }

    /// Returns the element of a key.
    pub(crate) async fn element(&self, key: &str) -> Result<Option<Address<ElementRequest>>> {
        let keys = self.store.call(|reply| reply).await?;
        Ok(keys.get(&key.to_owned()))
    }

    /// Asks the element of a key; `None` if there is none, or it ends before it answers.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        key: &str,
        request: impl FnOnce(Reply<T>) -> ElementRequest + Send,
    ) -> Result<Option<T>> {
        let Some(element) = self.element(key).await? else { return Ok(None) };
        match element.call(request).await {
            Ok(answer) => Ok(Some(answer)),
            Err(
                CallError::NoProcess { .. }
                | CallError::NotBegun { .. }
                | CallError::Terminated { .. },
            ) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
