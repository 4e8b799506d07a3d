//! `#[derive(Protocol)]`: a method for each message of a process.

#![forbid(unsafe_code)]

mod methods;
mod protocol;

use proc_macro::TokenStream;

/// Derives a trait with a method for each message of an enum, and implements it for each `Address`
/// of these messages (rule Y6), and another one for each `NamedAddress` if it is asked for. A
/// `Recipient` gets no methods: send and call with the enum there.
///
/// ```
/// use krarup::prelude::*;
/// use krarup::Protocol;
///
/// #[derive(Protocol)]
/// enum Counter {
///     /// Adds a number.
///     Add(u64),
///     /// Returns the sum.
///     Total(Reply<u64>),
///     /// Returns whether the sum is within bounds.
///     IsWithin { least: u64, most: u64, reply: Reply<bool> },
/// }
///
/// # #[derive(Default)]
/// # struct CounterServer(u64);
/// # impl Actor for CounterServer {
/// #     type Message = Counter;
/// #     async fn handle_message(&mut self, _: &mut Context<Counter>, message: Counter) -> Result {
/// #         match message {
/// #             Counter::Add(n) => self.0 += n,
/// #             Counter::Total(reply) => reply.send(self.0),
/// #             Counter::IsWithin { least, most, reply } => {
/// #                 reply.send((least..=most).contains(&self.0));
/// #             }
/// #         }
/// #         Ok(())
/// #     }
/// # }
/// # fn main() -> Result {
/// let node = Simulation::new(1);
/// let counter = node.spawn(CounterServer::default).wait()?;
/// counter.add(5)?;
/// assert_eq!(counter.total().wait()?, 5);
/// assert!(counter.is_within(1, 9).timeout(std::time::Duration::from_secs(1)).wait()?);
/// # Ok(())
/// # }
/// ```
///
/// | variant | method | is |
/// |---|---|---|
/// | `Add(u64)` | `add(&self, value: u64) -> Result<(), SendError<Counter>>` | `send(Counter::Add(value))` |
/// | `Put(String, u32)` | `put(&self, value_0: String, value_1: u32)` | `send(Counter::Put(value_0, value_1))` |
/// | `Total(Reply<u64>)` | `total(&self) -> Call<'_, ..>` | `call(Counter::Total)` |
/// | `IsWithin { least, most, reply }` | `is_within(&self, least: u64, most: u64) -> Call<'_, ..>` | `call(\|reply\| ..)` |
///
/// A variant with a field of the type `Reply<..>` is a request, and its method a call: await it, or
/// set its timeout first. The type must be written as `Reply<..>`: a derive does not see through an
/// alias. Any other variant is sent. The trait has the name of the enum with
/// `Calls` behind it and the visibility of the enum; import it where the address is used.
///
/// | attribute | on | meaning |
/// |---|---|---|
/// | `#[protocol(calls = CounterApi)]` | the enum | the name of the trait |
/// | `#[protocol(named = CounterByName)]` | the enum | a second trait, of this name, for `NamedAddress` |
/// | `#[protocol(name = halt)]` | a variant | the name of its method |
/// | `#[protocol(skip)]` | a variant | it has no method |
///
/// By name, a call may be made again at the next process, so it clones what it sends: the fields of its
/// request are `Clone`. Those of other messages need not be.
///
/// ```
/// use krarup::prelude::*;
/// use krarup::{NamedAddress, Protocol};
///
/// #[derive(Protocol)]
/// #[protocol(named = StockByName)]
/// enum Stock {
///     Take { item: String, reply: Reply<bool> },
/// }
///
/// async fn order(stock: &NamedAddress<Stock>, item: &str) -> Result<bool> {
///     Ok(stock.take(item.to_owned()).await?)
/// }
/// # let _ = order;
/// ```
///
/// # Errors
/// The compiler points at what has no method: a struct or a union, a protocol with type parameters or
/// lifetimes, two replies in one variant, two variants of one name, and a variant whose method
/// the address has already. It also points at a field of a call by name that cannot be cloned.
///
/// ```compile_fail
/// # use krarup::{Protocol, Reply};
/// #[derive(Protocol)]
/// struct Add(u64); // a protocol is an enum
/// ```
///
/// ```compile_fail
/// # use krarup::{Protocol, Reply};
/// #[derive(Protocol)]
/// enum Store<T> { Put(T) } // no type parameters
/// ```
///
/// ```compile_fail
/// # use krarup::{Protocol, Reply};
/// #[derive(Protocol)]
/// enum Valve { Stop } // an address has `stop` already
/// ```
///
/// ```compile_fail
/// # use krarup::{Protocol, Reply};
/// struct Ticket;
/// #[derive(Protocol)]
/// #[protocol(named = GateByName)]
/// enum Gate { Enter(Ticket, Reply<bool>) } // a ticket cannot be cloned
/// ```
#[proc_macro_derive(Protocol, attributes(protocol))]
pub fn derive_protocol(input: TokenStream) -> TokenStream {
    let derived = protocol::Protocol::read(input.into()).map(|protocol| methods::write(&protocol));
    derived.unwrap_or_else(syn::Error::into_compile_error).into()
}
