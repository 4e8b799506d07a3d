//! The methods of a protocol, as code.

use crate::protocol::{FieldKind, Message, MessageField, Protocol, Shape};
use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};

/// What gets the methods.
#[derive(Clone, Copy)]
enum Handle {
    /// An address. A call is made once.
    Address,
    /// An address by name. A call may be made again, so it clones its arguments.
    NamedAddress,
}

/// Writes the trait for addresses, and that for addresses by name if there is to be one.
pub(crate) fn write(protocol: &Protocol) -> TokenStream {
    let mut code = write_for(protocol, Handle::Address, &protocol.calls);
    if let Some(named) = &protocol.named {
        code.extend(write_for(protocol, Handle::NamedAddress, named));
    }
    code
}

/// Writes a trait, and its implementation.
fn write_for(protocol: &Protocol, handle: Handle, calls: &Ident) -> TokenStream {
    let Protocol { name, visibility, messages, .. } = protocol;
    let (title, implements) = match handle {
        Handle::Address => ("the addresses that take them", quote! { ::krarup::Address }),
        Handle::NamedAddress => {
            ("the addresses by name that take them", quote! { ::krarup::NamedAddress })
        }
    };
    let title = format!("The messages of [`{name}`] as methods of {title}.");
    let declared = messages.iter().map(|message| {
        let attributes = &message.attributes;
        let signature = signature(protocol, handle, &quote! { Self, __Command }, message);
        let documentation = documentation(protocol, message);
        quote! { #documentation #(#attributes)* #signature; }
    });
    let defined = messages.iter().map(|message| {
        let conditions = message.attributes.iter().filter(|it| it.path().is_ident("cfg"));
        let signature = signature(protocol, handle, &quote! { __Command }, message);
        let body = body(protocol, handle, message);
        quote! { #(#conditions)* #signature { #body } }
    });
    quote! {
        #[doc = #title]
        // In the code of the user: a message may be large, have many parts, or be sent by nobody. Of one that
        // is deprecated the callers of its method are told.
        #[allow(clippy::result_large_err, clippy::too_many_arguments, dead_code, deprecated)]
        #visibility trait #calls<__Command: ::core::marker::Send + 'static> {
            #(#declared)*
        }

        #[automatically_derived]
        #[allow(deprecated)]
        impl<__Command: ::core::marker::Send + 'static> #calls<__Command>
            for #implements<#name, __Command>
        {
            #(#defined)*
        }
    }
}

/// What a method does, if the variant does not say it.
fn documentation(protocol: &Protocol, message: &Message) -> TokenStream {
    if message.attributes.iter().any(|it| it.path().is_ident("doc")) {
        return TokenStream::new();
    }
    let verb = if message.answer().is_some() { "Calls with" } else { "Sends" };
    let text = format!("{verb} [`{0}::{1}`].", protocol.name, message.variant);
    quote! { #[doc = #text] }
}

/// The head of a method. `generics` are those in scope: a call by name has them, and borrows nothing.
fn signature(
    protocol: &Protocol,
    handle: Handle,
    generics: &TokenStream,
    message: &Message,
) -> TokenStream {
    let (name, method) = (&protocol.name, &message.method);
    let arguments = message.fields.iter().filter_map(|field| match &field.kind {
        FieldKind::Argument(argument) => {
            let name = &field.name;
            Some(quote! { #name: #argument })
        }
        FieldKind::Answer(_) => None,
    });
    let returned = match (message.answer(), handle) {
        (Some(answer), Handle::Address) => quote! {
            ::krarup::Call<
                '_, #name, __Command, #answer,
                impl ::core::ops::FnOnce(::krarup::Reply<#answer>) -> #name + ::core::marker::Send,
            >
        },
        (Some(answer), Handle::NamedAddress) => quote! {
            ::krarup::calls::NamedCall<
                #name, __Command, #answer,
                impl ::core::ops::FnMut(::krarup::Reply<#answer>) -> #name
                    + ::core::marker::Send + 'static + use<#generics>,
            >
        },
        (None, _) => quote! { ::core::result::Result<(), ::krarup::SendError<#name>> },
    };
    quote! { fn #method(&self #(, #arguments)*) -> #returned }
}

fn body(protocol: &Protocol, handle: Handle, message: &Message) -> TokenStream {
    let address = match handle {
        Handle::Address => quote! { ::krarup::Address },
        Handle::NamedAddress => quote! { ::krarup::NamedAddress },
    };
    match message.fields.iter().find(|field| !field.is_argument()) {
        Some(token) => {
            let made = match handle {
                Handle::Address => made(protocol, message, |_, name| quote! { #name }),
                // An error says that this field cannot be cloned.
                Handle::NamedAddress => made(protocol, message, |field, name| match field.kind {
                    FieldKind::Argument(_) => {
                        quote_spanned! { name.span() => ::core::clone::Clone::clone(&#name) }
                    }
                    FieldKind::Answer(_) => quote! { #name },
                }),
            };
            let token = &token.name;
            quote! { #address::call(self, move |#token| #made) }
        }
        None => {
            let made = made(protocol, message, |_, name| quote! { #name });
            quote! { #address::send(self, #made) }
        }
    }
}

/// The message, with what `value` writes for each field.
fn made(
    protocol: &Protocol,
    message: &Message,
    value: impl Fn(&MessageField, &Ident) -> TokenStream,
) -> TokenStream {
    let (name, variant) = (&protocol.name, &message.variant);
    let names = message.fields.iter().map(|field| &field.name);
    let values = message.fields.iter().map(|field| value(field, &field.name));
    match message.shape {
        Shape::Unit => quote! { #name::#variant },
        Shape::Tuple => quote! { #name::#variant(#(#values),*) },
        Shape::Named => quote! { #name::#variant { #(#names: #values),* } },
    }
}
