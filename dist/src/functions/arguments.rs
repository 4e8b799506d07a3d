//! The arguments of functions, as tuples.

/// The arguments of a function: a tuple of 0 to 8 values. Its size is the arity.
///
/// A function of one argument takes a tuple of one: `|(list,): (Vec<i64>,)|`.
pub trait FunctionArguments: sealed::Tuple {
    /// The number of arguments.
    const ARITY: u8;
}

mod sealed {
    pub trait Tuple {}
}

macro_rules! arguments {
    ($($arity:literal: ($($name:ident,)*);)*) => {$(
        impl<$($name),*> sealed::Tuple for ($($name,)*) {}

        impl<$($name),*> FunctionArguments for ($($name,)*) {
            const ARITY: u8 = $arity;
        }
    )*};
}

arguments! {
    0: ();
    1: (A,);
    2: (A, B,);
    3: (A, B, C,);
    4: (A, B, C, D,);
    5: (A, B, C, D, E,);
    6: (A, B, C, D, E, F,);
    7: (A, B, C, D, E, F, G,);
    8: (A, B, C, D, E, F, G, H,);
}
