//! Decoding and encoding of terms beside two other libraries, `eetf` and `erltf`. The three take
//! turns in one run, five rounds, and the medians are compared:
//!
//! ```text
//! cargo bench -p bench-krarup --features criterion --bench others
//! ```
//!
//! A ratio over 1 says that this crate is faster.

use krarup_wire::codec::TermCodec;
use krarup_wire::etf::{Atom, Atoms, Decoder, ExternalPid, Reference, Term};
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;

/// `{'$gen_call', {Pid, [alias|Ref]}, {add, 2, 3}}`
fn call() -> Term {
    let node = Atom::fixed("shop@10.0.0.7");
    let pid = ExternalPid { id: 100, serial: 0, node: node.clone(), creation: 4 };
    let reference = Reference::new(node, 4, &[1, 2, 3]).expect("three words");
    let tag = Term::list_with_tail([Term::atom("alias")], reference.into());
    let request = Term::tuple([Term::atom("add"), Term::Int(2), Term::Int(3)]);
    Term::tuple([Term::atom("$gen_call"), Term::tuple([pid.into(), tag]), request])
}

#[derive(serde::Serialize)]
struct Article {
    name: String,
    count: u32,
    price: f64,
    at: Option<i64>,
}

fn articles() -> Term {
    let article = |n: u32| {
        let at = n.is_multiple_of(2).then_some(n.into());
        Article { name: format!("article {n}"), count: n, price: f64::from(n) / 4.0, at }
    };
    let articles: Vec<_> = (0..1_000).map(article).collect();
    TermCodec::DEFAULT.to_term(&articles).expect("a term")
}

fn inputs() -> Vec<(&'static str, Term)> {
    let pairs = |n: i64| Term::tuple([Term::atom("pair"), Term::Int(n), Term::Int(n * 100_000)]);
    vec![
        ("a call of 101 bytes", call()),
        ("a thousand maps", articles()),
        ("10 000 integers", Term::list((0..10_000).map(|n| Term::Int(n * 7)))),
        ("10 000 tuples", Term::list((0..10_000).map(pairs))),
        ("a binary of 64 KiB", Term::binary(vec![7; 64 << 10])),
    ]
}

/// Returns the time of one call, measured over several.
fn time<T>(run: &mut dyn FnMut() -> T) -> f64 {
    let mut calls = 1_u32;
    loop {
        let began = Instant::now();
        for _ in 0..calls {
            black_box(run());
        }
        let took = began.elapsed();
        if took > Duration::from_millis(40) {
            return took.as_secs_f64() * 1e9 / f64::from(calls);
        }
        calls *= 2;
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A library's name, and what it does.
type Candidate<'a> = (&'static str, Box<dyn FnMut() + 'a>);

/// Measures the candidates in turns, and prints the medians and the ratios to the first.
fn compare(what: &str, candidates: &mut [Candidate<'_>]) {
    let mut times = vec![Vec::new(); candidates.len()];
    for _ in 0..ROUNDS {
        for (at, (_, run)) in candidates.iter_mut().enumerate() {
            times[at].push(time(run));
        }
    }
    let medians: Vec<_> = times.into_iter().map(median).collect();
    for ((name, _), nanoseconds) in candidates.iter().zip(&medians) {
        let ratio = nanoseconds / medians[0];
        println!("{what:32} {name:16} {nanoseconds:>12.0} ns  {ratio:>5.2}");
    }
}

fn main() {
    for (what, term) in inputs() {
        let bytes = term.encode().expect("a term");
        let mut atoms = Atoms::default();
        compare(
            &format!("read {what}"),
            &mut [
                ("krarup", Box::new(|| drop(black_box(Term::decode(black_box(&bytes)))))),
                (
                    "krarup, atoms",
                    Box::new(|| {
                        let decoder = Decoder::new(black_box(&bytes[1..])).atoms(&mut atoms);
                        drop(black_box(decoder.last_term()));
                    }),
                ),
                ("erltf", Box::new(|| drop(black_box(erltf::decode(black_box(&bytes)))))),
                ("eetf", Box::new(|| drop(black_box(eetf::Term::decode(&bytes[..]))))),
            ],
        );
        let theirs = erltf::decode(&bytes).expect("a term");
        let others = eetf::Term::decode(&bytes[..]).expect("a term");
        compare(
            &format!("write {what}"),
            &mut [
                ("krarup", Box::new(|| drop(black_box(term.encode())))),
                ("erltf", Box::new(|| drop(black_box(erltf::encode(&theirs))))),
                (
                    "eetf",
                    Box::new(|| {
                        let mut out = Vec::new();
                        others.encode(&mut out).expect("a term");
                        black_box(out);
                    }),
                ),
            ],
        );
    }
}
