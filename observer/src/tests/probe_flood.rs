//! However many ask, the node works no more for it.

use super::client::{get, observed};
use krarup_act::{Actor, Context};
use krarup_gen::{Inspection, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counts its inspections.
struct Counting(Arc<AtomicU64>);

impl Actor for Counting {
    type Message = ();
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
    fn inspect(&self) -> Inspection {
        self.0.fetch_add(1, Ordering::Relaxed);
        Inspection::new()
    }
}

/// Asks from many connections at once. Returns how many were answered, and how long it took.
fn flood(
    address: SocketAddr,
    clients: usize,
    requests: usize,
    target: &'static str,
) -> (usize, Duration) {
    let began = Instant::now();
    let client = move || (0..requests).filter(|_| get(address, target).status == 200).count();
    let clients: Vec<_> = (0..clients).map(|_| std::thread::spawn(client)).collect();
    let answered = clients.into_iter().map(|client| client.join().unwrap()).sum();
    (answered, began.elapsed())
}

#[test]
fn v28_a_thousand_probes_inspect_each_process_twice_a_second() {
    let (node, observer) = observed(|it| it);
    let counts: Vec<_> = ["one", "other"]
        .into_iter()
        .map(|name| {
            let count = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&count);
            node.spawn(move || Counting(counted)).name(name).wait().unwrap();
            count
        })
        .collect();
    let (answered, took) = flood(observer.address(), 8, 125, "/readyz");
    assert_eq!(answered, 1000);
    // One at once, and one for each half second.
    let most = 1 + took.as_millis() / 500;
    for count in counts {
        let inspections = u128::from(count.load(Ordering::Relaxed));
        assert!((1..=most).contains(&inspections), "{inspections} inspections in {took:?}");
    }
    node.stop().wait().unwrap();
}
