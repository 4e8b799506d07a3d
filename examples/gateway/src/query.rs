//! Values from a query.

use crate::answer::Failure;
use axum::extract::Query;
use axum::http::Uri;
use std::ops::RangeInclusive;

/// Returns the one number that a route takes, or `default` if it is not given. Anything
/// else in the query is an error: a misspelt parameter must not look as if it worked.
pub(crate) fn number(
    uri: &Uri,
    name: &str,
    range: RangeInclusive<u64>,
    default: u64,
) -> Result<u64, Failure> {
    let pairs: Query<Vec<(String, String)>> = Query::try_from_uri(uri)
        .map_err(|error| Failure::Query(format!("the query cannot be read: {error}")))?;
    let mut given = None;
    for (parameter, value) in &pairs.0 {
        if parameter != name {
            let path = uri.path();
            return Err(Failure::Query(format!("{path} takes {name}, not {parameter:?}")));
        }
        if given.replace(value).is_some() {
            return Err(Failure::Query(format!("{name} is given twice")));
        }
    }
    let Some(value) = given else { return Ok(default) };
    value.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let (from, to) = (range.start(), range.end());
        Failure::Query(format!("{name}={value:?} is not a whole number from {from} to {to}"))
    })
}
