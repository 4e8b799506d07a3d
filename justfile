# The steps of .ci/run by name; `just` lists them. CI does not need just.

[private]
default:
    @just --list

# All that CI runs, in its order
ci:
    .ci/run

# Formatting, lints and docs, warnings denied
check:
    .ci/run check

# The documentation in target/doc, in which the ids of rules are links
docs:
    RUSTDOCFLAGS="--html-in-header docs/rule_links.html" cargo doc --no-deps --workspace --all-features

# All tests, doc tests included
test:
    .ci/run test

# Every order in which threads can meet where something could be lost, under loom
models:
    .ci/run models

# Faults planted in a copy of the sources: each must be caught
faults *which:
    .ci/faults {{which}}

# The tour, the oracle's traces, and some seconds of the gateway and of the soak
examples:
    .ci/run examples

# The documents as a book in target/book, with each link looked at
book:
    .ci/run book

# Every benchmark once, small: that it works
bench:
    .ci/run bench

# Changed bytes for everything that reads from a peer, in seconds: just fuzz-wire 3600
fuzz-wire seconds="60":
    FUZZ_SECONDS={{seconds}} .ci/run fuzz

# Three simulated nodes of a cluster over many seeds: just cluster-seeds 10000
cluster-seeds seeds="1000":
    SIM_SEEDS={{seeds}} cargo test --release --package krarup-dist --test simulated cluster::

# What a release needs: packages, documentation, the oldest Rust, other systems, dependencies
release:
    .ci/run release

# The tools that a release looks at dependencies and interfaces with; the step names what is not here
release-tools:
    cargo install --locked cargo-deny cargo-semver-checks

# Undefined behaviour and leaks, where miri is installed
miri:
    .ci/run miri

# Data races, where there is a thread sanitizer
tsan:
    .ci/run tsan

# A storm on a tree, and an account of everything: just soak 60
soak minutes:
    cargo run --release --package soak -- --minutes {{minutes}}

# Uses a node of OTP that is killed and started again: just soak-cluster 3600
soak-cluster seconds:
    cargo run --release --package cluster-examples --bin cluster_soak -- --seconds {{seconds}}

# One workload at full size, in nanoseconds per message: just measure pingpong
measure workload *sizes:
    cargo run --release --package bench-krarup -- {{workload}} {{sizes}}
