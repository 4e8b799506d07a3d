//! A message whose type is known only while the program runs.

use std::any::{Any, type_name};
use std::fmt;

/// A message of any type: what `send` by pid carries. An actor whose `Message` is
/// `Dynamic` takes anything.
pub struct Dynamic {
    value: Box<dyn Any + Send>,
    type_name: &'static str,
}

impl Dynamic {
    /// Wraps a value.
    pub fn new<T: Send + 'static>(value: T) -> Self {
        let value: Box<dyn Any + Send> = Box::new(value);
        // What is dynamic already, because it was received so, is not wrapped again.
        value
            .downcast()
            .map_or_else(|value| Dynamic { value, type_name: type_name::<T>() }, |dynamic| *dynamic)
    }

    /// The value as a `T`, or itself back.
    ///
    /// # Errors
    /// `self`, if the value is of another type.
    pub fn downcast<T: 'static>(self) -> Result<T, Dynamic> {
        let type_name = self.type_name;
        let value = self.value.downcast::<T>();
        value.map(|value| *value).map_err(|value| Dynamic { value, type_name })
    }

    /// Whether the value is a `T`.
    #[must_use]
    pub fn is<T: 'static>(&self) -> bool {
        self.value.is::<T>()
    }

    /// The value, to be changed on its way; it stays of its type.
    pub(crate) fn value_mut(&mut self) -> &mut dyn Any {
        &mut *self.value
    }

    /// What the value's type is called.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }
}

impl fmt::Debug for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dynamic({})", self.type_name)
    }
}
