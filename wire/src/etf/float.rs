//! Floats.

/// A float that is finite. Erlang has no NaN and no infinities (rule Zterm7).
#[derive(Clone, Copy, Debug)]
pub struct Float(f64);

impl Float {
    /// Creates a float, if the value is finite.
    #[must_use]
    pub fn new(float: f64) -> Option<Self> {
        float.is_finite().then_some(Float(float))
    }

    /// Returns the value.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}
