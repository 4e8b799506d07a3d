#!/usr/bin/env bash
# Instructions and atomic read-modify-writes for each message of a workload: the difference of two
# runs of different sizes under callgrind, so that start and stop do not count. Needs valgrind and
# objdump.
#
#     bench/count.sh WORKLOAD SMALL LARGE [COUNT]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
binary="${BENCH_BINARY:-${CARGO_TARGET_DIR:-target}/release/bench-krarup}"
workload="$1" small="$2" large="$3"
shift 3
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

# Addresses of what locks the bus: the prefix, and an exchange with memory.
objdump -d --no-show-raw-insn "$binary" |
    awk '$2 == "lock" || ($2 == "xchg" && /\(/) { sub(":", "", $1); print $1 }' > "$folder/locked"

# Messages, instructions and locked instructions of one run.
measure() {
    valgrind --tool=callgrind --dump-instr=yes --dump-line=no --compress-pos=no \
        --callgrind-out-file="$folder/out" "$binary" "$workload" "$@" 2> "$folder/log" |
        awk '{ print $3 }' | head -n 1 > "$folder/messages"
    awk -v messages="$(cat "$folder/messages")" '
        NR == FNR { locked["0x" $1]; next }
        /^calls=/ { skip = 1; next }
        /^0x/ {
            if (skip) { skip = 0; next }
            all += $2
            if ($1 in locked) atomic += $2
        }
        END { printf "%d %d %d\n", messages, all, atomic }
    ' "$folder/locked" "$folder/out"
}

read -r few few_all few_atomic < <(measure "$small" "$@")
read -r many many_all many_atomic < <(measure "$large" "$@")
awk -v n=$((many - few)) -v all=$((many_all - few_all)) -v atomic=$((many_atomic - few_atomic)) \
    -v workload="$workload" \
    'BEGIN { printf "%s %.0f instructions %.2f atomic\n", workload, all / n, atomic / n }'
