#!/usr/bin/env bash
# Loads the HTTP servers of bench-peers with wrk. The sides of a workload take turns in each round, each as
# a server process of its own. Prints medians of all rounds; the ratio is above 1 where Krarup is better.
#
#     bench/peers/wrk.sh [--rounds N] [--seconds N] [--threads N] [--connections N] [WORKLOAD]...
#
# Without workloads: all that are HTTP. Needs wrk; as root on Debian it installs it. PEERS_BINARY is the
# program, if it has been built elsewhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
rounds=3 seconds=5 threads=1 connections=64
workloads=()
while [[ $# -gt 0 ]]; do
    case "$1" in
    --rounds | --seconds | --threads | --connections)
        [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || { echo "wrk.sh: $1 is a number, at least 1" >&2; exit 1; }
        printf -v "${1#--}" %d "$2"
        shift
        ;;
    -*) echo "wrk.sh: no option $1" >&2; exit 1 ;;
    *) workloads+=("$1") ;;
    esac
    shift
done
[[ ${#workloads[@]} -gt 0 ]] || workloads=(counter counter-workers counter-task counter-limits limited limited-buffer words)

command -v wrk >/dev/null || apt-get install -qq -y wrk >/dev/null 2>&1 || true
command -v wrk >/dev/null || { echo 'wrk.sh: wrk is not here, and cannot be installed' >&2; exit 3; }
program="${PEERS_BINARY:-${CARGO_TARGET_DIR:-target}/release/bench-peers}"
[[ -n "${PEERS_BINARY:-}" ]] || cargo build --quiet --release
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
# The text of `words`, as the client of bench-peers sends it.
cat >"$folder/words.lua" <<'LUA'
wrk.method = "POST"
wrk.body = string.rep("Call me Ishmael. Some years ago - never mind how long precisely - having little or " ..
    "no money in my purse, and nothing particular to interest me on shore ", 130)
LUA

# Starts the server of a side, loads it, and appends its figures to a file: requests a second, the 50th and
# 99th percentile in microseconds, answers other than 2xx and 3xx.
load() {
    local workload="$1" side="$2" address server input path script=()
    coproc SERVER { exec "$program" serve "$workload" "$side"; }
    server="$SERVER_PID" input="${SERVER[1]}"
    read -r address <&"${SERVER[0]}"
    path="${workload%%-*}"
    [[ "$workload" != words ]] || script=(--script "$folder/words.lua")
    wrk --threads "$threads" --connections "$connections" --duration "${seconds}s" --latency "${script[@]}" \
        "http://$address/$path" >"$folder/report"
    # It ends with its input.
    exec {input}>&-
    wait "$server"
    if grep 'Socket errors' "$folder/report" >&2; then
        echo "wrk.sh: the $side side of $workload has failed requests" >&2
    fi
    awk '
        function us(time) { return time * (time ~ /us$/ ? 1 : time ~ /ms$/ ? 1e3 : time ~ /m$/ ? 6e7 : 1e6) }
        $1 == "50%" { p50 = us($2) }
        $1 == "99%" { p99 = us($2) }
        /Non-2xx/ { others = $NF }
        /Requests\/sec/ { rate = $2 }
        END { if (rate + 0 == 0) exit 1; printf "%f %f %f %d\n", rate, p50, p99, others }
    ' "$folder/report" >>"$folder/$workload.$side"
}

# The median of a column.
median() {
    cut -d ' ' -f "$2" "$folder/$1" | sort -g | awk '{ at[NR] = $1 } END { print at[int(NR / 2) + 1] }'
}

printf '%d rounds of %d s, wrk with %d threads and %d connections, load of the machine before %s\n\n' \
    "$rounds" "$seconds" "$threads" "$connections" "$(cut -d ' ' -f 1 /proc/loadavg)"
printf '| workload | figure | krarup | peer | ratio |\n|---|---|--:|--:|--:|\n'
figures=(requests/s 'p50 us' 'p99 us' non-2xx)
for workload in "${workloads[@]}"; do
    for _ in $(seq "$rounds"); do
        load "$workload" krarup
        load "$workload" peer
    done
    for place in 0 1 2 3; do
        awk -v workload="$workload" -v figure="${figures[place]}" -v more_is_better="$((place == 0))" \
            -v krarup="$(median "$workload.krarup" "$((place + 1))")" \
            -v peer="$(median "$workload.peer" "$((place + 1))")" 'BEGIN {
                above = more_is_better ? krarup : peer
                below = more_is_better ? peer : krarup
                ratio = figure == "non-2xx" || below == 0 ? "-" : sprintf("%.2f", above / below)
                printf "| `%s` | %s | %.0f | %.0f | %s |\n", workload, figure, krarup, peer, ratio
            }'
    done
done
