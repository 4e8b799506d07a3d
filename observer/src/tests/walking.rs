//! The sampler by itself, in a simulation: what its turns do (rule V63), and what it shows.

use crate::sampling::pictures::{Sampling, WalkRequest};
use crate::sampling::row::Row;
use crate::sampling::sampler::Sampler;
use krarup_act::{Actor, Address, Context};
use krarup_gen::{Result, TurnRecordingLimits};
use krarup_node::Simulation;
use std::sync::Arc;
use std::time::Duration;

/// More than a walk does in twenty turns.
const MANY: usize = 6000;

struct Idler;

impl Actor for Idler {
    type Message = ();

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        ctx.stop();
        Ok(())
    }
}

/// A sampler over many processes.
struct Walking {
    sim: Simulation,
    sampling: Arc<Sampling>,
    sampler: Address<WalkRequest>,
    idlers: Vec<Address<()>>,
}

impl Walking {
    fn start(processes: usize) -> Self {
        let sim = Simulation::new(7);
        let idlers = (0..processes).map(|_| sim.spawn(|| Idler).start().unwrap()).collect();
        let view = sim.node().view();
        let sampling = Arc::new(Sampling::new(view.clone(), Duration::ZERO));
        let shared = Arc::clone(&sampling);
        let sampler = sim.spawn(move || Sampler::new(Arc::clone(&shared), view.clone()));
        let sampler = sampler.start().unwrap();
        sim.run_until_idle();
        Walking { sim, sampling, sampler, idlers }
    }

    /// Walks, and returns how many turns the sampler needed.
    fn walk(&self) -> usize {
        let limits = TurnRecordingLimits::lasting(Duration::from_secs(1));
        let recording = self.sim.node().record_turns(limits).unwrap();
        self.sampler.send(WalkRequest).unwrap();
        self.sim.run_until_idle();
        let turns = recording.finish().turns;
        turns.iter().filter(|turn| turn.pid == self.sampler.pid()).count()
    }

    fn ids(&self) -> Vec<u64> {
        let picture = self.sampling.last().unwrap();
        picture.rows.iter().map(Row::id).collect()
    }
}

#[test]
fn v63_a_turn_of_the_sampler_handles_a_bounded_number_of_processes() {
    let it = Walking::start(MANY);
    let first = it.walk();
    assert!(first >= MANY / 256, "rows: {first} turns");
    // From now on there is a picture before, which is freed.
    let next = it.walk();
    assert!(next >= first + MANY / 256, "rows and an old picture: {next} turns after {first}");
    // Those that have ended since are passed over, and freed, as slowly.
    it.idlers.iter().for_each(|idler| idler.send(()).unwrap());
    it.sim.run_until_idle();
    let last = it.walk();
    assert!(last >= 2 * (MANY / 256), "the old picture alone: {last} turns");
    assert_eq!(it.ids(), [it.sampler.pid().id()]);
    it.sim.stop().wait().unwrap();
}

#[test]
fn v63_the_sampler_frees_the_pictures_that_nobody_reads() {
    let it = Walking::start(300);
    it.walk();
    let first = it.sampling.last().unwrap();
    let weak = Arc::downgrade(&first);
    it.walk();
    assert_eq!(weak.strong_count(), 2, "a reader has it, and the sampler keeps it");
    drop(first);
    assert_eq!(weak.strong_count(), 1, "the reader was not the one to free it");
    it.walk();
    assert_eq!(weak.strong_count(), 0);
    it.sim.stop().wait().unwrap();
}

#[test]
fn v7_a_picture_has_each_process_once_in_the_order_of_their_numbers() {
    let it = Walking::start(MANY);
    // Holes of all sizes.
    for (place, idler) in it.idlers.iter().enumerate() {
        if place % 7 == 3 || (1000..1700).contains(&place) {
            idler.send(()).unwrap();
        }
    }
    it.sim.run_until_idle();
    it.walk();
    let living = it.idlers.iter().filter(|idler| idler.is_alive());
    let mut expected: Vec<u64> = living.map(|idler| idler.pid().id()).collect();
    expected.push(it.sampler.pid().id());
    assert_eq!(it.ids(), expected);
    let picture = it.sampling.last().unwrap();
    for (place, id) in expected.iter().enumerate() {
        assert_eq!(picture.rows.place(*id), Some(place));
        assert_eq!(picture.rows[place].id(), *id);
    }
    assert_eq!(picture.rows.place(0), None);
    assert_eq!(picture.rows.place(it.idlers[3].pid().id()), None);
    assert_eq!(picture.rows.place(u64::MAX), None);
    assert_eq!(picture.rows.len(), expected.len());
    assert_eq!(picture.sums().user, expected.len());
    it.sim.stop().wait().unwrap();
}
