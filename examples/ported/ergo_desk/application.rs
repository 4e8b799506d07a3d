//! The application and its tree.

use crate::board::{BOARD, Board};
use crate::front::{Connection, FRONT};
use crate::listener::{LISTENER, Listener};
use crate::makers::{MAKERS, makers};
use krarup::application::{Application, Mode};
use krarup::io::Acceptor;
use krarup::prelude::*;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The application, with this front.
pub(crate) fn desk(front: fn() -> ChildSpec) -> Application {
    Application::new("desk", move || tree(front)).mode(Mode::Transient)
}

fn tree(front: fn() -> ChildSpec) -> Supervisor {
    let transient = |child: ChildSpec| child.restart(RestartType::Transient);
    Supervisor::one_for_one()
        .intensity(5, Duration::from_secs(5))
        .child(transient(ChildSpec::worker(BOARD, Board::default).name(BOARD)))
        .child(transient(ChildSpec::worker(LISTENER, Listener::default).name(LISTENER)))
        .child(transient(ChildSpec::supervisor(MAKERS, makers).name(MAKERS)))
        .child(transient(front().name(FRONT)))
}

/// A front on a port that the system chooses.
pub(crate) fn tcp() -> ChildSpec {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    ChildSpec::supervisor(FRONT, move || Acceptor::new(address, Connection::default))
}
