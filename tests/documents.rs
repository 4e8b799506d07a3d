//! The pages of `docs` with snippets: each is compiled, and run as a test. `tests/links.rs` checks that none is
//! missing here.

#![forbid(unsafe_code)]

macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        $(
            #[doc = include_str!(concat!("../", $path))]
            #[cfg(doctest)]
            pub mod $name {}
        )*
    };
}

pages! {
    cluster_operation: "docs/cluster_operation.md",
    deployment: "docs/deployment.md",
    guide_applications: "docs/guide/applications.md",
    guide_batches: "docs/guide/batches.md",
    guide_calendars: "docs/guide/calendars.md",
    guide_calls: "docs/guide/calls.md",
    guide_cluster_simulation: "docs/guide/cluster_simulation.md",
    guide_clusters: "docs/guide/clusters.md",
    guide_dispatchers: "docs/guide/dispatchers.md",
    guide_failure: "docs/guide/failure.md",
    guide_functions: "docs/guide/functions.md",
    guide_grains: "docs/guide/grains.md",
    guide_groups: "docs/guide/groups.md",
    guide_looking_inside: "docs/guide/looking_inside.md",
    guide_mailbox_order: "docs/guide/mailbox_order.md",
    guide_messages: "docs/guide/messages.md",
    guide_named_services: "docs/guide/named_services.md",
    guide_pools: "docs/guide/pools.md",
    guide_restarts: "docs/guide/restarts.md",
    guide_sending: "docs/guide/sending.md",
    guide_sockets: "docs/guide/sockets.md",
    guide_state_actors: "docs/guide/state_actors.md",
    guide_state_machines: "docs/guide/state_machines.md",
    guide_step_processes: "docs/guide/step_processes.md",
    guide_stopping: "docs/guide/stopping.md",
    guide_tasks: "docs/guide/tasks.md",
    guide_testing: "docs/guide/testing.md",
    guide_time: "docs/guide/time.md",
    guide_topics: "docs/guide/topics.md",
    guide_watching: "docs/guide/watching.md",
    observer: "docs/observer.md",
    porting_akka: "docs/porting/akka.md",
    porting_ergo_demos: "docs/porting/ergo_demos.md",
    porting_erlang: "docs/porting/erlang.md",
    porting_erlang_cache: "docs/porting/erlang_cache.md",
    porting_goakt: "docs/porting/goakt.md",
    porting_rust: "docs/porting/rust.md",
    recipes_live_updates: "docs/recipes/live_updates.md",
    recipes_what_survives: "docs/recipes/what_survives.md",
    settings: "docs/settings.md",
}
