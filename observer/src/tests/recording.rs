//! Flight recorders, traces and states.

use super::client::{get, observed, post, until};
use super::streaming::EventReader;
use actors::{Open, Private, Word};
use krarup_act::{Actor, Address, Context, Dynamic};
use krarup_gen::{Pid, Reason, Result};
use krarup_node::Node;
use serde_json::Value;

/// The actors of these tests.
mod actors {
    use super::{Actor, Context, Dynamic, Reason, Result};

    pub(super) type Word = &'static str;

    /// An actor that shows its messages and its state.
    #[derive(Clone, Debug, Default)]
    pub(super) struct Open {
        words: Vec<Word>,
    }

    impl Actor for Open {
        type Message = Word;

        async fn handle_message(&mut self, _: &mut Context<Word>, word: Word) -> Result {
            self.words.push(word);
            if word == "fail" { Err(Reason::error("told to fail")) } else { Ok(()) }
        }

        fn show_message(word: &Word) -> Option<String> {
            Some((*word).to_owned())
        }

        fn state(&self) -> Option<Dynamic> {
            Some(Dynamic::shown(self.clone()))
        }
    }

    /// One that shows nothing.
    pub(super) struct Private(pub(super) Open);

    impl Actor for Private {
        type Message = Word;

        async fn handle_message(&mut self, ctx: &mut Context<Word>, word: Word) -> Result {
            self.0.handle_message(ctx, word).await
        }

        fn state(&self) -> Option<Dynamic> {
            Some(Dynamic::new(self.0.clone()))
        }
    }
}

fn open(node: &Node) -> Address<Word> {
    node.spawn(Open::default).wait().unwrap()
}

fn route(pid: Pid, rest: &str) -> String {
    format!("/api/v1/processes/{}{rest}", pid.id())
}

/// The texts of items.
fn texts(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap_or("-")).collect()
}

#[test]
fn v16_a_recorder_is_turned_on_and_its_items_stand_in_the_crash() {
    let (node, observer) = observed(|it| it);
    let (address, open) = (observer.address(), open(&node));
    let detail = || get(address, &route(open.pid(), "")).json();
    assert_eq!((&detail()["recorded"], texts(&detail()["recorded_items"]).len()), (&0.into(), 0));
    let done = post(address, &route(open.pid(), "/record"), "{\"items\":2}");
    assert_eq!(
        done.body,
        format!("{{\"done\":true,\"action\":\"record\",\"pid\":\"{}\"}}", open.pid())
    );
    for word in ["one", "two", "three"] {
        open.send(word).unwrap();
    }
    node.inspect(open.pid()).wait().unwrap();
    // The inspection overtakes the messages, or not.
    let seen = until(address, &route(open.pid(), ""), |it| {
        texts(&it.json()["recorded_items"]).contains(&"three")
    });
    let (seen, order) = (seen.json(), std::any::type_name::<Word>());
    assert_eq!(seen["recorded"], 2);
    let last = &seen["recorded_items"].as_array().unwrap().iter().find(|it| it["text"] == "three");
    let last = last.unwrap();
    assert_eq!((&last["lane"], &last["kind"]), (&"main".into(), &"message".into()));
    assert_eq!((&last["type"], &last["sender"]), (&order.into(), &Value::Null));
    assert!(last["seq"].is_u64() && last["at_ms"].is_f64(), "{last}");
    open.send("four").unwrap();
    open.send("fail").unwrap();
    node.watch(open.pid()).wait().unwrap();
    let crash = get(address, "/api/v1/crashes/1").json();
    assert_eq!(texts(&crash["recorded"]), ["four", "fail"], "{crash}");
    assert_eq!(crash["in_hand"]["text"], "fail");
    let recipe = crash["recipe"].as_str().unwrap();
    assert!(recipe.find("from outside: four") < recipe.find("from outside: fail"), "{recipe}");
    for bad in ["{\"items\":257}", "{}", "{\"items\":-1}"] {
        assert_eq!(post(address, &route(open.pid(), "/record"), bad).code(), "bad_body", "{bad}");
    }
    assert_eq!(post(address, &route(open.pid(), "/record"), "{\"items\":1}").code(), "no_process");
    node.stop().wait().unwrap();
}

#[test]
fn v21_a_trace_is_read_by_its_number_and_ends_by_itself() {
    let (node, observer) = observed(|it| it);
    let (address, open) = (observer.address(), open(&node));
    let started = post(address, &route(open.pid(), "/trace"), "{\"items\":3,\"seconds\":60}");
    assert_eq!((started.status, &started.json()["trace"]), (202, &1.into()));
    assert_eq!(get(address, &route(open.pid(), "")).json()["traced"], true);
    let running = get(address, "/api/v1/traces/1").json();
    assert_eq!((&running["state"], &running["end"]), (&"running".into(), &Value::Null));
    assert_eq!((&running["trace"], &running["next_seq"]), (&1.into(), &1.into()));
    let mut events = EventReader::open(address, "topics=trace:1,node&period_ms=200");
    assert_eq!(events.named("trace:1"), running);
    for word in ["one", "two", "three", "four"] {
        open.send(word).unwrap();
    }
    let ended = |reply: &super::client::HttpReply| reply.json()["state"] == "ended";
    let trace = until(address, "/api/v1/traces/1", ended).json();
    assert_eq!((&trace["end"], &trace["lost"]), (&"items".into(), &0.into()));
    assert_eq!(texts(&trace["items"]), ["one", "two", "three"]);
    assert_eq!(texts(&get(address, "/api/v1/traces/1?after=2").json()["items"]), ["three"]);
    assert_eq!(get(address, &route(open.pid(), "")).json()["traced"], false);
    let mut told = Vec::new();
    let mut event = Value::Null;
    while event["end"].is_null() {
        event = events.named("trace:1");
        told.extend(event["items"].as_array().unwrap().iter().map(|it| it["seq"].clone()));
    }
    assert_eq!(told, [1, 2, 3]);
    // Its end is told once.
    let mut nodes = 0;
    while nodes < 2 {
        let (name, ..) = events.next();
        assert_ne!(name, "trace:1");
        nodes += u32::from(name == "node");
    }
    assert_eq!(get(address, "/api/v1/traces/2").code(), "no_entry");
    assert_eq!(get(address, "/api/v1/traces/0").code(), "no_entry");
    assert_eq!(get(address, "/api/v1/traces/1?after=x").code(), "bad_parameter");
    assert_eq!(get(address, "/api/v1/stream?topics=trace:2").code(), "no_entry");
    assert_eq!(get(address, "/api/v1/stream?topics=trace:x").code(), "bad_parameter");
    node.stop().wait().unwrap();
}

#[test]
fn v21_untrace_and_the_end_of_the_process_end_a_trace_and_eight_run_at_most() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    let processes: Vec<_> = (0..9).map(|_| open(&node)).collect();
    let trace = |place: usize| {
        post(address, &route(processes[place].pid(), "/trace"), "{\"items\":1000,\"seconds\":60}")
    };
    for place in 0..8 {
        assert_eq!(trace(place).json()["trace"], place + 1);
    }
    let refused = trace(8);
    assert_eq!((refused.status, refused.code().as_str()), (503, "too_many_traces"));
    let end = |number: u64| get(address, &format!("/api/v1/traces/{number}")).json()["end"].clone();
    assert_eq!(post(address, &route(processes[1].pid(), "/untrace"), "{}").status, 200);
    assert_eq!(end(2), "untraced");
    node.kill(processes[2].pid());
    node.watch(processes[2].pid()).wait().unwrap();
    assert_eq!(end(3), "ended");
    // The oldest that has ended makes room.
    assert_eq!(trace(8).json()["trace"], 9);
    assert_eq!(get(address, "/api/v1/traces/2").code(), "no_entry");
    assert_eq!((end(1), end(3)), (Value::Null, "ended".into()));
    // Another trace of the same process replaces the first.
    assert_eq!(trace(0).json()["trace"], 10);
    assert_eq!(end(1), "untraced");
    assert_eq!(trace(2).code(), "no_process");
    node.stop().wait().unwrap();
}

#[test]
fn v50_a_state_and_messages_are_text_only_if_the_actor_offers_it() {
    let (node, observer) = observed(|it| it);
    let (address, open) = (observer.address(), open(&node));
    let private = node.spawn(|| Private(Open::default())).record(8).wait().unwrap();
    open.send("hello").unwrap();
    let state = get(address, &route(open.pid(), "/state")).json();
    assert!(state["text"].as_str().unwrap().starts_with("Open { words: ["), "{state}");
    assert_eq!(state["type"], std::any::type_name::<Open>());
    let refused = get(address, &route(private.pid(), "/state"));
    assert_eq!((refused.status, refused.code().as_str()), (409, "not_offered"));
    let body = "{\"items\":9,\"seconds\":60}";
    assert_eq!(post(address, &route(private.pid(), "/trace"), body).status, 202);
    private.send("hidden-word").unwrap();
    private.send("fail").unwrap();
    node.watch(private.pid()).wait().unwrap();
    for place in ["/api/v1/traces/1", "/api/v1/crashes/1", "/api/v1/snapshot"] {
        let shown = get(address, place);
        assert_eq!(shown.status, 200);
        assert!(!shown.body.contains("hidden-word"), "{place}: {}", shown.body);
    }
    let crash = get(address, "/api/v1/crashes/1").json();
    assert!(texts(&crash["recorded"]).iter().all(|text| *text == "-"), "{crash}");
    assert_eq!(crash["in_hand"]["text"], Value::Null);
    assert_eq!(get(address, &route(private.pid(), "/state")).code(), "no_process");
    node.stop().wait().unwrap();
}
