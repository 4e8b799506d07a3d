//! A message whose type is known only at run time.

use std::any::{Any, type_name};
use std::fmt;

/// A message of any type, as sent by pid. An actor whose `Message` is `Dynamic` accepts every
/// message.
pub struct Dynamic {
    value: Box<dyn Any + Send>,
    type_name: &'static str,
}

impl Dynamic {
    /// Wraps a value.
    pub fn new<T: Send + 'static>(value: T) -> Self {
        let value: Box<dyn Any + Send> = Box::new(value);
        // A value that was received as a `Dynamic` is not wrapped again.
        value
            .downcast()
            .map_or_else(|value| Dynamic { value, type_name: type_name::<T>() }, |dynamic| *dynamic)
    }

    /// Returns the value as a `T`.
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

    /// Returns the value, to be changed in transit; its type stays the same.
    pub(crate) fn value_mut(&mut self) -> &mut dyn Any {
        &mut *self.value
    }

    /// Returns the name of the value's type.
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
