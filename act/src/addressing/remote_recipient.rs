//! Recipients whose process is on another node, and recipients in messages between nodes.

use crate::addressing::dynamic::Dynamic;
use crate::addressing::recipient::{DeliverMessage, Recipient, Room, RoomInLine};
use crate::calls::carried::CarriedTokens;
use crate::host::host::Host;
use crate::mailbox::permit::Permit;
use crate::process::current;
use crate::process::process::Process;
use crate::process::remote::{MessageRoom, NotWritten, Remote, WrittenMessage};
use krarup_gen::{Name, NodeName, Pid, SendError, Target};
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use serde::ser::{Serialize, Serializer};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// The name of a serialized recipient.
const RECIPIENT: &str = "krarup.Recipient";

thread_local! {
    /// The call that the last message of this thread has made.
    static BEGUN: Cell<Option<u64>> = const { Cell::new(None) };
}

impl<T: Serialize + Send + 'static> Recipient<T> {
    /// Creates a recipient for the process that `process` stands for, which is on another
    /// node. For clusters.
    pub fn remote(process: Arc<dyn Process>, host: Arc<dyn Host>) -> Self {
        Recipient::new(RemoteRecipient { process, host, name: None })
    }

    /// As [`Recipient::remote`], for a process that is found by its name on another node. Errors
    /// of its calls have the name. For clusters.
    pub fn remote_named(
        process: Arc<dyn Process>,
        host: Arc<dyn Host>,
        name: (Name, NodeName),
    ) -> Self {
        Recipient::new(RemoteRecipient { process, host, name: Some(name) })
    }
}

struct RemoteRecipient {
    /// A stand-in: [`Process::remote`] is set.
    process: Arc<dyn Process>,
    host: Arc<dyn Host>,
    /// By which the process is found there, if it is not found by its pid.
    name: Option<(Name, NodeName)>,
}

impl RemoteRecipient {
    fn write(
        &self,
        message: &dyn erased_serde::Serialize,
        by: u64,
        room: MessageRoom,
    ) -> Result<WrittenMessage, NotWritten> {
        self.process.remote().ok_or(NotWritten::NoProcess)?.write(message, by, room)
    }

    fn deliver_with<T: Serialize>(
        &self,
        message: T,
        sender: u64,
        room: MessageRoom,
    ) -> Result<(), SendError<T>> {
        BEGUN.set(None);
        match self.write(&message, sender, room) {
            Ok(WrittenMessage { call, send }) => {
                // Its tokens are lent. It is dropped before an answer can come.
                drop(message);
                send();
                BEGUN.set(call);
                current::count_sent();
                Ok(())
            }
            Err(error) => {
                let to = self.process.pid();
                Err(match error {
                    NotWritten::Full => SendError::Full { message, to },
                    NotWritten::NoProcess => SendError::NoProcess { message, to },
                    NotWritten::NoConnection => SendError::NoConnection { message, to },
                    NotWritten::Unserializable(why) => {
                        SendError::Unserializable { message, to, why: why.into() }
                    }
                })
            }
        }
    }
}

impl<T: Serialize + Send + 'static> DeliverMessage<T> for RemoteRecipient {
    fn deliver(&self, message: T, sender: u64) -> Result<(), SendError<T>> {
        self.deliver_with(message, sender, MessageRoom::Wanted)
    }

    fn deliver_at_place(&self, message: T, sender: u64) -> Result<(), SendError<T>> {
        self.deliver_with(message, sender, MessageRoom::Granted)
    }

    fn notify(&self, message: T) {
        let written = self.write(&message, 0, MessageRoom::Granted);
        if let Ok(WrittenMessage { send, .. }) = written {
            drop(message);
            send();
        }
    }

    fn reserve(&self) -> Result<Permit<T>, SendError<()>> {
        Err(SendError::NotReservable { message: (), to: self.process.pid() })
    }

    fn room(&self) -> RoomInLine<T> {
        let process = Arc::clone(&self.process);
        Box::pin(async move {
            let room = process.remote().map(Remote::room);
            match room {
                Some(room) => Ok(Room::Place(room.await)),
                None => Err(SendError::NoProcess { message: (), to: process.pid() }),
            }
        })
    }

    fn process(&self) -> Option<Arc<dyn Process>> {
        Some(Arc::clone(&self.process))
    }

    fn pid(&self) -> Pid {
        self.process.pid()
    }

    fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    fn is_alive(&self) -> bool {
        self.process.remote().is_some_and(Remote::is_alive)
    }

    fn begun_call(&self) -> Option<u64> {
        BEGUN.take()
    }

    fn name_there(&self) -> Option<Target> {
        self.name.clone().map(Target::from)
    }
}

/// A process of this node that was found by its pid: the type of its messages is checked at
/// each send.
struct ByPid {
    process: Arc<dyn Process>,
    host: Arc<dyn Host>,
}

impl<T: Send + 'static> DeliverMessage<T> for ByPid {
    fn deliver(&self, message: T, _: u64) -> Result<(), SendError<T>> {
        let sent = Arc::clone(&self.process).send_dynamic(Dynamic::new(message), None);
        let Err(error) = sent else { return Ok(()) };
        let mut returned = None;
        let error = error.map(|message| returned = message.downcast::<T>().ok());
        match returned {
            Some(message) => Err(error.with_message(message)),
            // Unreachable: it was sent as a `T`.
            None => Ok(()),
        }
    }

    fn notify(&self, message: T) {
        let _ = Arc::clone(&self.process).send_dynamic(Dynamic::new(message), None);
    }

    fn reserve(&self) -> Result<Permit<T>, SendError<()>> {
        Err(SendError::NotReservable { message: (), to: self.process.pid() })
    }

    fn room(&self) -> RoomInLine<T> {
        // The mailbox knows whether there is room. Its line is that of the address.
        Box::pin(async { Ok(Room::Place(Box::new(()))) })
    }

    fn process(&self) -> Option<Arc<dyn Process>> {
        Some(Arc::clone(&self.process))
    }

    fn pid(&self) -> Pid {
        self.process.pid()
    }

    fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    fn is_alive(&self) -> bool {
        self.host.process(self.process.pid()).is_some()
    }
}

impl<T: Send + 'static> Serialize for Recipient<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // One by name becomes one of the process that has the name now.
        let process = self
            .process()
            .ok_or_else(|| serde::ser::Error::custom("no process has the name of a recipient"))?;
        serializer.serialize_newtype_struct(RECIPIENT, &process.pid().to_string())
    }
}

impl<'de, T: Serialize + Send + 'static> Deserialize<'de> for Recipient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RecipientTextVisitor;

        impl<'de> Visitor<'de> for RecipientTextVisitor {
            type Value = String;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a pid")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                inner: D,
            ) -> Result<String, D::Error> {
                String::deserialize(inner)
            }
        }

        let text = deserializer.deserialize_newtype_struct(RECIPIENT, RecipientTextVisitor)?;
        let pid: Pid = text.parse().map_err(D::Error::custom)?;
        let host = CarriedTokens::host()
            .ok_or_else(|| D::Error::custom("a recipient exists within a cluster only"))?;
        let process = host
            .process(pid)
            .ok_or_else(|| D::Error::custom(format!("there is no process {pid}")))?;
        Ok(if process.remote().is_some() {
            Recipient::remote(process, host)
        } else {
            Recipient::new(ByPid { process, host })
        })
    }
}
