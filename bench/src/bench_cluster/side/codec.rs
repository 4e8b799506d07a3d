//! What it takes to read and to write terms, without a connection.

use crate::failure::ClusterFailure;
use crate::side::counting::{as_f64, timed};
use krarup::cluster::etf::{Atom, Decoder, ExternalPid, Reference, Term};
use krarup_wire::codec::TermCodec;
use serde::{Deserialize, Serialize};
use std::hint::black_box;

#[derive(Serialize, Deserialize)]
struct Article {
    name: String,
    count: u32,
    price: f64,
    at: Option<i64>,
}

/// `{'$gen_call', {Pid, [alias | Ref]}, {add, 2, 3}}`.
fn call() -> Result<Term, ClusterFailure> {
    let node = Atom::fixed("bench@127.0.0.1");
    let pid = ExternalPid { id: 100, serial: 0, node: node.clone(), creation: 4 };
    let reference = Reference::new(node, 4, &[1, 2, 3]).map_err(ClusterFailure::of_node)?;
    let tag = Term::list_with_tail([Term::atom("alias")], reference.into());
    let request = Term::tuple([Term::atom("add"), Term::Int(2), Term::Int(3)]);
    Ok(Term::tuple([Term::atom("$gen_call"), Term::tuple([pid.into(), tag]), request]))
}

/// The nanoseconds of reading and writing a call as a term, and a thousand maps typed.
pub(crate) fn measure(size: u64) -> Result<Vec<f64>, ClusterFailure> {
    let codec = TermCodec::DEFAULT;
    let article = |n: u32| {
        let at = n.is_multiple_of(2).then_some(n.into());
        Article { name: format!("article {n}"), count: n, price: f64::from(n) / 4.0, at }
    };
    let articles: Vec<Article> = (0..1_000).map(article).collect();
    let (call, mut call_bytes, mut bytes) = (call()?, Vec::new(), Vec::new());
    call.write(&mut call_bytes).map_err(ClusterFailure::of_node)?;
    codec.write(&articles, &mut bytes).map_err(ClusterFailure::of_node)?;
    let (mut out, few) = (Vec::with_capacity(1 << 20), (size / 1_000).max(1));
    let mean = |times: u64, act: &mut dyn FnMut() -> Result<(), ClusterFailure>| {
        let time = timed(|| (0..times).try_for_each(|_| act()))?;
        Ok::<f64, ClusterFailure>(time.as_secs_f64() * 1e9 / as_f64(times))
    };
    Ok(vec![
        mean(size, &mut || {
            Decoder::new(black_box(&call_bytes))
                .last_term()
                .map(drop)
                .map_err(ClusterFailure::of_node)
        })?,
        mean(size, &mut || {
            out.clear();
            black_box(&call).write(&mut out).map_err(ClusterFailure::of_node)
        })?,
        mean(few, &mut || {
            let read: Vec<Article> =
                codec.read(Decoder::new(black_box(&bytes))).map_err(ClusterFailure::of_node)?;
            black_box(read);
            Ok(())
        })?,
        mean(few, &mut || {
            out.clear();
            codec.write(black_box(&articles), &mut out).map_err(ClusterFailure::of_node)
        })?,
    ])
}
