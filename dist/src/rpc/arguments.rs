//! What `erpc` passes to the process that runs a function.

use crate::functions::outcome::ending;
use crate::requests::sending::RequestedFunction;
use krarup_wire::etf::{Atom, Term};

/// `erpc:execute_call(Mark, Module, Function, Arguments)`.
pub(crate) fn execution(mark: &Term, called: RequestedFunction) -> RequestedFunction {
    let RequestedFunction { module, function, arguments, .. } = called;
    RequestedFunction {
        module: Atom::fixed("erpc"),
        function: Atom::fixed("execute_call"),
        arity: 4,
        arguments: call_arguments([mark.clone(), module.into(), function.into()], arguments),
    }
}

/// `[Mark, Module, Function, FunctionArguments]`, whose last element is written already.
fn call_arguments(first: [Term; 3], arguments: Vec<u8>) -> Vec<u8> {
    // A list of four elements and `[]`, in place of a tuple of four.
    const LIST: u8 = 108;
    const NIL: u8 = 106;
    let mut tuple = ending(first, arguments);
    // 104, 4: a small tuple.
    tuple.splice(..2, [LIST, 0, 0, 0, 4]);
    tuple.push(NIL);
    tuple
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_wire::etf::Decoder;

    #[test]
    fn zcall10_the_arguments_of_a_call_are_a_list_of_four() {
        let mut written = Vec::new();
        Term::list([Term::Int(1), Term::Int(2)]).write(&mut written).unwrap();
        let bytes = call_arguments([Term::Int(9), Term::atom("m"), Term::atom("f")], written);
        assert_eq!(Decoder::new(&bytes).last_term().unwrap().to_string(), "[9,m,f,[1,2]]");
    }
}
