#!/usr/bin/env bash
# Counts instructions, atomic read-modify-writes and allocations per message of a workload. The
# result is the difference of two sizes under callgrind, so start and stop do not count. Each size is
# run BENCH_RUNS times (1), and its least counts: now and then a start costs half a million more, and
# a difference of two single runs has that error in both directions. Needs valgrind and objdump.
#
#     bench/count.sh WORKLOAD SMALL LARGE [COUNT]
#
# With BENCH_WORKERS=1 one worker runs all: then threads do not meet, and counts are the same each time.
# With BENCH_OBSERVER=1 the node has an observer at which nobody looks (rule V59); the binary is
# built with the feature `observer` then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
binary="${BENCH_BINARY:-${CARGO_TARGET_DIR:-target}/release/bench-krarup}"
workload="$1" small="$2" large="$3"
shift 3
options=()
[[ -z "${BENCH_WORKERS:-}" ]] || options+=(--workers "$BENCH_WORKERS")
[[ -z "${BENCH_OBSERVER:-}" ]] || options+=(--idle-observer)
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

# The addresses of instructions that lock the bus: the lock prefix, and an exchange with memory.
objdump -d --no-show-raw-insn "$binary" |
    awk '$2 == "lock" || ($2 == "xchg" && /\(/) { sub(":", "", $1); print $1 }' > "$folder/locked"

# Prints the messages, instructions, locked instructions and allocations of the least of the runs.
measure() {
    for _ in $(seq "${BENCH_RUNS:-1}"); do run_once "$@"; done | sort -n -k 2 | head -n 1
}

run_once() {
    valgrind --tool=callgrind --dump-instr=yes --dump-line=no --compress-pos=no \
        --compress-strings=no \
        --callgrind-out-file="$folder/out" "$binary" "${options[@]}" "$workload" "$@" 2> "$folder/log" |
        awk '{ print $3 }' | head -n 1 > "$folder/messages"
    awk -v messages="$(cat "$folder/messages")" -v program="/${binary##*/}" '
        NR == FNR { locked["0x" $1]; next }
        # Libraries have addresses of their own, from 0 on too.
        /^ob=/ { is_program = substr($0, length($0) - length(program) + 1) == program }
        /^cfn=/ { callee = substr($0, 5) }
        /^calls=/ {
            if (callee ~ /^(malloc|calloc|realloc|posix_memalign)$/) allocated += substr($1, 7)
            skip = 1
            next
        }
        /^0x/ {
            if (skip) { skip = 0; next }
            all += $2
            if (is_program && $1 in locked) atomic += $2
        }
        END { printf "%d %d %d %d\n", messages, all, atomic, allocated }
    ' "$folder/locked" "$folder/out"
}

read -r few few_all few_atomic few_allocated < <(measure "$small" "$@")
read -r many many_all many_atomic many_allocated < <(measure "$large" "$@")
awk -v n=$((many - few)) -v all=$((many_all - few_all)) -v atomic=$((many_atomic - few_atomic)) \
    -v allocated=$((many_allocated - few_allocated)) -v workload="$workload" \
    'BEGIN {
        printf "%s %.0f instructions %.2f atomic %.2f allocations\n", \
            workload, all / n, atomic / n, allocated / n
    }'
