//! Members of other nodes: processes of which no node tells what messages they take.
//!
//! A node announces the pids of its members, as OTP's `pg` does. Their stand-ins are kept in the
//! group, and become recipients when they are looked up: of any type that the cluster carries.

use super::group::Group;
use crate::addressing::recipient::Recipient;
use crate::host::host::Host;
use crate::process::process::Process;
use std::any::{Any, type_name};
use std::sync::Arc;

/// A member of another node: the stand-in of its process.
#[derive(Clone)]
pub(crate) struct RemoteMember(pub(crate) Arc<dyn Process>);

/// Makes recipients of messages of type `M` for processes of other nodes. For clusters, which have
/// one for each type that they carry.
#[derive(Debug)]
pub struct RecipientMaker<M>(pub MakeRecipient<M>);

/// Makes a recipient for the process that a stand-in stands for.
pub type MakeRecipient<M> = fn(Arc<dyn Process>, Arc<dyn Host>) -> Recipient<M>;

impl<M: Send + 'static> RecipientMaker<M> {
    /// The maker of the cluster of this node, if there is one that carries the type.
    pub(crate) fn of(host: &dyn Host) -> Option<Arc<Self>> {
        let maker = host.network()?.recipient_maker(type_name::<M>())?;
        let maker: Arc<dyn Any + Send + Sync> = maker;
        maker.downcast().ok()
    }

    pub(crate) fn make(
        &self,
        RemoteMember(process): RemoteMember,
        host: &Arc<dyn Host>,
    ) -> Recipient<M> {
        (self.0)(process, Arc::clone(host))
    }
}

/// A member that was chosen: a recipient, or what one can be made of.
pub(crate) enum ChosenMember<M> {
    Here(Recipient<M>),
    There(RemoteMember),
}

impl Group {
    /// One of the members that take an `M`: of those of other nodes only `with_remote`.
    pub(crate) fn any<M: Send + 'static>(
        &self,
        random: u64,
        with_remote: bool,
    ) -> Option<ChosenMember<M>> {
        let here = self.count::<Recipient<M>>();
        let there = if with_remote { self.count::<RemoteMember>() } else { 0 };
        let chosen = random % ((here + there) as u64).max(1);
        let chosen = usize::try_from(chosen).unwrap_or(0);
        if chosen < here {
            return self.one(chosen).map(ChosenMember::Here);
        }
        self.one(chosen - here).map(ChosenMember::There)
    }
}
