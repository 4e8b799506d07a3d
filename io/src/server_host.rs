//! The server of a client: an address, or a host whose addresses the system's resolver knows.

use crate::error::ConnectError;
use crate::timer::MovingTimer;
use krarup_act::Context;
use krarup_gen::Reason;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Where a client's server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerHost {
    Address(SocketAddr),
    /// The name of a host, and a port.
    Named(String, u16),
}

impl ServerHost {
    /// Returns the addresses that are to be tried, in order. The `others` come last; they are tried alone if the
    /// resolver knows none.
    pub(crate) async fn addresses<M: Send + 'static>(
        self,
        others: Vec<SocketAddr>,
        ctx: &mut Context<M>,
        limit: Duration,
    ) -> Result<(SocketAddr, Vec<SocketAddr>), Reason> {
        let (name, port) = match self {
            ServerHost::Address(address) => return Ok((address, others)),
            ServerHost::Named(name, port) => (name, port),
        };
        match resolve(name, port, ctx, limit).await {
            Ok((first, mut found)) => {
                found.extend(others);
                Ok((first, found))
            }
            Err(reason) => match others.split_first() {
                Some((first, others)) => Ok((*first, others.to_vec())),
                None => Err(reason),
            },
        }
    }
}

/// Asks the system for the addresses of a name. Its resolver blocks, so it runs on a side thread, where it goes on if
/// the time is over.
async fn resolve<M: Send + 'static>(
    name: String,
    port: u16,
    ctx: &mut Context<M>,
    limit: Duration,
) -> Result<(SocketAddr, Vec<SocketAddr>), Reason> {
    let due = ctx.now() + limit;
    let host = name.clone();
    let asks = move || (name.as_str(), port).to_socket_addrs().map(Vec::from_iter);
    let mut resolves = pin!(ctx.block(asks));
    let mut timer = MovingTimer::default();
    let resolved: io::Result<Vec<_>> = poll_fn(|cx| {
        if let Poll::Ready(resolved) = resolves.as_mut().poll(cx) {
            return Poll::Ready(resolved);
        }
        let late = || ConnectError::Unanswered { host: host.clone(), limit };
        timer.poll(ctx, due, cx).map(|()| Err(late().into()))
    })
    .await?;
    let addresses = match resolved {
        Ok(addresses) => addresses,
        Err(source) => return Err(ConnectError::Unresolved { host, source }.into()),
    };
    let mut addresses = by_turns(addresses).into_iter();
    match addresses.next() {
        Some(first) => Ok((first, addresses.collect())),
        None => {
            let source = io::Error::new(ErrorKind::NotFound, "the name has no address");
            Err(ConnectError::Unresolved { host, source }.into())
        }
    }
}

/// Takes the two families by turns, beginning with that of the first address; within a family the order stays. So a family
/// that leads nowhere costs one attempt before the other is tried (RFC 8305, section 4).
fn by_turns(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let begins_with_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == begins_with_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut ordered = Vec::new();
    loop {
        let pair = [first.next(), second.next()];
        if pair == [None, None] {
            return ordered;
        }
        ordered.extend(pair.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of these addresses, each by its family and a number.
    fn order(addresses: &[(u8, u8)]) -> Vec<(u8, u8)> {
        let address = |&(family, number): &(u8, u8)| match family {
            4 => ([127, 0, 0, number], 7).into(),
            _ => ([0, 0, 0, 0, 0, 0, 0, u16::from(number)], 7).into(),
        };
        let number = |address: SocketAddr| match address {
            SocketAddr::V4(v4) => (4, v4.ip().octets()[3]),
            SocketAddr::V6(v6) => (6, v6.ip().octets()[15]),
        };
        by_turns(addresses.iter().map(address).collect()).into_iter().map(number).collect()
    }

    #[test]
    fn i1_the_families_of_addresses_take_turns_and_keep_their_order() {
        assert_eq!(order(&[]), []);
        assert_eq!(order(&[(4, 1)]), [(4, 1)]);
        assert_eq!(order(&[(6, 2), (6, 1), (4, 3)]), [(6, 2), (4, 3), (6, 1)]);
        assert_eq!(order(&[(4, 1), (4, 2), (4, 3)]), [(4, 1), (4, 2), (4, 3)]);
        let mixed = order(&[(4, 1), (4, 2), (6, 1), (6, 2), (6, 3), (6, 4)]);
        assert_eq!(mixed, [(4, 1), (6, 1), (4, 2), (6, 2), (6, 3), (6, 4)]);
    }
}
