//! Errors of a cluster.

use crate::rights::node_pattern::NodePatternError;
use krarup_gen::{CallError, InvalidNodeName, NameError};
use krarup_wire::epmd::EpmdError;
use krarup_wire::etf::ExternalPid;
use krarup_wire::frame::FrameError;
use krarup_wire::handshake::{CookieError, HandshakeError};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the process of a cluster cannot start (rules Zid9, Zhs8, Zsec1, Zsec2).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The name of the node is not `alive@host`.
    #[error(transparent)]
    Name(#[from] InvalidNodeName),
    /// The node has a cluster already.
    #[error("the node has a cluster already")]
    SecondCluster,
    /// It would listen on an address that others can reach, without encryption. See
    /// [`Cluster::allow_clear_text`](crate::Cluster::allow_clear_text), and `Cluster::tls` with
    /// the feature `tls`.
    #[error(
        "{address} can be reached from outside, and messages would cross in clear text: use `tls`, or permit it with `allow_clear_text`"
    )]
    ClearText {
        /// The address.
        address: SocketAddr,
    },
    /// It has a simulated network, and its node is not one of a simulation.
    #[error("a simulated network is for the nodes of a simulation")]
    NotSimulated,
    /// Another node of this name is on the simulated network.
    #[error("another node has the name {name:?} on the simulated network")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The tick time is zero.
    #[error("a tick time of zero would end every connection")]
    TickTime,
    /// The limits of the queue to a peer are impossible.
    #[error(transparent)]
    QueueLimits(#[from] QueueLimitsError),
    /// A text is no pattern of names of nodes.
    #[error(transparent)]
    NodePattern(#[from] NodePatternError),
    /// A node could announce no member of a group.
    #[error("a limit of 0 members would refuse every member of a group")]
    MemberLimit,
    /// A peer has an address with port 0, to which nothing can connect.
    #[error("the address {address} of the peer {node} has port 0, to which nothing can connect")]
    PeerPort {
        /// The name of the peer.
        node: String,
        /// The address.
        address: SocketAddr,
    },
    /// A name of a process to be exported is not valid.
    #[error(transparent)]
    ExportName(#[from] NameError),
    /// A name is exported twice.
    #[error("the name {name:?} is exported twice")]
    ExportedTwice {
        /// The name.
        name: String,
    },
    /// A function or a factory cannot be served by its name.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// It cannot listen.
    #[error("the cluster cannot listen: {0}")]
    Listen(CallError),
    /// The port mapper cannot be reached, or does not register the node.
    #[error(transparent)]
    Epmd(#[from] RegistrationError),
}

/// Why limits of the queue to a peer are impossible (rule Zmsg13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueLimitsError {
    /// The soft limit is zero.
    #[error("a soft limit of 0 bytes would refuse messages while nothing waits")]
    Soft,
    /// The hard limit is not greater than the soft one.
    #[error(
        "a hard limit of {hard} bytes is not greater than the soft one, {soft} bytes: connections would be ended, and no message refused"
    )]
    Hard {
        /// The soft limit in bytes.
        soft: usize,
        /// The hard limit in bytes.
        hard: usize,
    },
}

/// Why the port mapper, epmd, has not answered as wanted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// It cannot be reached.
    #[error("epmd at {address} cannot be reached: {source}")]
    Unreachable {
        /// Its address.
        address: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// It refuses, or its answer is wrong.
    #[error(transparent)]
    Answer(#[from] EpmdError),
    /// It knows no node of this name.
    #[error("epmd at {address} knows no node {name:?}")]
    Unknown {
        /// Its address.
        address: String,
        /// The name, without the host.
        name: String,
    },
}

/// Why an operation of a cluster failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The cluster does not run: it has ended, or never started.
    #[error("the cluster does not run")]
    NotRunning,
    /// The name of a process is not valid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The name of a node is not valid.
    #[error(transparent)]
    Node(#[from] InvalidNodeName),
    /// The name is that of this node.
    #[error("{0} is this node")]
    ThisNode(String),
    /// The name is exported with messages of another type. See
    /// [`ClusterCalls::unexport`](crate::ClusterCalls::unexport).
    #[error(
        "{name:?} is exported with messages of type {exported}, not {wanted}: unexport it first"
    )]
    ExportedAs {
        /// The name.
        name: String,
        /// The type of the messages with which it is exported; that of
        /// [`Served`](crate::Served), if a function answers its calls.
        exported: &'static str,
        /// The type with which it should have been exported.
        wanted: &'static str,
    },
    /// The value cannot be written as a term, or a term cannot be read as one.
    #[error("{0}")]
    Term(String),
    /// The cluster carries no groups in this scope. See [`Cluster::groups`](crate::Cluster::groups).
    #[error("the cluster carries no groups in the scope {0:?}")]
    NoScope(String),
}

/// Why a name of a module or a function is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name {name:?}.. has {characters} characters, and an atom has at most 255")]
pub struct FunctionNameError {
    /// The begin of the name.
    pub name: String,
    /// Its length.
    pub characters: usize,
}

/// Why a function or a factory cannot be served (rules Zcall7, Zcall9).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The cluster does not run.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The name of the module or of the function is not valid.
    #[error(transparent)]
    Name(#[from] FunctionNameError),
    /// The name of the module or of the function is empty.
    #[error("{module:?}:{function:?}/{arity} cannot be served: a name is empty")]
    Empty {
        /// The module.
        module: String,
        /// The function.
        function: String,
        /// The number of arguments.
        arity: u8,
    },
    /// Another one has this name and this number of arguments. See
    /// [`ClusterCalls::unserve`](crate::ClusterCalls::unserve).
    #[error("{module}:{function}/{arity} is served already")]
    Taken {
        /// The module.
        module: String,
        /// The function.
        function: String,
        /// The number of arguments.
        arity: u8,
    },
    /// A factory would stand for a function of OTP that calls served functions.
    #[error("{module}:{function}/{arity} calls served functions, and cannot be a factory")]
    Reserved {
        /// The module.
        module: String,
        /// The function.
        function: String,
        /// The number of arguments.
        arity: u8,
    },
}

/// Why a cookie cannot be read from a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CookieFileError {
    /// The environment has no home directory, or no such variable.
    #[error("the environment variable {0} is not set")]
    NoVariable(String),
    /// The file cannot be read.
    #[error("the cookie file {path} cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Others can read the file.
    #[error("the cookie file {path} can be read by others")]
    Readable {
        /// The file.
        path: PathBuf,
    },
    /// The text is not a cookie.
    #[error(transparent)]
    Cookie(#[from] CookieError),
}

/// Why a connection to a peer was closed by this side.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The handshake failed.
    #[error("handshake: {0}")]
    Handshake(#[from] HandshakeError),
    /// The handshake took too long (rule Zhs7).
    #[error("the handshake took too long")]
    HandshakeTimeout,
    /// The peer has closed the connection that was dialled before its handshake was over.
    #[error("the peer closed during the handshake, as it does if the cookies differ")]
    ClosedInHandshake,
    /// The handshake of TLS failed: a certificate was refused, or the bytes are not TLS (rule
    /// Zhs11).
    #[error("TLS: {0}")]
    Tls(String),
    /// The certificate of the peer is not for the name that it has, or says it has (rule Zsec10).
    #[error("the certificate of {node} is for: {certified}")]
    NotCertified {
        /// The node.
        node: String,
        /// The names in the certificate.
        certified: String,
    },
    /// The peer has sent bytes that are not a frame (rule Zmsg9).
    #[error("frame: {0}")]
    Frame(#[from] FrameError),
    /// The peer was silent (rule Zlive1).
    #[error("the peer was silent for the tick time")]
    TickTimeout,
    /// The peer has sent a signal in the name of a process of another node (rule Zsec5).
    #[error("the peer has sent a signal of {pid:?}, which is not one of its processes")]
    WrongSender {
        /// The process.
        pid: ExternalPid,
    },
    /// The peer holds too many links or monitors (rule Zlink10).
    #[error("the peer has too many links or monitors")]
    Overload,
    /// Too many nodes are known, and none of them can be forgotten (rules Zid3, Zid4).
    #[error("too many nodes are known here")]
    TooManyNodes,
    /// This node has closed it.
    #[error("closed by this node: {0}")]
    Closed(&'static str),
}
