//! 14. A step process: a small virtual machine whose programs run as processes.
//!
//! The machine has a stack and a few instructions, and knows nothing of threads, clocks or
//! other processes. Everything that takes time is a command: the machine yields, and continues
//! when the completion with the command's tag arrives. The node supplies the commands: `print`
//! completes at once, `sleep` after a delay, and `fetch` by a call to another process. Three
//! programs run concurrently; one is stopped from outside and still delivers a last result.
//!
//! ```sh
//! cargo run --release --example 14_step_process
//! ```

use krarup::prelude::*;
use krarup::step::{
    CommandError, Commands, StepEvent, StepOutput, StepProcess, Stepped, Tag, UnknownMethod,
};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The values of the language.
#[derive(Clone, Debug)]
enum Value {
    Number(i64),
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => text.fmt(f),
        }
    }
}

impl Value {
    fn number(&self) -> Result<i64, CommandError> {
        match self {
            Value::Number(number) => Ok(*number),
            Value::Text(text) => {
                Err(CommandError::Failed(Reason::error(format!("{text:?} is no number"))))
            }
        }
    }
}

/// The instructions.
#[derive(Clone, Copy, Debug)]
enum Code {
    Number(i64),
    Text(&'static str),
    Add,
    Copy,
    Drop,
    /// Runs a command with the top of the stack as its argument, and puts the result in
    /// its place.
    Command(&'static str),
    /// Runs a command for each of the two topmost values, both at the same time.
    Both(&'static str),
    /// Pops the top of the stack, and jumps there unless it is zero.
    JumpUnlessZero(usize),
    /// Waits for a message, and pushes it.
    Receive,
    Halt,
}

type Program = &'static [(&'static str, &'static [Code])];

/// The machine: its position in the program, its stack, and what it waits for.
struct Machine {
    program: Program,
    code: &'static [Code],
    at: usize,
    stack: Vec<Value>,
    /// The commands that are running, and the place on the stack for the result of each.
    waiting: HashMap<Tag, usize>,
    receives: bool,
    mail: VecDeque<i64>,
}

impl Machine {
    fn new(program: Program) -> Self {
        Machine {
            program,
            code: &[],
            at: 0,
            stack: Vec::new(),
            waiting: HashMap::new(),
            receives: false,
            mail: VecDeque::new(),
        }
    }

    fn pop(&mut self) -> Result<Value> {
        self.stack
            .pop()
            .ok_or_else(|| Reason::error(format!("nothing on the stack at {}", self.at)))
    }

    /// Dispatches a command with the value at this place of the stack, and waits for its
    /// completion.
    fn yields(&mut self, command: &str, place: usize, out: &mut StepOutput<Value>) {
        let argument = std::mem::replace(&mut self.stack[place], Value::Number(0));
        self.waiting.insert(out.dispatch(command, argument), place);
    }

    /// Runs until it has to wait for something.
    fn go_on(&mut self, out: &mut StepOutput<Value>) -> Result {
        // Limits the instructions in one turn, so that other processes run too.
        for _ in 0..100 {
            if !self.waiting.is_empty() {
                out.block();
                return Ok(());
            }
            if self.receives {
                let Some(number) = self.mail.pop_front() else {
                    out.idle();
                    return Ok(());
                };
                self.receives = false;
                self.stack.push(Value::Number(number));
            }
            let code = self.code.get(self.at).copied().unwrap_or(Code::Halt);
            self.at += 1;
            match code {
                Code::Number(number) => self.stack.push(Value::Number(number)),
                Code::Text(text) => self.stack.push(Value::Text(text.to_owned())),
                Code::Add => {
                    let sum = self.pop()?.number()? + self.pop()?.number()?;
                    self.stack.push(Value::Number(sum));
                }
                Code::Copy => {
                    let top = self.pop()?;
                    self.stack.extend([top.clone(), top]);
                }
                Code::Drop => drop(self.pop()?),
                Code::Command(command) => {
                    let top = self.pop()?;
                    self.stack.push(top);
                    self.yields(command, self.stack.len() - 1, out);
                }
                Code::Both(command) => {
                    let (top, below) = (self.pop()?, self.pop()?);
                    self.stack.extend([below, top]);
                    self.yields(command, self.stack.len() - 2, out);
                    self.yields(command, self.stack.len() - 1, out);
                }
                Code::JumpUnlessZero(to) => {
                    if self.pop()?.number()? != 0 {
                        self.at = to;
                    }
                }
                Code::Receive => self.receives = true,
                Code::Halt => {
                    let result = self.pop().unwrap_or(Value::Number(0));
                    out.done(result);
                    return Ok(());
                }
            }
        }
        out.again();
        Ok(())
    }
}

impl StepProcess for Machine {
    type Value = Value;
    type Message = i64;

    fn init(&mut self, _: &Context<i64>, method: &str, inputs: Vec<Value>) -> Result {
        let entry = self.program.iter().find(|(name, _)| *name == method);
        let (_, code) = entry.ok_or_else(|| UnknownMethod(method.to_owned()))?;
        self.code = code;
        self.stack.extend(inputs);
        Ok(())
    }

    fn step(
        &mut self,
        events: &mut VecDeque<StepEvent<Value, i64>>,
        out: &mut StepOutput<Value>,
    ) -> Result {
        for event in events.drain(..) {
            match event {
                StepEvent::Completed { tag, outcome } => {
                    if let Some(place) = self.waiting.remove(&tag) {
                        self.stack[place] = outcome?;
                    }
                }
                StepEvent::Message { message, .. } => self.mail.push_back(message),
                StepEvent::Cancel(reason) => {
                    // Delivers a last result, and waits for nothing more.
                    out.done(Value::Text(format!("was told to end: {reason}")));
                    return Ok(());
                }
            }
        }
        self.go_on(out)
    }

    fn close(&mut self) {
        println!("         (closed with {} on the stack)", self.stack.len());
    }
}

/// Counts down from its input, with a pause between the numbers.
const COUNTDOWN: &[Code] = &[
    Code::Command("print"),
    Code::Number(100),
    Code::Command("sleep"),
    Code::Drop,
    Code::Number(-1),
    Code::Add,
    Code::Copy,
    Code::JumpUnlessZero(0),
    Code::Text("lift-off"),
    Code::Halt,
];

/// Fetches two prices at the same time, and adds them.
const SHOPPING: &[Code] = &[
    Code::Text("bread"),
    Code::Text("butter"),
    Code::Both("fetch"),
    Code::Add,
    Code::Command("print"),
    Code::Halt,
];

/// Adds every number it is sent, forever.
const SUMMING: &[Code] =
    &[Code::Receive, Code::Add, Code::Command("print"), Code::Number(1), Code::JumpUnlessZero(0)];

const PROGRAM: Program = &[("countdown", COUNTDOWN), ("shopping", SHOPPING), ("summing", SUMMING)];

/// The process that knows the prices.
struct PriceList(HashMap<String, i64>);

struct PriceOf(String, Reply<Option<i64>>);

impl Actor for PriceList {
    type Message = PriceOf;

    async fn handle_message(&mut self, ctx: &mut Context<PriceOf>, asked: PriceOf) -> Result {
        ctx.sleep(Duration::from_millis(50)).await;
        asked.1.send(self.0.get(&asked.0).copied());
        Ok(())
    }
}

/// The commands of the language.
fn commands(prices: Address<PriceOf>) -> Commands<Value, i64> {
    Commands::new()
        .at_once("print", |ctx, value: Value| {
            println!("{:>8} {} prints {value}", format!("{:.0?}", ctx.now()), ctx.pid());
            Ok(value)
        })
        .awaited("sleep", |ctx, value| {
            let sleep = value
                .number()
                .map(|millis| ctx.sleep(Duration::from_millis(u64::try_from(millis).unwrap_or(0))));
            async move {
                sleep?.await;
                Ok(value)
            }
        })
        .awaited("fetch", move |_, value| {
            let prices = prices.clone();
            async move {
                let Value::Text(what) = value else {
                    return Err(CommandError::Failed(Reason::error("nothing to fetch")));
                };
                let asked = what.clone();
                let price = prices.call(|reply| PriceOf(asked, reply)).await;
                let price = price.map_err(|error| CommandError::Failed(error.into()))?;
                let unknown = || CommandError::Failed(Reason::error(format!("no price of {what}")));
                price.map(Value::Number).ok_or_else(unknown)
            }
        })
}

fn main() -> Result {
    // In virtual time; a real node: Node::start("machines@localhost")?
    let sim = Simulation::new(14);
    let list = [("bread".to_owned(), 3), ("butter".to_owned(), 2)];
    let prices = sim.spawn(move || PriceList(list.into())).name("prices").wait()?;
    let commands = Arc::new(commands(prices));
    let run = |method: &'static str, input: i64| -> Result<Address<i64>> {
        let commands = Arc::clone(&commands);
        let process = sim
            .spawn(move || {
                Stepped::new(Machine::new(PROGRAM), commands, method, [Value::Number(input)])
                    .then(move |result| println!("         {method} is done: {result}"))
            })
            .wait()?;
        println!("         {} runs {method}({input})", process.pid());
        Ok(process)
    };
    println!("three concurrent programs; one receives numbers, one asks for prices:");
    run("countdown", 3)?;
    run("shopping", 0)?;
    let summing = run("summing", 0)?;
    for number in [5, 7, 30] {
        summing.send(number)?;
    }
    sim.advance(Duration::from_secs(1));
    println!("the last program waits for ever, and is asked to stop:");
    println!("         inspection: {}", summing.inspect().wait()?);
    summing.stop().wait()?;
    println!("an unknown entry point:");
    let error = run("nowhere", 0).expect_err("the machine knows its program");
    println!("         {error}");
    Ok(())
}
