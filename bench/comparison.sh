#!/usr/bin/env bash
# Measures the same workloads on Krarup and on other frameworks, in one run, and prints the table of
# docs/comparison.md: medians of all rounds.
#
#     bench/comparison.sh build                builds the programs; the run needs no compiler then
#     bench/comparison.sh [-r ROUNDS] [-w "WORKLOAD .."] [--into FILE] [DIRECTORY ..]
#
# The programs are bench-krarup, those of bench/frameworks, and every `bench-*` of the directories that are
# named. Such a program takes WORKLOAD and SIZE, prints `workload framework messages seconds figure`, one line or
# more, and ends with 3 if it has no such workload. In a round every program runs a workload before the next
# workload begins, so that all see the same machine. Of a program that fails nothing is in the table; its
# output is shown. `--into` writes the table between the two marks of a page. The sizes are in
# bench/comparison.txt. Five rounds take half an hour on two cores, on which nothing else should run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
programs="$target/comparison/bin"

# Each program on its own: Cargo would unify the features of their dependencies.
build() {
    local package program features
    mkdir -p "$programs"
    cargo build --release --package bench-krarup --bin bench-krarup
    cp -f "$target/release/bench-krarup" "$programs/"
    while read -r package program features; do
        cargo build --locked --release --manifest-path bench/frameworks/Cargo.toml --target-dir "$target/comparison" \
            --package "bench-$package" --bin "bench-$program" --features "$features"
        cp -f "$target/comparison/release/bench-$program" "$programs/"
    done <<'END'
limit limit-vecdeque
limit limit-thread
tokio-raw tokio-raw
actix actix-1arb
actix actix-2arb
ractor ractor
kameo kameo
kameo kameo-pool pool
kompact kompact
xtra xtra
END
    if command -v erlc >/dev/null; then
        erlc -o "$programs" bench/frameworks/erlang/bench.erl
        # shellcheck disable=SC2016  # what the program expands itself
        printf '#!/bin/sh\nexec erl -noinput +S 2:2 +P 4000000 -pa "$(dirname "$0")" -s bench main -extra "$@"\n' \
            >"$programs/bench-erlang"
        chmod +x "$programs/bench-erlang"
    else
        echo "erlc is not here: Erlang is left out" >&2
    fi
}

rounds=5 workloads='' into=''
while [[ $# -gt 0 && ("$1" == -* || "$1" == build) ]]; do
    case "$1" in
    build) build && exit ;;
    -r) rounds="$2" ;;
    -w) workloads="$2" ;;
    --into) into="$2" ;;
    *) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}" >&2 && exit 2 ;;
    esac
    shift 2
done
if [[ ! -x "$programs/bench-krarup" ]]; then
    echo "bench/comparison.sh build has not been run" >&2
    exit 1
fi
[[ -n "$workloads" ]] || workloads="$(awk '!/^#/ && NF == 2 { print $1 }' bench/comparison.txt)"

# The size of a workload, or of a workload on one program.
size() {
    awk -v w="$1" -v p="$2" '$1 == w && NF == 2 { n = $2 } $1 == w && NF == 3 && $2 == p { own = $3 }
        END { print own ? own : n }' bench/comparison.txt
}

results="$target/comparison/results"
mkdir -p "$results"
: >"$results/raw.txt"
for ((round = 1; round <= rounds; round++)); do
    for workload in $workloads; do
        echo "round $round of $rounds: $workload" >&2
        for directory in "$programs" "$@"; do
            for program in "$directory"/bench-*; do
                [[ -x "$program" ]] || continue
                status=0
                timeout 150 "$program" "$workload" "$(size "$workload" "$(basename "$program")")" \
                    >"$results/line.txt" 2>"$results/error.txt" || status=$?
                if [[ $status -eq 0 ]]; then
                    cat "$results/line.txt" >>"$results/raw.txt"
                elif [[ $status -ne 3 ]]; then
                    echo "$program $workload has ended with $status" >&2
                    head -n 5 "$results/error.txt" >&2
                fi
            done
        done
    done
done

# Rows are workloads, columns frameworks; the last column is the best other framework to Krarup.
table() {
    local versions
    versions="$(rustc --version | cut -d' ' -f1,2)"
    if command -v erl >/dev/null; then
        versions+=", OTP $(erl -noshell -eval 'io:put_chars(erlang:system_info(otp_release)), halt().')"
    fi
    printf 'Medians of rounds: %d; %s; %s, %s cores; %s.\n\n' "$rounds" "$(date -u +%Y-%m-%d)" \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)" "$(getconf _NPROCESSORS_ONLN)" \
        "$versions"
    sed 's/ kameo-pool / kameo /' "$results/raw.txt" | sort -k1,1 -k2,2 -k5,5g | awk '
        { key = $1 " " $2; n[key]++; v[key, n[key]] = $5; seen[$1]; named[$2] }
        function median(k) { return n[k] % 2 ? v[k, (n[k] + 1) / 2] : (v[k, n[k] / 2] + v[k, n[k] / 2 + 1]) / 2 }
        function shown(x) { return x >= 1000 ? sprintf("%d", x) : x >= 10 ? sprintf("%.0f", x) : sprintf("%.1f", x) }
        END {
            wanted = "pingpong pairs fanin fanin-threads fanout ring big call call64 spawn pool pool-native " \
                "latency-p50 latency-p99 latency-p99.9 mem"
            rows = split(wanted, row, " ")
            known = split("krarup ractor kameo actix-1arb actix-2arb kompact xtra tokio-raw ergo erlang limit-vecdeque limit-thread", all, " ")
            for (i = 1; i <= known; i++) if (all[i] in named) { column[++columns] = all[i]; delete named[all[i]] }
            for (name in named) if (name !~ /^limit/) others = others " " name
            extra = split(others, more, " ")
            for (i = 1; i <= extra; i++) for (j = i + 1; j <= extra; j++)
                if (more[j] < more[i]) { swap = more[i]; more[i] = more[j]; more[j] = swap }
            for (i = 1; i <= extra; i++) column[++columns] = more[i]
            printf "| workload |"
            for (j = 1; j <= columns; j++) printf " %s |", column[j]
            printf " best other to krarup |\n|---|"
            for (j = 1; j <= columns + 1; j++) printf "--:|"
            print ""
            for (i = 1; i <= rows; i++) if (row[i] in seen) {
                best = 0
                printf "| `%s` |", row[i]
                for (j = 1; j <= columns; j++) {
                    k = row[i] " " column[j]
                    printf " %s |", (k in n) ? shown(median(k)) : "-"
                    if (k in n && column[j] != "krarup" && column[j] !~ /^limit/ && (!best || median(k) < best))
                        best = median(k)
                }
                own = row[i] " krarup"
                printf " %s |\n", (own in n && best) ? sprintf("%.2f", best / median(own)) : "-"
            }
        }'
}

table >"$results/table.md"
cat "$results/table.md"
if [[ -n "$into" ]]; then
    awk -v table="$results/table.md" '
        /^<!-- end of figures -->/ { inside = 0 }
        !inside { print }
        /^<!-- figures/ { inside = 1; while ((getline line < table) > 0) print line }' "$into" >"$results/page.md"
    cp "$results/page.md" "$into"
fi
