//! A proxy between two nodes, which cuts, half-closes, holds and throttles what it carries.
//!
//! ```text
//!   dialling node ══ carry ══► the other node      each direction is a thread, and has its own
//!                 ◄═ carry ═══                     numbers by the seed
//! ```
//!
//! Faults come after a number of bytes, anywhere: in a length, in a handshake, in a fragment. Nothing
//! waits for a time: what is held goes on when the proxy is told.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// A proxy in front of one node.
pub(crate) struct ChaosProxy {
    pub(crate) address: SocketAddr,
    shared: Arc<ProxyShared>,
}

struct ProxyShared {
    state: Mutex<ProxyState>,
    changed: Condvar,
}

struct ProxyState {
    target: Option<SocketAddr>,
    numbers: SeededNumbers,
    /// Nothing goes wrong from now on.
    is_calm: bool,
    is_over: bool,
    /// How often what was held was let go.
    releases: u64,
    faults: usize,
    open: Vec<TcpStream>,
}

/// Numbers by a seed.
pub(crate) struct SeededNumbers(pub(crate) u64);

impl SeededNumbers {
    /// The next number below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = (u128::from(mixed ^ (mixed >> 31)) * count as u128) >> 64;
        usize::try_from(high).unwrap()
    }
}

impl ChaosProxy {
    pub(crate) fn start(seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = ProxyState {
            target: None,
            numbers: SeededNumbers(seed),
            is_calm: false,
            is_over: false,
            releases: 0,
            faults: 0,
            open: Vec::new(),
        };
        let shared = Arc::new(ProxyShared { state: Mutex::new(state), changed: Condvar::new() });
        let accepts = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepts.state.lock().unwrap().is_over {
                    return;
                }
                ProxyShared::carry_both(&accepts, &stream);
            }
        });
        ChaosProxy { address, shared }
    }

    /// Says where the node listens.
    pub(crate) fn leads_to(&self, target: SocketAddr) {
        self.shared.state.lock().unwrap().target = Some(target);
    }

    /// What is held goes on.
    pub(crate) fn release(&self) {
        self.shared.state.lock().unwrap().releases += 1;
        self.shared.changed.notify_all();
    }

    /// Nothing goes wrong from now on. Returns how much has.
    pub(crate) fn calm(&self) -> usize {
        let mut state = self.shared.state.lock().unwrap();
        state.is_calm = true;
        self.shared.changed.notify_all();
        state.faults
    }
}

impl Drop for ChaosProxy {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state.lock().unwrap();
            (state.is_over, state.is_calm) = (true, true);
            for stream in state.open.drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        self.shared.changed.notify_all();
        // The thread that accepts looks.
        let _ = TcpStream::connect(self.address);
    }
}

impl ProxyShared {
    fn carry_both(shared: &Arc<Self>, dialled: &TcpStream) {
        let target = shared.state.lock().unwrap().target;
        let Some(other) = target.and_then(|target| TcpStream::connect(target).ok()) else { return };
        let _ = (dialled.set_nodelay(true), other.set_nodelay(true));
        let pairs = [(dialled, &other), (&other, dialled)];
        let seeds = {
            let mut state = shared.state.lock().unwrap();
            state.open.retain(|stream| stream.peer_addr().is_ok());
            state.open.extend([dialled.try_clone().unwrap(), other.try_clone().unwrap()]);
            [(); 2].map(|()| state.numbers.below(usize::MAX) as u64)
        };
        for ((from, to), seed) in pairs.into_iter().zip(seeds) {
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let shared = Arc::clone(shared);
            thread::spawn(move || {
                let _ = shared.carry(&from, &to, SeededNumbers(seed));
                let _ = to.shutdown(Shutdown::Write);
            });
        }
    }

    /// Carries one direction until it ends.
    fn carry(
        &self,
        mut from: &TcpStream,
        mut to: &TcpStream,
        mut numbers: SeededNumbers,
    ) -> std::io::Result<()> {
        let mut buffer = vec![0; 16 << 10];
        let mut left = ProxyShared::bytes_to_fault(&mut numbers);
        let mut piece = 16 << 10;
        loop {
            let count = from.read(&mut buffer[..piece])?;
            if count == 0 {
                return Ok(());
            }
            let is_calm = self.state.lock().unwrap().is_calm;
            if is_calm || count < left {
                to.write_all(&buffer[..count])?;
                left = left.saturating_sub(count).max(1);
                continue;
            }
            to.write_all(&buffer[..left])?;
            let rest = &buffer[left..count];
            left = ProxyShared::bytes_to_fault(&mut numbers);
            let releases = {
                let mut state = self.state.lock().unwrap();
                state.faults += 1;
                state.releases
            };
            match numbers.below(5) {
                0 | 1 => {
                    // Both directions, in the middle of whatever it is.
                    let _ = from.shutdown(Shutdown::Both);
                    return to.shutdown(Shutdown::Both);
                }
                2 => {
                    // This direction ends, and the other one goes on.
                    let _ = to.shutdown(Shutdown::Write);
                    while from.read(&mut buffer)? > 0 {}
                    return Ok(());
                }
                3 => {
                    let state = self.state.lock().unwrap();
                    let is_held = |state: &mut ProxyState| {
                        state.releases == releases && !state.is_calm && !state.is_over
                    };
                    drop(self.changed.wait_while(state, is_held).unwrap());
                    to.write_all(rest)?;
                }
                _ => {
                    // A byte at a time, or a few.
                    to.write_all(rest)?;
                    piece = [1, 7, 300, 16 << 10][numbers.below(4)];
                }
            }
        }
    }

    fn bytes_to_fault(numbers: &mut SeededNumbers) -> usize {
        // Half of them early, within the handshake or not far behind it.
        let range = if numbers.below(2) == 0 { 1_500 } else { 150_000 };
        1 + numbers.below(range)
    }
}
