//! A value whose type is known in two ways.

use std::any::Any;

/// Returns the value as a `B` if `A` is that type. The compiler knows which; nothing is looked up.
pub(crate) fn same_type<A: 'static, B: 'static>(value: A) -> Result<B, A> {
    let mut value = Some(value);
    let untyped: &mut dyn Any = &mut value;
    match untyped.downcast_mut::<Option<B>>().and_then(Option::take) {
        Some(same) => Ok(same),
        None => Err(value.expect("a value of another type was not taken")),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn m7_a_value_is_given_back_if_it_is_of_another_type() {
        assert_eq!(same_type::<String, String>("here".to_owned()), Ok("here".to_owned()));
        assert_eq!(same_type::<u32, String>(3), Err(3));
    }
}
