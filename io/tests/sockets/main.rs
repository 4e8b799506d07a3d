//! Sockets: connections, acceptors, clients, datagrams, TLS.
//!
//! One program for all of it: a program for each file would be linked a dozen times.

#[cfg(feature = "tls")]
#[path = "../support/certificates.rs"]
mod certificates;
#[path = "../support/mod.rs"]
mod support;

mod clients;
mod closing;
mod early_ends;
mod endless;
mod floods;
mod limits;
mod pressure;
mod stopping;
mod suspended;
mod tcp;
mod times;
#[cfg(feature = "tls")]
mod tls;
mod udp;
