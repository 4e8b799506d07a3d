//! How a state actor runs: what comes is sorted into the classes, and the next is handled.
//!
//! ```text
//!   mailbox ──┐                         ┌──► begin a handler ──► ended
//!   ledger ───┼─ gather ─► classes ─────┤         │ awaits
//!   belfry ───┘             (order)     └──► go on with one ◄── stacks
//!      ▲                                                          │
//!      └────────────────────── bells ◄────────────────────────────┘
//! ```
//!
//! One step is: gather, take the next, handle it until it ends or awaits. So what came while
//! one was handled is sorted in before the next is taken (rule O2).

use crate::belfry::Of;
use crate::classes::{Classes, Next};
use crate::items::{By, Event, Failure, Posted, Reply};
use crate::kinds::StateContext;
use crate::letter::Letter;
use crate::load::Load;
use crate::promise::{Exception, Kind, Settled};
use crate::scope::{Desk, House, Scope};
use crate::stacks::{Stacks, Work};
use crate::state_actor::StateActor;
use crate::table::Key;
use krarup_act::{Received, contain};
use krarup_gen::{Inspection, Pid, Reason, Timestamp};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Things that are handled in one poll beyond what was received in it: a turn counts messages,
/// and what comes from elsewhere must not make it endless.
const STEPS: usize = 64;

/// Why an actor is to end.
pub(crate) enum End {
    /// A callback failed.
    Failed(Reason),
    /// It was told to, or has told itself.
    Told(Reason),
}

type Waiting<A> = Classes<
    Reply<<A as StateActor>::Reply>,
    Failure,
    Posted<<A as StateActor>::Ask>,
    Posted<<A as StateActor>::Notice>,
    Event<<A as StateActor>::Event>,
>;

type Following<A> = Next<
    Reply<<A as StateActor>::Reply>,
    Failure,
    Posted<<A as StateActor>::Ask>,
    Posted<<A as StateActor>::Notice>,
    Event<<A as StateActor>::Event>,
>;

pub(crate) struct Engine<A: StateActor> {
    pub(crate) desk: Arc<Desk<A>>,
    stacks: Stacks,
    classes: Waiting<A>,
    /// The bound of the mailbox: as many letters may wait in here as there.
    bound: Option<usize>,
    /// State and process, while the hooks have them.
    out: Option<House<A>>,
    /// It ends with this when no handler is in flight any more.
    told: Option<Reason>,
    /// It ends when nothing waits and nothing is in flight any more.
    finishing: bool,
}

impl<A: StateActor> Engine<A> {
    pub(crate) fn new(actor: A, ctx: StateContext<A>) -> Self {
        let (pid, bound) = (ctx.pid(), ctx.mailbox());
        let desk = Desk {
            house: parking_lot::Mutex::new(Some(House { actor, ctx })),
            ledger: Arc::default(),
            belfry: Arc::default(),
            pid,
        };
        Engine {
            desk: Arc::new(desk),
            stacks: Stacks::default(),
            classes: Classes::default(),
            bound,
            out: None,
            told: None,
            finishing: false,
        }
    }

    /// A notice that is handled before all that is sent.
    pub(crate) fn put_first(&mut self, notice: A::Notice) {
        self.classes.notices.push_front(Posted { sender: Some(self.desk.pid), letter: notice });
    }

    /// Runs until the actor is to end. A panic in whatever runs here is a failure.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.desk.belfry.rouse();
        contain(|| self.run(cx)).unwrap_or_else(|panic| Poll::Ready(End::Failed(panic)))
    }

    fn run(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        let mut steps = STEPS;
        loop {
            steps += self.gather(cx);
            if self.classes.is_low() && self.look_again() {
                steps += 1;
                continue;
            }
            if let Some(next) = self.take_next() {
                if let Err(reason) = self.handle(next) {
                    return Poll::Ready(End::Failed(reason));
                }
                steps = steps.saturating_sub(1);
                if steps == 0 {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            } else if let Some(end) = self.end() {
                return Poll::Ready(end);
            } else if self.desk.belfry.rest(cx.waker()) {
                return Poll::Pending;
            }
        }
    }

    /// The end, if the actor is to end and nothing keeps it from that.
    fn end(&mut self) -> Option<End> {
        if !self.stacks.is_empty() {
            return None;
        }
        if let Some(reason) = self.told.clone() {
            return Some(End::Told(reason));
        }
        (self.finishing && self.desk.ledger.pending() == 0 && self.classes.letters() == 0)
            .then_some(End::Told(Reason::Normal))
    }

    /// Sorts in whatever has come; how many letters and events were received.
    fn gather(&mut self, cx: &mut Context<'_>) -> usize {
        for of in self.desk.belfry.take() {
            match of {
                Of::Pledge(key) => self.desk.ledger.poll(key),
                Of::Stack(key) => self.classes.replies.push_back(Reply::Woken(key)),
            }
        }
        for (key, settled) in self.desk.ledger.take_settled() {
            self.sort_settled(key, settled);
        }
        let mut received = 0;
        // A bounded mailbox fills up behind a barrier, and its senders hear of that.
        while self.bound.is_none_or(|bound| self.classes.letters() < bound) {
            let Some((item, sender)) = self.receive(cx) else { break };
            received += 1;
            self.sort(item, sender);
        }
        received
    }

    /// A process that receives looks into its mailbox once in a poll and has the turn look
    /// again; here the order depends on what came since. Whether there was a letter.
    fn look_again(&mut self) -> bool {
        if self.bound.is_some_and(|bound| self.classes.letters() >= bound) {
            return false;
        }
        let taken = {
            let mut house = self.desk.house.lock();
            let Some(House { ctx, .. }) = house.as_mut() else { return false };
            ctx.take_batch(1).pop().map(|letter| (letter, ctx.sender()))
        };
        let Some((letter, sender)) = taken else { return false };
        self.sort(Received::Message(letter), sender);
        true
    }

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<(Item<A>, Option<Pid>)> {
        let mut house = self.desk.house.lock();
        let ctx = &mut house.as_mut()?.ctx;
        let Poll::Ready(item) = Pin::new(&mut ctx.receive()).poll(cx) else { return None };
        Some((item, ctx.sender()))
    }

    fn sort_settled(&mut self, key: Key, settled: Settled<A::Reply, A::Event>) {
        let classes = &mut self.classes;
        match settled {
            Settled::Awaited(Kind::Reply) => classes.replies.push_back(Reply::Awaited(key)),
            Settled::Awaited(Kind::Exception) => {
                classes.exceptions.push_back(Failure::Awaited(key));
            }
            Settled::Awaited(Kind::Timeout) => {
                classes.events.push_back(Event::Timeout(Failure::Awaited(key)));
            }
            Settled::Reply(reply) => classes.replies.push_back(Reply::Told(key, reply)),
            Settled::Exception(exception) => {
                let kind = Kind::of::<()>(&Err(exception.error.clone()));
                let failure = Failure::Told(key, exception);
                match kind {
                    Kind::Timeout => classes.events.push_back(Event::Timeout(failure)),
                    _ => classes.exceptions.push_back(failure),
                }
            }
            Settled::Event(event) => classes.events.push_back(Event::Timer(key, event)),
        }
    }

    fn sort(&mut self, item: Item<A>, sender: Option<Pid>) {
        let classes = &mut self.classes;
        match item {
            Received::Message(Letter::Ask(letter)) => {
                classes.asks.push_back(Posted { sender, letter });
            }
            Received::Message(Letter::Notice(letter)) => {
                classes.notices.push_back(Posted { sender, letter });
            }
            Received::Command(letter) => {
                classes.events.push_back(Event::Sent(Posted { sender, letter }));
            }
            Received::Down(down) => classes.events.push_back(Event::Down(down)),
            Received::Exit(exit) => classes.events.push_back(Event::Exit(exit)),
            Received::Timeout => classes.events.push_back(Event::Silence),
            Received::Other(letter) => {
                classes.events.push_back(Event::Other(Posted { sender, letter }));
            }
            Received::Inspect(reply) => reply.send(self.inspect()),
            Received::State(reply) => {
                let house = self.desk.house.lock();
                reply.send(house.as_ref().and_then(|house| house.actor.state()));
            }
            Received::Stop(reason) => self.tell(reason),
            Received::Finish => self.finishing = true,
            // What is added to what can be received is not for us.
            _ => {}
        }
    }

    /// Nothing is begun from now on.
    fn tell(&mut self, reason: Reason) {
        self.told.get_or_insert(reason);
        self.classes.close();
    }

    fn take_next(&mut self) -> Option<Following<A>> {
        let house = self.desk.house.lock();
        let House { actor, ctx } = house.as_ref()?;
        let stops = ctx.is_stopping() && !self.finishing && self.told.is_none();
        if stops {
            self.told = Some(Reason::Normal);
            self.classes.close();
        }
        self.classes.next(&By(actor))
    }

    /// Handles one thing until it ends or awaits.
    fn handle(&mut self, next: Following<A>) -> Result<(), Reason> {
        let scope = |sender| Scope::new(&self.desk, sender);
        match next {
            Next::Reply(Reply::Awaited(key)) | Next::Exception(Failure::Awaited(key)) => {
                self.deliver(key)
            }
            Next::Reply(Reply::Woken(key)) => self.resume(key),
            Next::Reply(Reply::Told(key, reply)) => {
                let mut scope = scope(None);
                self.begin_settled(key, async move { A::handle_reply(&mut scope, reply).await })
            }
            Next::Exception(Failure::Told(key, exception)) => self.begin_exception(key, exception),
            Next::Ask(Posted { sender, letter }) => {
                let mut scope = scope(sender);
                self.begin(Box::pin(async move { A::handle_ask(&mut scope, letter).await }))
            }
            Next::Barrier(Posted { sender, letter }) => {
                let mut scope = scope(sender);
                let work = Box::pin(async move { A::handle_ask(&mut scope, letter).await });
                let key = self.stacks.add(&self.desk.belfry, work);
                self.classes.raise(key);
                self.resume(key)
            }
            Next::Asks(asks) => {
                let mut scope = scope(asks.first().and_then(|ask| ask.sender));
                let asks = asks.into_iter().map(|ask| ask.letter).collect();
                self.begin(Box::pin(async move { A::handle_asks(&mut scope, asks).await }))
            }
            Next::Notice(Posted { sender, letter }) => {
                let mut scope = scope(sender);
                self.begin(Box::pin(async move { A::handle_notice(&mut scope, letter).await }))
            }
            Next::Notices(notices) => {
                let mut scope = scope(notices.first().and_then(|notice| notice.sender));
                let notices = notices.into_iter().map(|notice| notice.letter).collect();
                self.begin(Box::pin(async move { A::handle_notices(&mut scope, notices).await }))
            }
            Next::Event(event) => self.handle_event(event),
        }
    }

    fn handle_event(&mut self, event: Event<A::Event>) -> Result<(), Reason> {
        match event {
            Event::Timeout(Failure::Awaited(key)) => return self.deliver(key),
            Event::Timeout(Failure::Told(key, exception)) => {
                return self.begin_exception(key, exception);
            }
            // It is to end: what is new is not begun.
            _ if self.told.is_some() => return Ok(()),
            _ => {}
        }
        let mut scope = Scope::new(&self.desk, event.sender());
        match event {
            Event::Timer(key, event) => {
                self.begin_settled(key, async move { A::handle_event(&mut scope, event).await })
            }
            Event::Sent(Posted { letter, .. }) => {
                self.begin(Box::pin(async move { A::handle_event(&mut scope, letter).await }))
            }
            Event::Down(down) => {
                self.begin(Box::pin(async move { A::handle_down(&mut scope, down).await }))
            }
            Event::Exit(exit) => {
                self.begin(Box::pin(async move { A::handle_exit(&mut scope, exit).await }))
            }
            Event::Silence => {
                self.begin(Box::pin(async move { A::handle_timeout(&mut scope).await }))
            }
            Event::Other(Posted { letter, .. }) => {
                self.begin(Box::pin(async move { A::handle_other(&mut scope, letter).await }))
            }
            Event::Timeout(_) => Ok(()),
        }
    }

    fn begin_exception(&mut self, key: Key, exception: Exception) -> Result<(), Reason> {
        let mut scope = Scope::new(&self.desk, None);
        self.begin_settled(key, async move { A::handle_exception(&mut scope, exception).await })
    }

    /// Begins a handler of what has settled, unless that was withdrawn.
    fn begin_settled(
        &mut self,
        key: Key,
        work: impl Future<Output = Result<(), Reason>> + Send + 'static,
    ) -> Result<(), Reason> {
        if self.desk.ledger.deliver(key) { self.begin(Box::pin(work)) } else { Ok(()) }
    }

    fn begin(&mut self, work: Work) -> Result<(), Reason> {
        let key = self.stacks.add(&self.desk.belfry, work);
        self.resume(key)
    }

    /// Goes on with a handler.
    fn resume(&mut self, key: Key) -> Result<(), Reason> {
        match self.stacks.resume(key) {
            None => Ok(()),
            Some(outcome) => {
                self.classes.lower(key);
                outcome
            }
        }
    }

    /// An outcome goes to who holds its promise, and the handler that awaits it goes on at once.
    fn deliver(&mut self, key: Key) -> Result<(), Reason> {
        self.desk.ledger.deliver(key);
        for of in self.desk.belfry.take() {
            match of {
                Of::Stack(stack) => self.resume(stack)?,
                Of::Pledge(key) => self.desk.ledger.poll(key),
            }
        }
        Ok(())
    }

    pub(crate) fn load(&self) -> Load {
        Load {
            replies: self.classes.replies.len(),
            events: self.classes.events.len(),
            pending: self.desk.ledger.pending(),
        }
    }

    fn inspect(&self) -> Inspection {
        let house = self.desk.house.lock();
        let mut inspection = house.as_ref().map(|house| house.actor.inspect()).unwrap_or_default();
        drop(house);
        self.load().describe(&mut inspection);
        inspection
            .with("exceptions", self.classes.exceptions.len())
            .with("asks", self.classes.asks.len())
            .with("notices", self.classes.notices.len())
            .with("in_flight", self.stacks.len())
            .with("barrier", self.classes.has_barrier())
    }

    /// Gives up all that is in flight and all that it waits for; what was sent and not begun
    /// stays.
    pub(crate) fn abandon(&mut self) {
        self.stacks.clear();
        self.desk.ledger.clear();
        self.desk.belfry.take();
        self.classes.lower_any();
        let replies = std::mem::take(&mut self.classes.replies);
        replies.into_iter().for_each(|reply| drop(contain(|| drop(reply))));
        self.classes.exceptions.clear();
        let events = std::mem::take(&mut self.classes.events);
        for event in events {
            match event {
                Event::Timeout(_) | Event::Timer(..) => drop(contain(|| drop(event))),
                sent => self.classes.events.push_back(sent),
            }
        }
    }

    /// The time.
    pub(crate) fn now(&mut self) -> Timestamp {
        self.take_out().ctx.now()
    }

    /// State and process, for the hooks: no handler runs meanwhile.
    pub(crate) fn take_out(&mut self) -> &mut House<A> {
        let out = self.desk.house.lock().take().or_else(|| self.out.take());
        self.out.insert(out.expect("state and process are either at the desk or out"))
    }

    /// State and process are there for the handlers again.
    pub(crate) fn put_back(&mut self) {
        if let Some(house) = self.out.take() {
            *self.desk.house.lock() = Some(house);
        }
    }
}

/// Handlers go before the state. What was sent and not begun is lost, and that is counted; who
/// holds a promise elsewhere hears that nothing will come of it.
impl<A: StateActor> Drop for Engine<A> {
    fn drop(&mut self) {
        self.stacks.clear();
        self.desk.ledger.clear();
        let house = self.desk.house.lock().take().or_else(|| self.out.take());
        let Some(House { actor, ctx }) = house else { return };
        for Posted { sender, letter } in self.classes.asks.drain(..) {
            ctx.lose(Letter::Ask(letter), sender);
        }
        for Posted { sender, letter } in self.classes.notices.drain(..) {
            ctx.lose(Letter::Notice(letter), sender);
        }
        let _ = contain(|| drop(actor));
    }
}

type Item<A> =
    Received<Letter<<A as StateActor>::Notice, <A as StateActor>::Ask>, <A as StateActor>::Event>;
