//! Physical limit, threads: the receiver is a thread of its own that spins on a channel. Nothing sleeps,
//! nothing is scheduled but by the system, so what is left of a latency is what the machine does.

use common::{Behavior, Ctx, Framework, Msg};
use std::marker::PhantomData;
use std::sync::mpsc::{Sender, TryRecvError, channel};
use std::thread;

struct Threads;

struct ThreadCtx<B> {
    me: Sender<Msg>,
    stop: bool,
    _b: PhantomData<B>,
}

impl<B: Behavior<Threads>> Ctx<Threads, B> for ThreadCtx<B> {
    fn me(&self) -> Sender<Msg> {
        self.me.clone()
    }

    fn stop(&mut self) {
        self.stop = true;
    }
}

impl Framework for Threads {
    const NAME: &'static str = "limit-thread";
    type Ref<B: Behavior<Self>> = Sender<Msg>;
    type Server = ();

    fn run(body: impl FnOnce()) {
        body();
    }

    fn spawn<B: Behavior<Self>>(mut b: B, _: usize) -> Sender<Msg> {
        let (sender, receiver) = channel();
        let mut ctx = ThreadCtx { me: sender.clone(), stop: false, _b: PhantomData };
        thread::spawn(move || {
            while !ctx.stop {
                match receiver.try_recv() {
                    Ok(msg) => b.on_msg(msg, &mut ctx),
                    Err(TryRecvError::Empty) => std::hint::spin_loop(),
                    Err(TryRecvError::Disconnected) => return,
                }
            }
        });
        sender
    }

    fn tell<B: Behavior<Self>>(to: &Sender<Msg>, m: Msg) {
        let _ = to.send(m);
    }
}

fn main() {
    // A thread for each actor: only where there is one that others send to.
    if !std::env::args().nth(1).is_some_and(|w| w == "fanin-threads" || w == "latency") {
        common::unsupported();
    }
    common::workloads::main::<Threads>();
}
