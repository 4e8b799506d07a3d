//! Every byte comes back.

use super::{WORKERS, tell, with_tokio};
use crate::failure::PeerFailure;
use krarup::io::bytes::Bytes;
use krarup::io::{Acceptor, AcceptorAddress, AcceptorRequest, Channel, Protocol, Raw};
use krarup::{Node, Reason, Result};
use std::convert::Infallible;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

struct Echo;

impl Protocol for Echo {
    type Message = Infallible;
    type Codec = Raw;

    fn codec(&self) -> Raw {
        Raw
    }

    async fn received(&mut self, channel: &mut Channel<Self>, bytes: Bytes) -> Result {
        Ok(channel.send_or_wait(&bytes).await?)
    }
}

pub(super) fn krarup() -> Result<(), PeerFailure> {
    let node = Node::builder("echo@localhost").workers(WORKERS).start().map_err(Reason::from)?;
    let server: AcceptorAddress<Echo> = node
        .spawn(|| Acceptor::new(([127, 0, 0, 1], 0).into(), || Echo).limit(10_000))
        .wait()
        .map_err(Reason::from)?;
    tell(server.call(AcceptorRequest::Address).wait().map_err(Reason::from)?)
}

pub(super) fn tokio() -> Result<(), PeerFailure> {
    with_tokio(async |listener| {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let mut bytes = vec![0; 8 * 1024];
                while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                    if stream.write_all(&bytes[..count]).await.is_err() {
                        return;
                    }
                }
            });
        }
    })
}
