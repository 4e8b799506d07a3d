//! The messages of a protocol, as an enum declares them: what is read, before anything is written.
//!
//! ```text
//!   enum Counter { Add(u64), Total(Reply<u64>) }
//!     ──► Protocol { trait CounterCalls, messages: [add: sent, total: answered by u64] }
//! ```

use proc_macro2::{Span, TokenStream};
use std::collections::BTreeMap;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, GenericArgument, Ident, PathArguments,
    Result, Type, Variant, Visibility,
};

/// The methods of an address: a method of a trait by one of these names would never be called.
pub(crate) const TAKEN: &[&str] = &[
    "call",
    "call_high",
    "call_into",
    "call_max",
    "clone",
    "eq",
    "finish",
    "fmt",
    "forward",
    "hash",
    "info",
    "inspect",
    "inspect_items",
    "is_alive",
    "is_routed",
    "ne",
    "node_host",
    "notify",
    "of",
    "pid",
    "process",
    "recipient",
    "reserve",
    "reserve_or_wait",
    "reserve_quietly",
    "resume",
    "route_as",
    "send",
    "send_high",
    "send_max",
    "send_or_wait",
    "send_with",
    "state",
    "stop",
    "stop_trace",
    "suspend",
    "trace",
    "waiting",
    "watch",
    "when_handled",
];

/// The further methods of an address by name.
pub(crate) const TAKEN_BY_NAME: &[&str] = &["address", "lookup_or_wait", "name", "new"];

/// An enum of messages.
pub(crate) struct Protocol {
    pub(crate) name: Ident,
    pub(crate) visibility: Visibility,
    /// The name of the trait for addresses.
    pub(crate) calls: Ident,
    /// The name of the trait for addresses by name, if there is to be one.
    pub(crate) named: Option<Ident>,
    pub(crate) messages: Vec<Message>,
}

/// A variant with a method.
pub(crate) struct Message {
    pub(crate) variant: Ident,
    pub(crate) method: Ident,
    /// Its documentation, and the conditions under which it exists.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) shape: Shape,
    pub(crate) fields: Vec<MessageField>,
}

/// How a variant is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Unit,
    Tuple,
    Named,
}

/// A field of a variant.
pub(crate) struct MessageField {
    pub(crate) name: Ident,
    pub(crate) kind: FieldKind,
}

/// What a field is.
pub(crate) enum FieldKind {
    /// An argument of the method.
    Argument(Type),
    /// The token of a reply of this type.
    Answer(Type),
}

impl Protocol {
    pub(crate) fn read(input: TokenStream) -> Result<Self> {
        let input: DeriveInput = syn::parse2(input)?;
        let declared = match input.data {
            Data::Enum(declared) => declared,
            Data::Struct(it) => return Err(no_enum(it.struct_token.span())),
            Data::Union(it) => return Err(no_enum(it.union_token.span())),
        };
        if let Some(parameter) = input.generics.params.first() {
            let text = "a protocol has no type parameters and no lifetimes: a process takes messages of \
                        one type that may live for ever; derive it for an enum of the types that it is \
                        used with, or write `address.call(..)`";
            return Err(Error::new(parameter.span(), text));
        }
        let (mut calls, mut named) = (None, None);
        settings(&input.attrs, &mut |setting| match &*setting.name.to_string() {
            "calls" => setting.value("calls = CounterApi").map(|name| calls = Some(name)),
            "named" => setting.value("named = CounterByName").map(|name| named = Some(name)),
            _ => Err(setting.unknown("`calls = ..` and `named = ..` on an enum")),
        })?;
        let calls = calls.unwrap_or_else(|| {
            Ident::new(&format!("{}Calls", input.ident.unraw()), input.ident.span())
        });
        let messages = declared.variants.iter().filter_map(|it| Message::read(it).transpose());
        let messages = messages.collect::<Result<Vec<_>>>()?;
        let mut names: BTreeMap<String, &Ident> = BTreeMap::new();
        for message in &messages {
            if let Some(other) = names.insert(message.method.to_string(), &message.variant) {
                let text = format!("`{}` has the method `{}` already", other, message.method);
                return Err(Error::new(message.variant.span(), text));
            }
            let method = message.method.unraw().to_string();
            if named.is_some() && TAKEN_BY_NAME.contains(&&*method) {
                return Err(taken(&message.method, "an address by name"));
            }
        }
        Ok(Protocol { name: input.ident, visibility: input.vis, calls, named, messages })
    }
}

fn taken(method: &Ident, by: &str) -> Error {
    let text = format!(
        "{by} has the method `{method}` already, which would be called instead; name another one with \
         #[protocol(name = ..)], or leave it out with #[protocol(skip)]"
    );
    Error::new(method.span(), text)
}

fn no_enum(span: Span) -> Error {
    Error::new(span, "a protocol is an enum: each variant is a message")
}

impl Message {
    /// Reads a variant; `None` if it is to have no method.
    fn read(variant: &Variant) -> Result<Option<Self>> {
        let (mut is_skipped, mut name) = (false, None);
        settings(&variant.attrs, &mut |setting| match &*setting.name.to_string() {
            "skip" => setting.flag().map(|()| is_skipped = true),
            "name" => setting.value("name = halt").map(|it| name = Some(it)),
            _ => Err(setting.unknown("`skip` and `name = ..` on a variant")),
        })?;
        if is_skipped {
            return Ok(None);
        }
        let method = match name {
            Some(name) => name,
            None => method_name(&variant.ident)?,
        };
        if TAKEN.contains(&&*method.unraw().to_string()) {
            return Err(taken(&method, "an address"));
        }
        let shape = match &variant.fields {
            Fields::Unit => Shape::Unit,
            Fields::Unnamed(_) => Shape::Tuple,
            Fields::Named(_) => Shape::Named,
        };
        let arguments = variant.fields.iter().filter(|field| answer(&field.ty).is_none()).count();
        let mut fields = Vec::new();
        for field in &variant.fields {
            let place = fields.iter().filter(|it: &&MessageField| it.is_argument()).count();
            fields.push(MessageField::read(field, place, arguments));
        }
        let answers = variant.fields.iter().filter(|field| answer(&field.ty).is_some());
        if let Some(second) = answers.skip(1).last() {
            let text = "a request has one reply; answer with a tuple, or a type of your own";
            return Err(Error::new(second.ty.span(), text));
        }
        let kept = |it: &&Attribute| it.path().is_ident("doc") || it.path().is_ident("cfg");
        let attributes = variant.attrs.iter().filter(kept).cloned().collect();
        Ok(Some(Message { variant: variant.ident.clone(), method, attributes, shape, fields }))
    }

    /// The type of the answer, if it is a request.
    pub(crate) fn answer(&self) -> Option<&Type> {
        self.fields.iter().find_map(|field| match &field.kind {
            FieldKind::Answer(answer) => Some(answer),
            FieldKind::Argument(_) => None,
        })
    }
}

impl MessageField {
    /// Reads a field, which is this one of so many arguments, unless it is the reply.
    fn read(field: &Field, place: usize, arguments: usize) -> Self {
        let span = field.ty.span();
        let (plain, kind) = match answer(&field.ty) {
            Some(answer) => ("reply".to_owned(), FieldKind::Answer(answer.clone())),
            None if arguments == 1 => ("value".to_owned(), FieldKind::Argument(field.ty.clone())),
            None => (format!("value_{place}"), FieldKind::Argument(field.ty.clone())),
        };
        let name = field.ident.clone().unwrap_or_else(|| Ident::new(&plain, span));
        MessageField { name, kind }
    }

    pub(crate) fn is_argument(&self) -> bool {
        matches!(self.kind, FieldKind::Argument(_))
    }
}

/// The `T` of a `Reply<T>`, by whichever path.
fn answer(field: &Type) -> Option<&Type> {
    let Type::Path(path) = field else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Reply")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(answer)) if arguments.args.len() == 1 => Some(answer),
        _ => None,
    }
}

/// `IsWithin` as `is_within`, and `Type` as `r#type`.
fn method_name(variant: &Ident) -> Result<Ident> {
    let (mut name, mut before) = (String::new(), '_');
    let text = variant.unraw().to_string();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        // A word begins after a small letter, and with the last of several great ones: HTTPGet.
        let ends_acronym =
            before.is_uppercase() && letters.peek().is_some_and(|it| it.is_lowercase());
        if letter.is_uppercase() && before != '_' && (!before.is_uppercase() || ends_acronym) {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
        before = letter;
    }
    let spanned = |mut ident: Ident| {
        ident.set_span(variant.span());
        ident
    };
    if let Ok(ident) = syn::parse_str::<Ident>(&name) {
        return Ok(spanned(ident));
    }
    syn::parse_str::<Ident>(&format!("r#{name}")).map(spanned).map_err(|_| {
        let text =
            format!("no method can have the name `{name}`: choose one with #[protocol(name = ..)]");
        Error::new(variant.span(), text)
    })
}

/// One setting in `#[protocol(..)]`.
struct Setting<'a> {
    name: &'a Ident,
    meta: syn::meta::ParseNestedMeta<'a>,
}

impl Setting<'_> {
    /// Reads `= NAME`.
    fn value(&self, form: &str) -> Result<Ident> {
        let value = self.meta.value().and_then(|value| value.call(Ident::parse_any));
        value.map_err(|error| {
            Error::new(error.span(), format!("a name is expected: #[protocol({form})]"))
        })
    }

    fn flag(&self) -> Result<()> {
        if self.meta.input.peek(syn::Token![=]) {
            return Err(self.meta.error(format!("`{}` has no value", self.name)));
        }
        Ok(())
    }

    fn unknown(&self, known: &str) -> Error {
        let text = format!("`{}` is unknown here (known are {known})", self.name);
        Error::new(self.name.span(), text)
    }
}

fn settings(
    attributes: &[Attribute],
    read: &mut dyn FnMut(&Setting<'_>) -> Result<()>,
) -> Result<()> {
    for attribute in attributes.iter().filter(|it| it.path().is_ident("protocol")) {
        attribute.parse_nested_meta(|meta| {
            let path = meta.path.clone();
            let name = path.get_ident().ok_or_else(|| meta.error("a word is expected here"))?;
            read(&Setting { name, meta })
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;
    use std::path::Path;

    fn error(input: TokenStream) -> String {
        Protocol::read(input).map(|_| ()).unwrap_err().to_string()
    }

    fn methods(input: TokenStream) -> Vec<String> {
        let protocol = Protocol::read(input).unwrap();
        let method = |it: &Message| {
            let arguments = it.fields.iter().filter(|field| field.is_argument());
            let names: Vec<String> = arguments.map(|field| field.name.to_string()).collect();
            let answered = if it.answer().is_some() { "?" } else { "" };
            format!("{}({}){answered}", it.method, names.join(", "))
        };
        protocol.messages.iter().map(method).collect()
    }

    #[test]
    fn y6_each_variant_has_a_method_and_those_with_a_reply_are_calls() {
        let input = quote! {
            pub enum Counter {
                Add(u64),
                Put(String, Reply<Vec<u8>>, u32),
                IsWithin { least: u64, reply: krarup::Reply<bool>, most: u64 },
                Reset,
                HTTPGet(Reply<()>),
                V2Ready,
                Type,
                #[protocol(name = halt)]
                Stop,
                #[protocol(skip)]
                Pid(u32),
                /// The text of it.
                Text { reply: Reply<String> },
                NoReply(Answer),
            }
        };
        let expected = [
            "add(value)",
            "put(value_0, value_1)?",
            "is_within(least, most)?",
            "reset()",
            "http_get()?",
            "v2_ready()",
            "r#type()",
            "halt()",
            "text()?",
            "no_reply(value)",
        ];
        assert_eq!(methods(input.clone()), expected);
        let protocol = Protocol::read(input).unwrap();
        assert_eq!(protocol.calls, "CounterCalls");
        assert_eq!(protocol.messages[8].attributes.len(), 1);
        assert!(protocol.named.is_none());
        let renamed = quote! {
            #[protocol(calls = CounterApi, named = CounterByName)]
            enum Counter { Add }
        };
        let renamed = Protocol::read(renamed).unwrap();
        assert_eq!(renamed.calls, "CounterApi");
        assert_eq!(renamed.named.unwrap(), "CounterByName");
        // Only an address by name has this method.
        assert_eq!(methods(quote! { enum Person { Name(Reply<String>) } }), ["name()?"]);
    }

    #[test]
    fn y6_what_has_no_method_is_an_error_that_says_why() {
        for (input, says) in [
            (quote! { struct Add(u64); }, "a protocol is an enum"),
            (quote! { union Add { a: u8 } }, "a protocol is an enum"),
            (quote! { enum Store<T> { Put(T) } }, "no type parameters and no lifetimes"),
            (quote! { enum Store<'a> { Put(&'a str) } }, "no type parameters and no lifetimes"),
            (quote! { enum It { Two(Reply<u8>, Reply<u8>) } }, "a request has one reply"),
            (quote! { enum It { Add_One, AddOne } }, "`Add_One` has the method `add_one` already"),
            (quote! { enum It { Stop } }, "an address has the method `stop` already"),
            (quote! { enum It { #[protocol(name = pid)] Who } }, "the method `pid` already"),
            (
                quote! { #[protocol(named = ItByName)] enum It { Name } },
                "an address by name has the method `name` already",
            ),
            (quote! { #[protocol(named)] enum It { Add } }, "#[protocol(named = CounterByName)]"),
            (quote! { enum It { Super } }, "no method can have the name `super`"),
            (quote! { enum It { #[protocol(hide)] Add } }, "`hide` is unknown here"),
            (quote! { #[protocol(skip)] enum It { Add } }, "`skip` is unknown here"),
            (quote! { enum It { #[protocol(skip = yes)] Add } }, "`skip` has no value"),
            (
                quote! { enum It { #[protocol(name)] Add } },
                "a name is expected: #[protocol(name = halt)]",
            ),
        ] {
            let text = input.to_string();
            let error = error(input);
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    /// A method that an address gets later must not be hidden by a derived one, or hide it.
    #[test]
    fn y6_no_derived_method_has_the_name_of_a_method_of_an_address() {
        fn look(folder: &Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    look(&path, found);
                } else {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let mut is_address = false;
                    for line in text.lines() {
                        if line.starts_with("impl") {
                            let plain = [" Address<M, C>", " Address<M, M>", " NamedAddress<M, C>"];
                            is_address =
                                plain.iter().any(|it| line.trim_end_matches(" {").ends_with(it));
                            is_address &= !line.contains(" for ");
                        }
                        let method = line.strip_prefix("    pub fn ");
                        if let Some(method) = method.filter(|_| is_address) {
                            let name: String = method
                                .chars()
                                .take_while(|it| *it == '_' || it.is_alphanumeric())
                                .collect();
                            found.push(name);
                        }
                    }
                }
            }
        }
        let mut found = Vec::new();
        look(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../act/src"), &mut found);
        assert!(found.len() > 20, "{found:?}");
        let is_known = |it: &str| TAKEN.contains(&it) || TAKEN_BY_NAME.contains(&it);
        let missing: Vec<_> = found.iter().filter(|it| !is_known(it)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
