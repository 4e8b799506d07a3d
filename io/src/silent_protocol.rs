//! A protocol of lines that does nothing with them, for unit tests.

use crate::codecs::lines::Lines;
use crate::protocol::{Channel, Protocol};
use krarup_gen::Result;
use std::convert::Infallible;

pub(crate) struct SilentProtocol;

impl Protocol for SilentProtocol {
    type Message = Infallible;
    type Codec = Lines;
    fn codec(&self) -> Lines {
        Lines::new(80)
    }
    async fn received(&mut self, _: &mut Channel<Self>, _: String) -> Result {
        Ok(())
    }
}
