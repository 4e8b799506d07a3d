#!/usr/bin/env bash
# Counts what a cargo feature costs that is built in and not used: the instructions of a message, a call
# and a process (bench/count.sh, one worker), as differences to a build without features. Needs valgrind
# and objdump.
#
#     bench/features.sh                    every feature of krarup
#     bench/features.sh serde observer     these; `observer,idle` also runs an observer at which nobody looks
#
# Each feature is a build of its own with the profile of a release, without debug information: that changes
# no instruction. FEATURES_RUNS is how often each is counted (3). The least counts: what is counted beside
# the work only adds to it.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."
runs="${FEATURES_RUNS:-3}"
workloads=('pingpong 20000 60000' 'call 10000 30000' 'spawn 10000 30000')
command -v valgrind >/dev/null || { echo 'features.sh: there is no valgrind here' >&2; exit 1; }

unset CARGO_PROFILE_RELEASE_LTO CARGO_PROFILE_RELEASE_CODEGEN_UNITS
export CARGO_PROFILE_RELEASE_DEBUG=false BENCH_WORKERS=1
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
export BENCH_BINARY="$folder/bench-krarup"

# The features that krarup's manifest names.
of_krarup() {
    awk '/^\[/ { inside = $0 == "[features]"; next }
        inside && /^[a-z]/ && $1 != "default" { print $1 }' Cargo.toml
    echo observer,idle
}

# Builds with these features, and prints the instructions of each workload in a line.
count() {
    local workload small large
    cargo build --quiet --release --package bench-krarup --bin bench-krarup --features "$1"
    cp "${CARGO_TARGET_DIR:-target}/release/bench-krarup" "$BENCH_BINARY"
    for workload in "${workloads[@]}"; do
        read -r workload small large <<<"$workload"
        for _ in $(seq "$runs"); do
            bench/count.sh "$workload" "$small" "$large"
        done | awk 'NR == 1 || $2 < least { least = $2 } END { printf "%d ", least }'
    done
}

if [[ $# -eq 0 ]]; then
    mapfile -t features < <(of_krarup)
    set -- "${features[@]}"
fi
# shellcheck disable=SC2016  # the code marks of a table
printf '| feature |%s\n|---|%s\n' "$(printf ' `%s` |' "${workloads[@]%% *}")" \
    "$(printf -- '--:|%.0s' "${workloads[@]}")"
none="$(count '')"
printf '| none | %s |\n' "$(sed 's/ *$//; s/ / | /g' <<<"$none")"
for feature; do
    if [[ "$feature" == observer,idle ]]; then
        # `bench-krarup` starts one if it is built with its own feature.
        counted="$(BENCH_OBSERVER=1 count observer)"
    else
        counted="$(count "krarup/$feature")"
    fi
    paste -d ' ' <(tr ' ' '\n' <<<"$none") <(tr ' ' '\n' <<<"$counted") |
        awk -v feature="$feature" 'NF == 2 { line = line sprintf(" | %+d", $2 - $1) }
            END { printf "| `%s`%s |\n", feature, line }'
done
