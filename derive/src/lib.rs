//! `#[derive(Protocol)]`: a method for each message of a process.

#![forbid(unsafe_code)]

mod methods;
mod protocol;

use proc_macro::TokenStream;

/// The derive that programs use as `krarup::Protocol`; its page has the variants, the attributes and examples.
#[proc_macro_derive(Protocol, attributes(protocol))]
pub fn derive_protocol(input: TokenStream) -> TokenStream {
    let derived = protocol::Protocol::read(input.into()).map(|protocol| methods::write(&protocol));
    derived.unwrap_or_else(syn::Error::into_compile_error).into()
}
