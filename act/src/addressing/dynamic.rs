//! A message whose type is known only at run time.

use krarup_gen::RecordedItem;
use std::any::{Any, type_name};
use std::fmt;
use std::marker::PhantomData;

/// A message of any type, as sent by pid. An actor whose `Message` is `Dynamic` accepts every
/// message.
pub struct Dynamic {
    value: Box<dyn Any + Send>,
    facts: &'static DynamicFacts,
}

/// What is known of the type of a value.
struct DynamicFacts {
    type_name: fn() -> &'static str,
    /// Formats the value, if it is shown. It is user code.
    text: Option<fn(&dyn Any) -> String>,
}

struct FactsOfValue<T>(PhantomData<T>);

impl<T: 'static> FactsOfValue<T> {
    const PRIVATE: DynamicFacts = DynamicFacts { type_name: type_name::<T>, text: None };
}

impl<T: fmt::Debug + 'static> FactsOfValue<T> {
    const SHOWN: DynamicFacts = DynamicFacts { type_name: type_name::<T>, text: Some(Self::text) };

    fn text(value: &dyn Any) -> String {
        value.downcast_ref::<T>().map(|value| RecordedItem::text_of(value)).unwrap_or_default()
    }
}

impl Dynamic {
    /// Wraps a value.
    pub fn new<T: Send + 'static>(value: T) -> Self {
        Self::wrap(value, &FactsOfValue::<T>::PRIVATE)
    }

    /// Wraps a value that may be shown as text, by its `Debug`: the consent to show the state of
    /// an actor ([`Actor::state`](crate::Actor::state); rule V50).
    pub fn shown<T: fmt::Debug + Send + 'static>(value: T) -> Self {
        Self::wrap(value, &FactsOfValue::<T>::SHOWN)
    }

    fn wrap<T: Send + 'static>(value: T, facts: &'static DynamicFacts) -> Self {
        let value: Box<dyn Any + Send> = Box::new(value);
        // A value that was received as a `Dynamic` is not wrapped again.
        value.downcast().map_or_else(|value| Dynamic { value, facts }, |dynamic| *dynamic)
    }

    /// Returns the value as a `T`.
    ///
    /// # Errors
    /// `self`, if the value is of another type.
    pub fn downcast<T: 'static>(self) -> Result<T, Dynamic> {
        let facts = self.facts;
        let value = self.value.downcast::<T>();
        value.map(|value| *value).map_err(|value| Dynamic { value, facts })
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
        (self.facts.type_name)()
    }

    /// Returns the value as text, if it was made with [`Dynamic::shown`]; cut at 4096 bytes.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.facts.text.map(|text| text(&*self.value))
    }
}

impl fmt::Debug for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dynamic({})", self.type_name())
    }
}
