//! The messages of a protocol, as an enum declares them: what is read, before anything is written.
//!
//! ```text
//!   enum Counter { Add(u64), Total(Reply<u64>) }
//!     ──► Protocol { trait CounterCalls, messages: [add: sent, total: answered by u64] }
//! ```

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeMap;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, GenericArgument, Ident, PathArguments,
    Result, Type, Variant, Visibility,
};

/// The methods of an address, and those that it has by a trait which is always in scope: a method of another trait by
/// one of these names would never be called, or be ambiguous.
pub(crate) const TAKEN: &[&str] = &[
    "call",
    "call_high",
    "call_into",
    "call_max",
    "clone",
    "clone_into",
    "eq",
    "finish",
    "fmt",
    "forward",
    "hash",
    "info",
    "inspect",
    "inspect_items",
    "into",
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
    "reserve_patiently",
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
    "to_owned",
    "trace",
    "try_into",
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
    /// Its documentation, the conditions under which it exists, and whether it is deprecated.
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
            "calls" => setting.value("calls = CounterApi", &mut calls),
            "named" => setting.value("named = CounterByName", &mut named),
            _ => Err(setting.unknown("`calls = ..` and `named = ..` on an enum")),
        })?;
        let calls = calls.unwrap_or_else(|| {
            Ident::new(&format!("{}Calls", input.ident.unraw()), input.ident.span())
        });
        let calls_name = calls.unraw();
        for (name, other, of) in [
            (Some(&calls), input.ident.unraw(), "enum"),
            (named.as_ref(), input.ident.unraw(), "enum"),
            (named.as_ref(), calls_name, "trait for addresses"),
        ] {
            if let Some(name) = name.filter(|name| name.unraw() == other) {
                let text = format!("`{name}` is the name of the {of}: choose another one");
                return Err(Error::new(name.span(), text));
            }
        }
        let read = |it| Message::read(it, &input.ident).transpose();
        let messages = declared.variants.into_iter().filter_map(read);
        let messages = messages.collect::<Result<Vec<_>>>()?;
        let mut names: BTreeMap<String, &Ident> = BTreeMap::new();
        for message in &messages {
            let method = message.method.unraw().to_string();
            if let Some(other) = names.insert(method.clone(), &message.variant) {
                let text = format!("`{}` has the method `{}` already", other, message.method);
                return Err(Error::new(message.variant.span(), text));
            }
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
    /// Reads a variant of this enum; `None` if it is to have no method.
    fn read(mut variant: Variant, of: &Ident) -> Result<Option<Self>> {
        let (mut is_skipped, mut name) = (false, None);
        settings(&variant.attrs, &mut |setting| match &*setting.name.to_string() {
            "skip" => setting.flag().map(|()| is_skipped = true),
            "name" => setting.value("name = halt", &mut name),
            _ => Err(setting.unknown("`skip` and `name = ..` on a variant")),
        })?;
        for field in &mut variant.fields {
            if let Some(attribute) = field.attrs.iter().find(|it| it.path().is_ident("protocol")) {
                let text =
                    "`protocol` is an attribute of the enum and of its variants, not of a field";
                return Err(Error::new(attribute.span(), text));
            }
            field.ty = plain(&field.ty, of)?;
        }
        match name {
            Some(name) if is_skipped => {
                return Err(Error::new(name.span(), "a variant that is left out has no name"));
            }
            None if is_skipped => return Ok(None),
            _ => {}
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
        let kept = |it: &&Attribute| {
            ["doc", "cfg", "deprecated"].iter().any(|name| it.path().is_ident(name))
        };
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

/// The type as it is written outside of the enum, where `Self` is another one, without the group that a macro puts around it.
fn plain(mut field: &Type, of: &Ident) -> Result<Type> {
    loop {
        field = match field {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return syn::parse2(without_self(field.to_token_stream(), of)),
        };
    }
}

fn without_self(tokens: TokenStream, of: &Ident) -> TokenStream {
    let replaced = |token| match token {
        TokenTree::Ident(ident) if ident == "Self" => {
            let mut of = of.clone();
            of.set_span(ident.span());
            of.into()
        }
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), without_self(group.stream(), of));
            inner.set_span(group.span());
            inner.into()
        }
        token => token,
    };
    tokens.into_iter().map(replaced).collect()
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
    /// Reads `= NAME` into its place.
    fn value(&self, form: &str, place: &mut Option<Ident>) -> Result<()> {
        let value = self.meta.value().and_then(|value| value.call(Ident::parse_any));
        let value = value.map_err(|error| {
            Error::new(error.span(), format!("a name is expected: #[protocol({form})]"))
        })?;
        if place.replace(value).is_some() {
            return Err(Error::new(self.name.span(), format!("`{}` is given twice", self.name)));
        }
        Ok(())
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
mod tests;
