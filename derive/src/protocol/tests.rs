//! Tests of what is read from a protocol.

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
        (
            quote! { enum It { Add, #[protocol(name = r#add)] More } },
            "`Add` has the method `r#add` already",
        ),
        (quote! { enum It { Into(u8) } }, "an address has the method `into` already"),
        (quote! { enum It { ToOwned } }, "an address has the method `to_owned` already"),
        (
            quote! { enum It { Add(#[protocol(skip)] u64) } },
            "`protocol` is an attribute of the enum and of its variants, not of a field",
        ),
        (quote! { #[protocol(calls = It)] enum It { Add } }, "`It` is the name of the enum"),
        (quote! { #[protocol(named = r#It)] enum It { Add } }, "`r#It` is the name of the enum"),
        (
            quote! { #[protocol(named = ItCalls)] enum It { Add } },
            "`ItCalls` is the name of the trait for addresses",
        ),
        (quote! { enum It { #[protocol(name = add, name = put)] Add } }, "`name` is given twice"),
        (
            quote! { #[protocol(calls = A)] #[protocol(calls = B)] enum It { Add } },
            "`calls` is given twice",
        ),
        (
            quote! { enum It { #[protocol(skip, name = put)] Add } },
            "a variant that is left out has no name",
        ),
    ] {
        let text = input.to_string();
        let error = error(input);
        assert!(error.contains(says), "{text}: {error}");
    }
}

/// `Self` is the enum there, and would be the address in a method.
#[test]
fn y6_self_in_a_message_is_the_enum() {
    let input = quote! { enum Tree { All(Vec<(Self, u8)>), Part(u8, Reply<Option<Box<Self>>>) } };
    let protocol = Protocol::read(input).unwrap();
    let FieldKind::Argument(all) = &protocol.messages[0].fields[0].kind else { panic!() };
    let answer = protocol.messages[1].answer().unwrap();
    let text = |it: &Type| it.to_token_stream().to_string().replace(' ', "");
    assert_eq!((&*text(all), &*text(answer)), ("Vec<(Tree,u8)>", "Option<Box<Tree>>"));
}

/// As a macro of the user writes the type that it was given, and as nobody needs to write one.
#[test]
fn y6_a_reply_is_found_in_a_group_and_in_parentheses() {
    let reply = proc_macro2::Group::new(proc_macro2::Delimiter::None, quote! { Reply<u64> });
    let input = quote! { enum Counter { Total(#reply), Least(u8, (Reply<u64>)), Most((#reply)) } };
    assert_eq!(methods(input), ["total()?", "least(value)?", "most()?"]);
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
