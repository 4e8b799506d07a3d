#!/usr/bin/env bash
# What one more actor costs a build: processor time and bytes of a program with 51 actors, each with a type of
# messages of its own that is spawned, sent to and called, less the program with one, divided by 50.
#
#     bench/build_cost.sh [--release] [PROJECT ..]      krarup ractor kameo actix tokio, by default all
#
# The others are those of bench/frameworks, in the versions there. Debug builds have line tables and are not
# incremental. Builds what the programs depend on first. The figure is the least of three builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root="$PWD"
kind=debug
options=()
if [[ "${1:-}" == --release ]]; then
    kind=release
    options=(--release)
    shift
fi
projects=("$@")
[[ $# -gt 0 ]] || projects=(krarup ractor kameo actix tokio)
for project in "${projects[@]}"; do
    [[ " krarup ractor kameo actix tokio " == *" $project "* ]] || { echo "no such project: $project" >&2; exit 2; }
done
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}/build_cost"
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=line-tables-only
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

# The program with so many actors.
program() {
    local project="$1" count="$2" number
    case "$project" in
    krarup) echo 'use krarup::prelude::*;' ;;
    ractor) echo 'use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};' ;;
    kameo) echo 'use kameo::prelude::*;' ;;
    actix) echo 'use actix::prelude::*;' ;;
    tokio) echo 'use tokio::sync::{mpsc, oneshot};' ;;
    esac
    for ((number = 0; number < count; number++)); do
        actor "$project" | sed "s/@/$number/g"
    done
    case "$project" in
    krarup)
        echo 'fn main() { let node = Node::start("cost@localhost").unwrap(); let mut all = 0;'
        for ((number = 0; number < count; number++)); do echo "all += run$number(&node);"; done
        echo 'node.stop().wait().unwrap(); println!("{all}"); }'
        ;;
    *)
        [[ "$project" == actix ]] && echo '#[actix::main]' || echo '#[tokio::main]'
        echo 'async fn main() { let mut all = 0;'
        for ((number = 0; number < count; number++)); do echo "all += run$number().await;"; done
        echo 'println!("{all}"); }'
        ;;
    esac
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

# Prints the processor time of the least of three builds in hundredths of a second, and the bytes of the program.
measure() {
    local project="$1" count="$2" least='' used
    program "$project" "$count" >"$folder/$project/src/main.rs"
    cargo build "${options[@]}" --quiet --manifest-path "$folder/$project/Cargo.toml"
    for _ in 1 2 3; do
        touch "$folder/$project/src/main.rs"
        used="$( { TIMEFORMAT='%U %S'; time cargo build "${options[@]}" --quiet --manifest-path "$folder/$project/Cargo.toml"; } 2>&1 |
            awk 'END { printf "%d", ($1 + $2) * 100 }')"
        if [[ -z "$least" || "$used" -lt "$least" ]]; then least="$used"; fi
    done
    [[ "$("$CARGO_TARGET_DIR/$kind/cost-$project")" == $((count * (count - 1) / 2)) ]] || { echo "$project is wrong" >&2; exit 1; }
    echo "$least" "$(stat -c %s "$CARGO_TARGET_DIR/$kind/cost-$project")"
}

printf '| one more actor, %s build | processor time | bytes of the program |\n|---|--:|--:|\n' "$kind"
for project in "${projects[@]}"; do
    mkdir -p "$folder/$project/src"
    manifest "$project" >"$folder/$project/Cargo.toml"
    read -r one_time one_bytes < <(measure "$project" 1)
    read -r many_time many_bytes < <(measure "$project" 51)
    awk -v name="$project" -v time="$((many_time - one_time))" -v bytes="$((many_bytes - one_bytes))" \
        'BEGIN { printf "| %s | %.2f s | %d kB |\n", name, time / 5000, bytes / 50000 }'
done
