//! Every public error is an error that any program can pass on: rule Y5.

#![allow(clippy::wildcard_imports, reason = "the errors of all modules")]

use krarup::application::*;
use krarup::batches::*;
use krarup::cluster::*;
use krarup::cron::*;
use krarup::grains::*;
use krarup::groups::*;
use krarup::io::*;
use krarup::mailbox::*;
use krarup::observe::*;
use krarup::observer::*;
use krarup::pool::*;
use krarup::settings::*;
use krarup::state::*;
use krarup::step::*;
use krarup::supervisor::*;
use krarup::testing::*;
use krarup::topics::*;
use krarup::{prelude::Simulation, *};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Names its types, each of which must be an error that `anyhow`, `eyre` and boxes take.
macro_rules! errors {
    ($($error:ident $(<$held:ty>)?),+ $(,)?) => {{
        fn is_error<E: Error + Send + Sync + 'static>() {}
        $(is_error::<$error $(<$held>)?>();)+
        BTreeSet::from([$(stringify!($error)),+])
    }};
}

fn all() -> BTreeSet<&'static str> {
    errors![
        AddJobError,
        ApplicationError,
        AwaitNameError,
        BackOffError,
        BatcherError,
        BindError,
        BlockError,
        CallError,
        CannotWait,
        ClusterError,
        CodecError,
        CommandError,
        ConnectError,
        ConnectionError,
        CookieFileError,
        DatagramError,
        DebugError,
        DeleteChildError,
        DiscoveryError,
        FailedToStartChild,
        FailingSeed,
        FunctionNameError,
        GetChildSpecError,
        GrainsError,
        Ignore,
        InPlaceError,
        InvalidNodeName,
        JobError,
        JoinError,
        KeyCallError,
        KeySendError<u32>,
        LeaveError,
        LookupError,
        ManageError,
        NameError,
        NamedCallError,
        NoBound,
        NodeError,
        NodePatternError,
        ObserverError,
        OpenTopicError,
        OptionsError,
        OrderError,
        OverflowError,
        Panic,
        ParsePidError,
        ParseRefError,
        PartitionError,
        PoolError,
        ProgramError,
        PublishError<u32>,
        QueueLimitsError,
        ReasonError,
        RecordError,
        RecordTurnsError,
        RegisterError,
        RegisterKeyError,
        RegistrationError,
        ResizeError,
        RestartChildError,
        RetryError,
        RemoteSpawnError,
        RpcError,
        RunError<fn()>,
        ScheduleError,
        SendError<u32>,
        ServeError,
        SettingsError,
        SettingsFault,
        SpawnError,
        SpecError,
        StartApplicationError,
        StartChildError,
        StartError,
        StatefulError,
        StopApplicationError,
        StopError,
        SubscribeError,
        TaskError,
        TerminateChildError,
        ThreadError,
        TlsError,
        TokenError,
        TooManyRecorded,
        TooSlow,
        TopicLookupError,
        TraceError,
        TraceParentError,
        TraceSamplerError,
        UnknownMethod,
        UnknownZone,
        WatchGroupError,
        WriteError,
    ]
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// A new error belongs into the list.
#[test]
fn y5_every_public_error_can_be_passed_on_by_any_program() {
    let known = all();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for member in ["gen", "act", "node", "supervisor", "state", "cron", "io", "dist", "observer"] {
        sources(&root.join(member).join("src"), &mut files);
    }
    let mut missing = Vec::new();
    for file in files {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let declared = line.strip_prefix("pub enum ").or(line.strip_prefix("pub struct "));
            let Some(declared) = declared else { continue };
            let name: String = declared.chars().take_while(|it| it.is_alphanumeric()).collect();
            if name.ends_with("Error") && !known.contains(&*name) {
                missing.push(name);
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn y5_a_program_with_anyhow_passes_on_what_fails_and_finds_it_again() {
    fn program() -> anyhow::Result<u32> {
        let sim = Simulation::new(1);
        let nobody: Address<u32> = sim.lookup("nobody")?;
        nobody.send(1)?;
        // A reason is made an error.
        sim.stop().wait().map_err(Reason::into_error)?;
        Ok(7)
    }
    let error = program().unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(LookupError::NoName(_))), "{error:?}");
    let reason = anyhow::Error::from(Reason::error("closed").into_error());
    assert_eq!(format!("{reason}"), "closed");
}
