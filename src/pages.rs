//! The pages of the repository, as far as the documentation of the crate leads to them. The [`tour`](crate::tour),
//! the [`guide`](crate::guide), the [`recipes`](crate::recipes), [`porting`](crate::porting) and
//! [`settings`](crate::settings) are modules of the root; the programs of the tour are in `examples/` of the
//! repository.

/// A page, with links that lead to the modules here. Of two definitions of a link the first one counts; each page
/// defines at its end where its links lead in the repository, under the path from the root. `tests/links.rs` checks
/// that each of these paths stands here.
macro_rules! page {
    ($path:literal) => {
        concat!(
            "[CHANGELOG.md]: crate::pages::changelog\n",
            "[CONTRIBUTING.md]: crate::pages::contributing\n",
            "[README.md]: crate\n",
            "[README.md#what-is-not-there-yet]: crate#what-is-not-there-yet\n",
            "[SECURITY.md]: crate::pages\n",
            "[docs/architecture.md]: crate::pages::architecture\n",
            "[docs/at_night.md]: crate::pages::at_night\n",
            "[docs/cluster_operation.md]: crate::pages::cluster_operation\n",
            "[docs/cluster_operation.md#upgrading-one-node-at-a-time]: crate::pages::cluster_operation#upgrading-one-node-at-a-time\n",
            "[docs/comparison.md]: crate::pages::comparison\n",
            "[docs/decisions.md]: crate::pages::decisions\n",
            "[docs/deployment.md]: crate::pages::deployment\n",
            "[docs/guide.md]: crate::guide\n",
            "[docs/guide/applications.md]: crate::guide::applications\n",
            "[docs/guide/batches.md]: crate::guide::batches\n",
            "[docs/guide/calendars.md]: crate::guide::calendars\n",
            "[docs/guide/calls.md]: crate::guide::calls\n",
            "[docs/guide/cluster_simulation.md]: crate::guide::cluster_simulation\n",
            "[docs/guide/clusters.md]: crate::guide::clusters\n",
            "[docs/guide/clusters.md#connections-by-hand]: crate::guide::clusters#connections-by-hand\n",
            "[docs/guide/dispatchers.md]: crate::guide::dispatchers\n",
            "[docs/guide/failure.md]: crate::guide::failure\n",
            "[docs/guide/functions.md]: crate::guide::functions\n",
            "[docs/guide/grains.md]: crate::guide::grains\n",
            "[docs/guide/groups.md]: crate::guide::groups\n",
            "[docs/guide/looking_inside.md]: crate::guide::looking_inside\n",
            "[docs/guide/mailbox_order.md]: crate::guide::mailbox_order\n",
            "[docs/guide/mailbox_order.md#a-message-alone]: crate::guide::mailbox_order#a-message-alone\n",
            "[docs/guide/messages.md]: crate::guide::messages\n",
            "[docs/guide/named_services.md]: crate::guide::named_services\n",
            "[docs/guide/pools.md]: crate::guide::pools\n",
            "[docs/guide/restarts.md]: crate::guide::restarts\n",
            "[docs/guide/sending.md]: crate::guide::sending\n",
            "[docs/guide/sockets.md]: crate::guide::sockets\n",
            "[docs/guide/state_actors.md]: crate::guide::state_actors\n",
            "[docs/guide/state_machines.md]: crate::guide::state_machines\n",
            "[docs/guide/step_processes.md]: crate::guide::step_processes\n",
            "[docs/guide/stopping.md]: crate::guide::stopping\n",
            "[docs/guide/tasks.md]: crate::guide::tasks\n",
            "[docs/guide/testing.md]: crate::guide::testing\n",
            "[docs/guide/time.md]: crate::guide::time\n",
            "[docs/guide/topics.md]: crate::guide::topics\n",
            "[docs/guide/watching.md]: crate::guide::watching\n",
            "[docs/guide/watching.md#log-spans]: crate::guide::watching#log-spans\n",
            "[docs/observer.md]: crate::pages::observer_page\n",
            "[docs/observer.md#metrics]: crate::pages::observer_page#metrics\n",
            "[docs/observer.md#probes]: crate::pages::observer_page#probes\n",
            "[docs/observer.md#routes-that-read]: crate::pages::observer_page#routes-that-read\n",
            "[docs/observer.md#the-program-krarup]: crate::pages::observer_page#the-program-krarup\n",
            "[docs/observer.md#metrics-of-the-program]: crate::pages::observer_page#metrics-of-the-program\n",
            "[docs/performance.md]: crate::pages::performance\n",
            "[docs/performance.md#a-cluster]: crate::pages::performance#a-cluster\n",
            "[docs/performance.md#the-observer]: crate::pages::performance#the-observer\n",
            "[docs/performance.md#the-tail-of-the-latency]: crate::pages::performance#the-tail-of-the-latency\n",
            "[docs/performance.md#what-an-actor-costs-a-build]: crate::pages::performance#what-an-actor-costs-a-build\n",
            "[docs/performance.md#calls-to-other-blocks]: crate::pages::performance#calls-to-other-blocks\n",
            "[docs/porting.md]: crate::porting\n",
            "[docs/porting/actor_crates.md]: crate::porting::actor_crates\n",
            "[docs/porting/akka.md]: crate::porting::akka\n",
            "[docs/porting/akka.md#resume-and-escalate]: crate::porting::akka#resume-and-escalate\n",
            "[docs/porting/ergo.md]: crate::porting::ergo\n",
            "[docs/porting/ergo_demos.md]: crate::porting::ergo_demos\n",
            "[docs/porting/ergo_desk.md]: crate::porting::ergo_desk\n",
            "[docs/porting/erlang.md]: crate::porting::erlang\n",
            "[docs/porting/erlang_cache.md]: crate::porting::erlang_cache\n",
            "[docs/porting/goakt.md]: crate::porting::goakt\n",
            "[docs/porting/goakt_bank.md]: crate::porting::goakt_bank\n",
            "[docs/porting/otavia.md]: crate::porting::otavia\n",
            "[docs/porting/rust.md]: crate::porting::rust\n",
            "[docs/porting/tokio.md]: crate::porting::tokio\n",
            "[docs/porting/wippy.md]: crate::porting::wippy\n",
            "[docs/recipes.md]: crate::recipes\n",
            "[docs/recipes/http_service.md]: crate::recipes::http_service\n",
            "[docs/recipes/http_service.md#as-an-application]: crate::recipes::http_service#as-an-application\n",
            "[docs/recipes/live_updates.md]: crate::recipes::live_updates\n",
            "[docs/recipes/persistence.md]: crate::recipes::persistence\n",
            "[docs/recipes/stopping_a_service.md]: crate::recipes::stopping_a_service\n",
            "[docs/recipes/stopping_a_service.md#the-deadlines]: crate::recipes::stopping_a_service#the-deadlines\n",
            "[docs/recipes/what_survives.md]: crate::recipes::what_survives\n",
            "[docs/semantics.md]: crate::pages::contract\n",
            "[docs/semantics.md#d3]: crate::pages::contract#d3\n",
            "[docs/semantics.md#d5]: crate::pages::contract#d5\n",
            "[docs/semantics.md#d6]: crate::pages::contract#d6\n",
            "[docs/semantics.md#s7]: crate::pages::contract#s7\n",
            "[docs/semantics.md#x2]: crate::pages::contract#x2\n",
            "[docs/semantics.md#zhs10]: crate::pages::contract#zhs10\n",
            "[docs/semantics.md#zlink7]: crate::pages::contract#zlink7\n",
            "[docs/semantics.md#zlive7]: crate::pages::contract#zlive7\n",
            "[docs/semantics.md#zmsg16]: crate::pages::contract#zmsg16\n",
            "[docs/semantics.md#zpg3]: crate::pages::contract#zpg3\n",
            "[docs/semantics.md#zpg4]: crate::pages::contract#zpg4\n",
            "[docs/settings.md]: crate::settings\n",
            "[docs/stability.md]: crate::pages::stability\n",
            "[docs/dependencies.md]: crate::pages::dependencies\n",
            "[docs/tour.md]: crate::tour\n",
            "[docs/tour_further.md]: crate::pages::tour_further\n",
            "[docs/verification.md]: crate::pages::verification\n",
            "[docs/verification.md#what-is-not-proved]: crate::pages::verification#what-is-not-proved\n",
            "[examples/]: crate::pages\n",
            "[examples/01_counter.rs]: crate::pages\n",
            "[examples/02_let_it_crash.rs]: crate::pages\n",
            "[examples/03_links_and_monitors.rs]: crate::pages\n",
            "[examples/04_pool_backpressure.rs]: crate::pages\n",
            "[examples/05_ring.rs]: crate::pages\n",
            "[examples/06_overload.rs]: crate::pages\n",
            "[examples/07_looking_inside.rs]: crate::pages\n",
            "[examples/08_testing.rs]: crate::pages\n",
            "[examples/09_pools_that_adapt.rs]: crate::pages\n",
            "[examples/11_echo.rs]: crate::pages\n",
            "[examples/12_line_server.rs]: crate::pages\n",
            "[examples/13_state_actor.rs]: crate::pages\n",
            "[examples/14_step_process.rs]: crate::pages\n",
            "[examples/15_settings.rs]: crate::pages\n",
            "[examples/17_state_machine.rs]: crate::pages\n",
            "[examples/18_tasks.rs]: crate::pages\n",
            "[examples/19_topics.rs]: crate::pages\n",
            "[examples/20_groups.rs]: crate::pages\n",
            "[examples/21_application.rs]: crate::pages\n",
            "[examples/22_cron.rs]: crate::pages\n",
            "[examples/23_batches.rs]: crate::pages\n",
            "[examples/26_derived_calls.rs]: crate::pages\n",
            "[examples/cluster/16_cluster.rs]: crate::pages\n",
            "[examples/cluster/24_groups_over_nodes.rs]: crate::pages\n",
            "[examples/cluster/25_mixed_cluster.rs]: crate::pages\n",
            "[examples/recipes/src/http_application.rs]: crate::pages\n",
            "[examples/recipes/src/http_service.rs]: crate::pages\n",
            "[examples/recipes/src/persistence.rs]: crate::pages\n",
            "[examples/recipes/src/stopping.rs]: crate::pages\n",
            "[examples/recipes/src/what_survives.rs]: crate::pages\n",
            "\n",
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $path))
        )
    };
}

#[doc = page!("docs/architecture.md")]
pub mod architecture {}

#[doc = page!("docs/at_night.md")]
pub mod at_night {}

#[allow(rustdoc::broken_intra_doc_links, reason = "versions stand in brackets")]
#[doc = page!("CHANGELOG.md")]
pub mod changelog {}

#[doc = page!("docs/cluster_operation.md")]
pub mod cluster_operation {}

#[doc = page!("docs/comparison.md")]
pub mod comparison {}

#[doc = page!("docs/semantics.md")]
pub mod contract {}

#[doc = page!("CONTRIBUTING.md")]
pub mod contributing {}

#[doc = page!("docs/decisions.md")]
pub mod decisions {}

#[doc = page!("docs/deployment.md")]
pub mod deployment {}

#[doc = page!("docs/observer.md")]
pub mod observer_page {}

#[doc = page!("docs/performance.md")]
pub mod performance {}

#[doc = page!("docs/stability.md")]
pub mod stability {}

#[doc = page!("docs/dependencies.md")]
pub mod dependencies {}

#[doc = page!("docs/tour_further.md")]
pub mod tour_further {}

#[doc = page!("docs/verification.md")]
pub mod verification {}
