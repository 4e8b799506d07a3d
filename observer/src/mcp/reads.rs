//! What answers a path with its query.

use serde_json::Value;

/// The body of an answer, or that of an error.
pub(super) type ToolAnswer = Result<Value, Vec<u8>>;

/// What answers a path with its query, as `GET` of it is answered.
pub(super) trait Reads {
    fn get(&self, target: &str) -> impl Future<Output = ToolAnswer> + Send;
}
