//! Benchmarks of encoding and decoding a call, and a list of a thousand maps, typed and as
//! a `Term`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use krarup_wire::codec::TermCodec;
use krarup_wire::etf::{Atom, Decoder, ExternalPid, Reference, Term};
use serde::{Deserialize, Serialize};
use std::hint::black_box;

#[derive(Serialize, Deserialize)]
enum Request {
    Add(i64, i64),
}

#[derive(Serialize, Deserialize)]
struct Article {
    name: String,
    count: u32,
    price: f64,
    at: Option<i64>,
}

/// `{'$gen_call', {Pid, [alias|Ref]}, {add, 2, 3}}`
fn call() -> Term {
    let node = Atom::fixed("shop@10.0.0.7");
    let pid = ExternalPid { id: 100, serial: 0, node: node.clone(), creation: 4 };
    let reference = Reference::new(node, 4, &[1, 2, 3]).expect("three words");
    let tag = Term::list_with_tail([Term::atom("alias")], reference.into());
    let request = Term::tuple([Term::atom("add"), Term::Int(2), Term::Int(3)]);
    Term::tuple([Term::atom("$gen_call"), Term::tuple([pid.into(), tag]), request])
}

fn articles() -> Vec<Article> {
    let article = |n: u32| {
        let at = n.is_multiple_of(2).then_some(n.into());
        Article { name: format!("article {n}"), count: n, price: f64::from(n) / 4.0, at }
    };
    (0..1_000).map(article).collect()
}

fn bytes_of(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes);
    bytes
}

fn codec(criterion: &mut Criterion) {
    let codec = TermCodec::DEFAULT;
    let call = call();
    let call_bytes = bytes_of(|out| call.write(out).expect("a term"));
    let request = Request::Add(2, 3);
    let request_bytes = bytes_of(|out| codec.write(&request, out).expect("a term"));
    let articles = articles();
    let articles_bytes = bytes_of(|out| codec.write(&articles, out).expect("a term"));
    let articles_term = Decoder::new(&articles_bytes).last_term().expect("a term");
    let mut out = Vec::with_capacity(1 << 20);

    let mut group = criterion.benchmark_group("call");
    group.throughput(Throughput::Bytes(call_bytes.len() as u64));
    group.bench_function("read as a term", |b| {
        b.iter(|| Decoder::new(black_box(&call_bytes)).last_term());
    });
    group.bench_function("write a term", |b| {
        b.iter(|| {
            out.clear();
            call.write(&mut out)
        });
    });
    group.bench_function("read the request typed", |b| {
        b.iter(|| codec.read::<Request>(Decoder::new(black_box(&request_bytes))));
    });
    group.bench_function("write the request typed", |b| {
        b.iter(|| {
            out.clear();
            codec.write(black_box(&request), &mut out)
        });
    });
    group.finish();

    let mut group = criterion.benchmark_group("a thousand maps");
    group.throughput(Throughput::Bytes(articles_bytes.len() as u64));
    group.bench_function("read as a term", |b| {
        b.iter(|| Decoder::new(black_box(&articles_bytes)).last_term());
    });
    group.bench_function("write a term", |b| {
        b.iter(|| {
            out.clear();
            articles_term.write(&mut out)
        });
    });
    group.bench_function("read typed", |b| {
        b.iter(|| codec.read::<Vec<Article>>(Decoder::new(black_box(&articles_bytes))));
    });
    group.bench_function("write typed", |b| {
        b.iter(|| {
            out.clear();
            codec.write(black_box(&articles), &mut out)
        });
    });
    group.finish();
}

criterion_group!(benches, codec);
criterion_main!(benches);
