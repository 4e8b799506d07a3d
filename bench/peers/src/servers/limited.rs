//! HTTP: a little work, behind a layer that lets 260 requests in and refuses more with 503. A pool of 4
//! workers, at each of which 64 wait, beside tower's own layers.

use super::{HTTP, node_on, runtime, with_axum};
use crate::failure::PeerFailure;
use axum::error_handling::HandleErrorLayer;
use axum::http::StatusCode;
use axum::routing::{MethodRouter, get};
use axum::{BoxError, Router};
use krarup::pool::Pool;
use krarup::{CallError, Reason, Result};
use krarup_axum::CallRejection;
use krarup_tower::{PoolLayer, PoolLayerError, RequestWorker};
use std::convert::Infallible;
use std::hint::black_box;
use tower::ServiceBuilder;

const AT_ONCE: usize = 4;
const WAITING: usize = 64;

/// Some microseconds of work: the FNV hash of four thousand bytes.
fn work() -> MethodRouter {
    get(async || {
        let bytes = black_box([b'x'; 4096]);
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        format!("{hash:016x}")
    })
}

pub(super) fn krarup() -> Result<(), PeerFailure> {
    let runtime = runtime()?;
    let node = node_on(&runtime, "limited@localhost")?;
    let pool = || Pool::new(AT_ONCE, || RequestWorker).mailbox(WAITING);
    let pool = node.spawn(pool).dispatcher(HTTP).wait().map_err(Reason::from)?;
    let rejection = async |error: PoolLayerError<Infallible>| -> CallRejection {
        CallError::from(error).into()
    };
    let limits = ServiceBuilder::new()
        .layer(HandleErrorLayer::new(rejection))
        .layer(PoolLayer::new(pool).shedding());
    with_axum(&runtime, Router::new().route("/limited", work().layer(limits)))
}

async fn overload(_: BoxError) -> StatusCode {
    StatusCode::SERVICE_UNAVAILABLE
}

/// As many are let in; all of them may be under way at once.
pub(super) fn limit() -> Result<(), PeerFailure> {
    let limits = ServiceBuilder::new()
        .layer(HandleErrorLayer::new(overload))
        .load_shed()
        .concurrency_limit(AT_ONCE * (WAITING + 1));
    with_axum(&runtime()?, Router::new().route("/limited", work().layer(limits)))
}

/// As many are under way at once, and as many wait: the bounds of the pool.
pub(super) fn buffer() -> Result<(), PeerFailure> {
    let runtime = runtime()?;
    let limits = ServiceBuilder::new()
        .layer(HandleErrorLayer::new(overload))
        .load_shed()
        .buffer(AT_ONCE * WAITING)
        .concurrency_limit(AT_ONCE);
    // The buffer is a task.
    let routes = {
        let _entered = runtime.enter();
        Router::new().route("/limited", work().layer(limits))
    };
    with_axum(&runtime, routes)
}
