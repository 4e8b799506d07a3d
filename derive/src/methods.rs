//! The methods of a protocol, as code.

use crate::protocol::{FieldKind, Message, Protocol, Shape};
use proc_macro2::TokenStream;
use quote::quote;

/// Writes the trait, and its implementation for addresses.
pub(crate) fn write(protocol: &Protocol) -> TokenStream {
    let Protocol { name, visibility, calls, messages } = protocol;
    let title = format!("The messages of [`{name}`] as methods of the addresses that take them.");
    let declared = messages.iter().map(|message| {
        let (attributes, signature) = (&message.attributes, signature(protocol, message));
        let documentation = documentation(protocol, message);
        quote! { #documentation #(#attributes)* #signature; }
    });
    let defined = messages.iter().map(|message| {
        let conditions = message.attributes.iter().filter(|it| it.path().is_ident("cfg"));
        let (signature, body) = (signature(protocol, message), body(protocol, message));
        quote! { #(#conditions)* #signature { #body } }
    });
    quote! {
        #[doc = #title]
        // In the code of the user: a message may be large, have many parts, or be sent by nobody.
        #[allow(clippy::result_large_err, clippy::too_many_arguments, dead_code)]
        #visibility trait #calls<__Command: ::core::marker::Send + 'static> {
            #(#declared)*
        }

        #[automatically_derived]
        impl<__Command: ::core::marker::Send + 'static> #calls<__Command>
            for ::krarup::Address<#name, __Command>
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

fn signature(protocol: &Protocol, message: &Message) -> TokenStream {
    let (name, method) = (&protocol.name, &message.method);
    let arguments = message.fields.iter().filter_map(|field| match &field.kind {
        FieldKind::Argument(argument) => {
            let name = &field.name;
            Some(quote! { #name: #argument })
        }
        FieldKind::Answer(_) => None,
    });
    let returned = match message.answer() {
        Some(answer) => quote! {
            ::krarup::Call<
                '_, #name, __Command, #answer,
                impl ::core::ops::FnOnce(::krarup::Reply<#answer>) -> #name + ::core::marker::Send,
            >
        },
        None => quote! { ::core::result::Result<(), ::krarup::SendError<#name>> },
    };
    quote! { fn #method(&self #(, #arguments)*) -> #returned }
}

fn body(protocol: &Protocol, message: &Message) -> TokenStream {
    let (name, variant) = (&protocol.name, &message.variant);
    let fields = message.fields.iter().map(|field| &field.name);
    let made = match message.shape {
        Shape::Unit => quote! { #name::#variant },
        Shape::Tuple => quote! { #name::#variant(#(#fields),*) },
        Shape::Named => quote! { #name::#variant { #(#fields),* } },
    };
    let token = message.fields.iter().find(|field| matches!(field.kind, FieldKind::Answer(_)));
    match token {
        Some(token) => {
            let token = &token.name;
            quote! { ::krarup::Address::call(self, move |#token| #made) }
        }
        None => quote! { ::krarup::Address::send(self, #made) },
    }
}
