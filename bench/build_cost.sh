#!/usr/bin/env bash
# What one more actor costs a build: processor time and bytes of a program with 51 actors, each with a type of
# messages of its own that is spawned, sent to and called, less the program with one, divided by 50.
#
#     bench/build_cost.sh [--release | --edit] [PROJECT ..]      krarup ractor kameo actix tokio, by default all
#
# With --edit: what a build costs after the handler of one of 51 actors was edited, each in a file of its own. That build is
# as cargo makes it by default, incremental and with full debug information. The others are not incremental, and have
# line tables if they are for debugging.
#
# The other projects are those of bench/frameworks, in the versions there. Builds what the programs depend on first. The
# figure is the least of three builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root="$PWD"
kind=debug
options=()
if [[ "${1:-}" == --release ]]; then
    kind=release
    options=(--release)
    shift
elif [[ "${1:-}" == --edit ]]; then
    kind=edit
    shift
fi
projects=("$@")
[[ $# -gt 0 ]] || projects=(krarup ractor kameo actix tokio)
for project in "${projects[@]}"; do
    [[ " krarup ractor kameo actix tokio " == *" $project "* ]] || { echo "no such project: $project" >&2; exit 2; }
done
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}/build_cost"
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=line-tables-only
[[ "$kind" != edit ]] || export CARGO_INCREMENTAL=1 CARGO_PROFILE_DEV_DEBUG=2
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

# The version of a crate in the lock file of the others.
locked() {
    awk -v name="$1" '$1 == "name" { is = $3 == "\"" name "\"" } $1 == "version" && is { gsub("\"", "", $3); print $3; exit }' \
        "$root/bench/frameworks/Cargo.lock"
}

manifest() {
    printf '[package]\nname = "cost-%s"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n' "$1"
    case "$1" in
    krarup) printf 'krarup = { path = "%s" }\n' "$root" ;;
    ractor) printf 'ractor = { version = "=%s", default-features = false, features = ["tokio_runtime"] }\n' "$(locked ractor)" ;;
    kameo) printf 'kameo = "=%s"\n' "$(locked kameo)" ;;
    actix) printf 'actix = "=%s"\n' "$(locked actix)" ;;
    esac
    [[ "$1" == krarup ]] || printf 'tokio = { version = "=%s", features = ["full"] }\n' "$(locked tokio)"
}

# What a file with actors begins with.
imports() {
    case "$1" in
    krarup) echo 'use krarup::prelude::*;' ;;
    ractor) echo 'use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};' ;;
    kameo) echo 'use kameo::prelude::*;' ;;
    actix) echo 'use actix::prelude::*;' ;;
    tokio) echo 'use tokio::sync::{mpsc, oneshot};' ;;
    esac
}

# The main function of a program with so many actors, whose functions have this before their names.
main_of() {
    local project="$1" count="$2" before="$3" number
    case "$project" in
    krarup)
        echo 'fn main() { let node = Node::start("cost@localhost").unwrap(); let mut all = 0;'
        for ((number = 0; number < count; number++)); do echo "all += ${before//@/$number}run$number(&node);"; done
        echo 'node.stop().wait().unwrap(); println!("{all}"); }'
        ;;
    *)
        [[ "$project" == actix ]] && echo '#[actix::main]' || echo '#[tokio::main]'
        echo 'async fn main() { let mut all = 0;'
        for ((number = 0; number < count; number++)); do echo "all += ${before//@/$number}run$number().await;"; done
        echo 'println!("{all}"); }'
        ;;
    esac
}

# The program with so many actors, in one file.
program() {
    local project="$1" count="$2" number
    imports "$project"
    for ((number = 0; number < count; number++)); do
        actor "$project" | sed "s/@/$number/g"
    done
    main_of "$project" "$count" ''
}

# The program with so many actors, each in a file of its own in this folder.
program_in_files() {
    local project="$1" count="$2" place="$3" number
    for ((number = 0; number < count; number++)); do
        { imports "$project"; actor "$project" | sed "s/@/$number/g; s/^\(async \)*fn run/pub &/"; } >"$place/actor$number.rs"
    done
    {
        [[ "$project" != krarup ]] || imports "$project"
        for ((number = 0; number < count; number++)); do echo "mod actor$number;"; done
        main_of "$project" "$count" 'actor@::'
    } >"$place/main.rs"
}

actor() {
    case "$1" in
    krarup) cat <<'END' ;;
enum Message@ { Add(u64), Sum(Reply<u64>) }
#[derive(Default)]
struct Counter@ { sum: u64 }
impl Actor for Counter@ {
    type Message = Message@;
    async fn handle_message(&mut self, _: &mut Context<Message@>, message: Message@) -> Result {
        match message { Message@::Add(count) => self.sum += count, Message@::Sum(reply) => reply.send(self.sum) }
        Ok(())
    }
}
fn run@(node: &Node) -> u64 {
    let counter = node.spawn(Counter@::default).wait().unwrap();
    counter.send(Message@::Add(@)).unwrap();
    counter.call(Message@::Sum).wait().unwrap()
}
END
    ractor) cat <<'END' ;;
enum Message@ { Add(u64), Sum(RpcReplyPort<u64>) }
struct Counter@;
impl Actor for Counter@ {
    type Msg = Message@;
    type State = u64;
    type Arguments = ();
    async fn pre_start(&self, _: ActorRef<Message@>, _: ()) -> Result<u64, ActorProcessingErr> { Ok(0) }
    async fn handle(&self, _: ActorRef<Message@>, message: Message@, sum: &mut u64) -> Result<(), ActorProcessingErr> {
        match message { Message@::Add(count) => *sum += count, Message@::Sum(reply) => drop(reply.send(*sum)) }
        Ok(())
    }
}
async fn run@() -> u64 {
    let (counter, _) = Actor::spawn(None, Counter@, ()).await.unwrap();
    counter.cast(Message@::Add(@)).unwrap();
    call!(counter, Message@::Sum).unwrap()
}
END
    kameo) cat <<'END' ;;
struct Add@(u64);
struct Sum@;
#[derive(Actor, Default)]
struct Counter@ { sum: u64 }
impl Message<Add@> for Counter@ {
    type Reply = ();
    async fn handle(&mut self, message: Add@, _: &mut Context<Self, ()>) { self.sum += message.0; }
}
impl Message<Sum@> for Counter@ {
    type Reply = u64;
    async fn handle(&mut self, _: Sum@, _: &mut Context<Self, u64>) -> u64 { self.sum }
}
async fn run@() -> u64 {
    let counter = Counter@::spawn(Counter@::default());
    counter.tell(Add@(@)).await.unwrap();
    counter.ask(Sum@).await.unwrap()
}
END
    actix) cat <<'END' ;;
#[derive(Message)]
#[rtype(result = "()")]
struct Add@(u64);
#[derive(Message)]
#[rtype(result = "u64")]
struct Sum@;
#[derive(Default)]
struct Counter@ { sum: u64 }
impl Actor for Counter@ { type Context = Context<Self>; }
impl Handler<Add@> for Counter@ {
    type Result = ();
    fn handle(&mut self, message: Add@, _: &mut Context<Self>) { self.sum += message.0; }
}
impl Handler<Sum@> for Counter@ {
    type Result = u64;
    fn handle(&mut self, _: Sum@, _: &mut Context<Self>) -> u64 { self.sum }
}
async fn run@() -> u64 {
    let counter = Counter@::default().start();
    counter.do_send(Add@(@));
    counter.send(Sum@).await.unwrap()
}
END
    tokio) cat <<'END' ;;
enum Message@ { Add(u64), Sum(oneshot::Sender<u64>) }
async fn run@() -> u64 {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut sum = 0;
        while let Some(message) = receiver.recv().await {
            match message { Message@::Add(count) => sum += count, Message@::Sum(reply) => drop(reply.send(sum)) }
        }
    });
    drop(sender.send(Message@::Add(@)));
    let (reply, answer) = oneshot::channel();
    drop(sender.send(Message@::Sum(reply)));
    answer.await.unwrap()
}
END
    esac
}

# Builds, and prints the processor time that it took in hundredths of a second. What cargo says goes to standard error.
build() {
    { TIMEFORMAT='%U %S'; time cargo build "${options[@]}" --quiet --manifest-path "$folder/$1/Cargo.toml"; } 2>&1 |
        awk 'NR > 1 { print line > "/dev/stderr" } { line = $0 } END { printf "%d", ($1 + $2) * 100 }'
}

# Prints the processor time of the least of three builds after an edit in hundredths of a second.
measure_edits() {
    local project="$1" least='' used edit
    program_in_files "$project" 51 "$folder/$project/src"
    build "$project" >/dev/null
    for edit in 1 2 3; do
        sed -i "s/+= \(count\|message\.0\)[ +0-9]*/+= \1 + $edit/" "$folder/$project/src/actor25.rs"
        grep -q -- "+ $edit" "$folder/$project/src/actor25.rs" || { echo "the actor of $project is not edited" >&2; exit 1; }
        used="$(build "$project")"
        if [[ -z "$least" || "$used" -lt "$least" ]]; then least="$used"; fi
    done
    echo "$least"
}

# Prints the processor time of the least of three builds in hundredths of a second, and the bytes of the program.
measure() {
    local project="$1" count="$2" least='' used
    program "$project" "$count" >"$folder/$project/src/main.rs"
    build "$project" >/dev/null
    for _ in 1 2 3; do
        touch "$folder/$project/src/main.rs"
        used="$(build "$project")"
        if [[ -z "$least" || "$used" -lt "$least" ]]; then least="$used"; fi
    done
    [[ "$("$CARGO_TARGET_DIR/$kind/cost-$project")" == $((count * (count - 1) / 2)) ]] || { echo "$project is wrong" >&2; exit 1; }
    echo "$least" "$(stat -c %s "$CARGO_TARGET_DIR/$kind/cost-$project")"
}

if [[ "$kind" == edit ]]; then
    printf '| an edit of one of 51 actors, debug build | processor time |\n|---|--:|\n'
else
    printf '| one more actor, %s build | processor time | bytes of the program |\n|---|--:|--:|\n' "$kind"
fi
for project in "${projects[@]}"; do
    mkdir -p "$folder/$project/src"
    manifest "$project" >"$folder/$project/Cargo.toml"
    if [[ "$kind" == edit ]]; then
        after_edit="$(measure_edits "$project")"
        awk -v name="$project" -v time="$after_edit" 'BEGIN { printf "| %s | %.1f s |\n", name, time / 100 }'
        continue
    fi
    read -r one_time one_bytes < <(measure "$project" 1)
    read -r many_time many_bytes < <(measure "$project" 51)
    awk -v name="$project" -v time="$((many_time - one_time))" -v bytes="$((many_bytes - one_bytes))" \
        'BEGIN { printf "| %s | %.2f s | %d kB |\n", name, time / 5000, bytes / 50000 }'
done
