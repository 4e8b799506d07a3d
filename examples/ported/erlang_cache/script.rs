//! Runs the operations of a file in a simulation, and returns what each has answered and which events
//! came.

use crate::application::{TOP, cache, line_protocol};
use crate::cache::{Cache, LEASE};
use crate::client::{Client, simulated_server};
use crate::element::ElementRequest;
use crate::events::{CacheEvent, EVENTS};
use krarup::prelude::*;
use krarup::supervisor::{ChildInfo, SupervisorAddress};
use krarup::testing::Probe;
use krarup::topics::Topic;
use std::fmt::Write;
use std::time::Duration;

/// Starts both applications and runs the operations.
pub(crate) fn run(sim: &Simulation, script: &str) -> Result<String> {
    sim.declare_applications([cache(), line_protocol(simulated_server)])?;
    sim.start_applications()?;
    let cache = Cache::of(sim)?;
    let mut run = Run { sim, cache, events: subscribe(sim)?, client: None };
    let mut trace = String::new();
    let is_operation = |line: &&str| !line.is_empty() && !line.starts_with('#');
    for line in script.lines().filter(is_operation) {
        let answer = run.operation(line)?;
        sim.run_until_idle();
        let _ = writeln!(trace, "> {line}");
        for event in run.events.take_messages() {
            let _ = writeln!(trace, "  * {event}");
        }
        if line == "kill-part events" {
            run.events = subscribe(sim)?;
        }
        let _ = writeln!(trace, "  {answer}");
    }
    Ok(trace)
}

fn subscribe(sim: &Simulation) -> Result<Probe<'_, CacheEvent>> {
    let topic: Topic<CacheEvent> = sim.topic(EVENTS)?;
    Ok(Probe::of(sim, &topic))
}

struct Run<'a> {
    sim: &'a Simulation,
    cache: Cache,
    events: Probe<'a, CacheEvent>,
    client: Option<Client<'a>>,
}

impl Run<'_> {
    fn operation(&mut self, line: &str) -> Result<String> {
        let (sim, cache) = (self.sim, &self.cache);
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match words[..] {
            ["insert", key, value] => {
                sim.block_on(cache.insert(key, value, LEASE))??;
                "ok".to_owned()
            }
            ["insert", key, value, lease] => {
                sim.block_on(cache.insert(key, value, milliseconds(lease)?))??;
                "ok".to_owned()
            }
            ["lookup", key] => {
                let value = sim.block_on(cache.lookup(key))??;
                value.unwrap_or_else(|| "not found".to_owned())
            }
            ["delete", key] => {
                sim.block_on(cache.delete(key))??;
                "ok".to_owned()
            }
            ["expire", key, lease] => self.expire(key, milliseconds(lease)?)?,
            ["crash", key] => {
                let answer = sim.block_on(cache.ask(key, ElementRequest::Crash))??;
                answer.map_or("crashed", |()| "answered").to_owned()
            }
            ["kill", key] => {
                sim.kill(self.element(key)?);
                "killed".to_owned()
            }
            ["kill-part", id] => self.kill_part(id)?,
            ["tcp", ..] => {
                let client = match self.client.take() {
                    Some(client) => client,
                    None => Client::connect(sim)?,
                };
                let answer = client.ask(&words[1..].join(" "));
                self.client = Some(client);
                answer?
            }
            _ => return Err(Reason::error(format!("no such operation: {line}"))),
        };
        Ok(answer)
    }

    fn element(&self, key: &str) -> Result<Pid> {
        let element = self.sim.block_on(self.cache.element(key))??;
        let element = element.ok_or_else(|| Reason::error(format!("no element has {key:?}")))?;
        Ok(element.pid())
    }

    /// Waits for the end of an element, which comes when its lease is over, and not earlier. All before
    /// took no time.
    fn expire(&self, key: &str, lease: Duration) -> Result<String> {
        let (element, began) = (self.element(key)?, self.sim.now());
        let end = self.sim.watch(element).wait()?;
        let took = self.sim.now() - began;
        if took != lease || end.reason != Reason::Normal {
            return Err(Reason::error(format!("{key} ended after {took:?}: {}", end.reason)));
        }
        Ok("expired".to_owned())
    }

    /// Kills a part of the tree, and says which have been restarted.
    fn kill_part(&self, id: &str) -> Result<String> {
        let before = self.parts()?;
        let part = before.iter().find(|part| part.id.as_str() == id);
        let pid = part.and_then(|part| part.state.pid());
        self.sim.kill(pid.ok_or_else(|| Reason::error(format!("no part is called {id:?}")))?);
        self.sim.run_until_idle();
        let mut answer = "restarted".to_owned();
        for part in self.parts()?.iter().rev().filter(|part| !before.contains(part)) {
            let _ = write!(answer, " {}", part.id);
        }
        Ok(answer)
    }

    fn parts(&self) -> Result<Vec<ChildInfo>> {
        let top: SupervisorAddress = self.sim.lookup(TOP)?;
        Ok(top.which_children().wait()?)
    }
}

fn milliseconds(text: &str) -> Result<Duration> {
    Ok(Duration::from_millis(text.parse()?))
}
