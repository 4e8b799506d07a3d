//! The settings of the application.

use crate::application::kv;
use krarup::NodeBuilder;
use std::path::Path;

fn error_of(toml: &str) -> String {
    let started = NodeBuilder::from_toml(toml).expect("a file").application(kv()).start();
    started.expect_err("a mistake").to_string()
}

#[test]
fn the_file_of_this_example_is_valid_and_mistakes_in_one_are_named() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("kv.toml");
    let text = std::fs::read_to_string(file).expect("a file");
    // Its port may be taken on this machine.
    let text = text.replace("port = 4040", "port = 0");
    let node = NodeBuilder::from_toml(&text).expect("a file").application(kv()).start();
    assert_eq!(node.expect("a node").name(), "kv@localhost");

    let without = error_of(&text.replace("buckets = 1000", ""));
    assert!(without.contains("buckets"), "{without}");
    let unknown = error_of(&text.replace("buckets", "bukets"));
    assert!(unknown.contains("bukets"), "{unknown}");
    let wrong = error_of(&text.replace("port = 0", "port = 70000"));
    assert!(wrong.contains("port") && wrong.contains("70000"), "{wrong}");
}
