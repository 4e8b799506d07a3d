//! A typed message without the mark of a cast.

use krarup_act::{CarriedTokens, MessageKind};
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// A message that goes to another node as it is: `Pid ! Term`.
///
/// A message of another type is a cast there: what goes over the wire is `{'$gen_cast', Term}`, which the `handle_cast` of a
/// `gen_server` gets. A plain process of Erlang, a member of a `pg` group, or the `handle_info` of a `gen_server` waits
/// for the bare term. Their recipients have this type.
///
/// ```no_run
/// # use krarup_act::{Actor, Context};
/// # use krarup_dist::{ClusterCalls, Info};
/// # use krarup_gen::Result;
/// # use serde::{Deserialize, Serialize};
/// #[derive(Serialize, Deserialize)]
/// enum Line {
///     Said { room: String, text: String },
/// }
///
/// # async fn greet(ctx: &mut Context<()>) -> Result {
/// let printer = ctx.remote::<Info<Line>>("printer", "erl@host")?;
/// // `{said, #{room => .., text => ..}}`, or a tuple, as the codec says.
/// printer.send(Info(Line::Said { room: "lobby".into(), text: "hello".into() }))?;
/// # Ok(())
/// # }
/// ```
///
/// It is the whole message: one inside of another has the whole of it go out as it is.
///
/// As the type of the messages of a process it takes whatever comes, as its inner type would. A message in which a
/// [`Reply`](krarup_act::Reply) lies is a call, in here too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Info<M>(pub M);

impl<M: Serialize> Serialize for Info<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let _ = CarriedTokens::with(|tokens| tokens.kind = MessageKind::Plain);
        self.0.serialize(serializer)
    }
}

impl<'de, M: Deserialize<'de>> Deserialize<'de> for Info<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        M::deserialize(deserializer).map(Info)
    }
}
