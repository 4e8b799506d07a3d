//! A line asks for a value, which a store has that all connections share.

use super::{WORKERS, tell, with_tokio};
use crate::failure::PeerFailure;
use krarup::io::{Acceptor, AcceptorAddress, AcceptorRequest, Channel, Lines, Protocol};
use krarup::{Actor, Address, Context, Node, Reason, Reply, Result};
use std::collections::HashMap;
use std::convert::Infallible;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};

const LONGEST: usize = 1024;
const KEYS: u32 = 1000;
/// As many requests as connections can wait at the store.
const WAITING: usize = 10_000;

fn values() -> HashMap<String, String> {
    (0..KEYS).map(|n| (format!("key{n}"), format!("{n:016}"))).collect()
}

fn shown(value: Option<String>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("value {value}"))
}

struct Get(String, Reply<Option<String>>);

struct Store(HashMap<String, String>);

impl Actor for Store {
    type Message = Get;

    async fn handle_message(&mut self, _: &mut Context<Get>, Get(key, reply): Get) -> Result {
        reply.send(self.0.get(&key).cloned());
        Ok(())
    }
}

struct LineSession {
    store: Address<Get>,
}

impl Protocol for LineSession {
    type Message = Infallible;
    type Codec = Lines;

    fn codec(&self) -> Lines {
        Lines::new(LONGEST)
    }

    async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
        let key = line.strip_prefix("get ").unwrap_or_default().to_owned();
        let value = self.store.call(|reply| Get(key, reply)).await?;
        Ok(channel.send_or_wait(&shown(value)).await?)
    }
}

pub(super) fn krarup() -> Result<(), PeerFailure> {
    let node = Node::builder("line@localhost").workers(WORKERS).start().map_err(Reason::from)?;
    let store = node.spawn(|| Store(values())).mailbox(WAITING).wait().map_err(Reason::from)?;
    let session = move || LineSession { store: store.clone() };
    let server: AcceptorAddress<LineSession> = node
        .spawn(|| Acceptor::new(([127, 0, 0, 1], 0).into(), session).limit(10_000))
        .wait()
        .map_err(Reason::from)?;
    tell(server.call(AcceptorRequest::Address).wait().map_err(Reason::from)?)
}

type TokioGet = (String, oneshot::Sender<Option<String>>);

pub(super) fn tokio() -> Result<(), PeerFailure> {
    with_tokio(async |listener| {
        let (store, mut requests) = mpsc::channel::<TokioGet>(WAITING);
        tokio::spawn(async move {
            let values = values();
            while let Some((key, reply)) = requests.recv().await {
                let _ = reply.send(values.get(&key).cloned());
            }
        });
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let store = store.clone();
            tokio::spawn(async move {
                let (read, mut write) = stream.into_split();
                let mut lines = BufReader::with_capacity(LONGEST, read).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let key = line.strip_prefix("get ").unwrap_or_default().to_owned();
                    let (reply, value) = oneshot::channel();
                    let asked = store.send((key, reply)).await;
                    let Ok(value) = value.await else { return };
                    let answer = shown(value) + "\n";
                    if asked.is_err() || write.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    })
}
