//! One source text with many faults in it, each behind its number.
//!
//! A fault that changes the body of a function becomes a second body:
//!
//! ```text
//!   fn bound(&self) -> u32 {          fn bound(&self) -> u32 { if krarup_gen::fault::on(7) {
//!       self.bound            ──►         self.bound + 1
//!   }                                 } else {
//!                                         self.bound
//!                                     } }
//! ```
//!
//! Whole bodies are used, because a change of text need not be an expression: it may hold half a
//! statement, a `let`, a `return`. Code outside a body cannot be switched: a constant, a type, a
//! `const fn`, and a function that returns `impl Trait`, whose two bodies would have different
//! types.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use syn::visit::Visit;

/// The number of a fault, by which it is switched on.
pub(crate) type Number = usize;

/// A text with faults in it.
pub(crate) struct Woven {
    pub(crate) text: String,
    /// The lines that hold faults.
    pub(crate) regions: Vec<Region>,
    /// The faults that cannot be switched, and why.
    pub(crate) alone: Vec<(Number, String)>,
}

/// The lines of a body with a fault.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) lines: RangeInclusive<usize>,
    pub(crate) number: Number,
}

/// Weaves faulty versions of a text into it. `switch` is the path of the function that returns
/// whether a number is on.
pub(crate) fn weave(original: &str, faulty: &[(Number, String)], switch: &str) -> Woven {
    let mut woven = Woven { text: String::new(), regions: Vec::new(), alone: Vec::new() };
    let Ok(bodies) = bodies(original) else {
        woven.alone =
            faulty.iter().map(|(n, _)| (*n, "the source is not Rust".to_owned())).collect();
        original.clone_into(&mut woven.text);
        return woven;
    };
    let mut variants: Vec<Vec<(Number, &str)>> = vec![Vec::new(); bodies.len()];
    for (number, text) in faulty {
        match changed(original, &bodies, text) {
            Ok(changes) => {
                changes.into_iter().for_each(|(body, text)| variants[body].push((*number, text)));
            }
            Err(why) => woven.alone.push((*number, why)),
        }
    }
    let mut from = 0;
    let mut line = 1;
    let put = |out: &mut String, line: &mut usize, text: &str| {
        *line += text.matches('\n').count();
        out.push_str(text);
    };
    for (body, variants) in bodies.iter().zip(variants) {
        if variants.is_empty() {
            continue;
        }
        put(&mut woven.text, &mut line, &original[from..body.open]);
        for (number, text) in variants {
            let mut head = String::new();
            let _ = write!(head, " if {switch}({number}) {{");
            put(&mut woven.text, &mut line, &head);
            let first = line;
            put(&mut woven.text, &mut line, text);
            put(&mut woven.text, &mut line, "\n} else");
            woven.regions.push(Region { lines: first..=line, number });
        }
        put(&mut woven.text, &mut line, " {");
        put(&mut woven.text, &mut line, &original[body.open..body.close]);
        put(&mut woven.text, &mut line, "\n}");
        from = body.close;
    }
    woven.text.push_str(&original[from..]);
    woven
}

/// The inside of a function's body, as byte offsets in the text.
struct FunctionBody {
    open: usize,
    close: usize,
    /// Why the function cannot have a second body.
    single: Option<&'static str>,
}

/// The bodies in which `text` differs, with their contents.
fn changed<'a>(
    original: &str,
    bodies: &[FunctionBody],
    text: &'a str,
) -> Result<Vec<(usize, &'a str)>, String> {
    let others = self::bodies(text).map_err(|error| format!("it is not Rust: {error}"))?;
    if shell(original, bodies) != shell(text, &others) {
        return Err("it changes more than bodies of functions".to_owned());
    }
    let mut changes = Vec::new();
    for (index, (body, other)) in bodies.iter().zip(&others).enumerate() {
        let inside = &text[other.open..other.close];
        if inside != &original[body.open..body.close] {
            if let Some(why) = body.single {
                return Err(why.to_owned());
            }
            changes.push((index, inside));
        }
    }
    Ok(changes)
}

/// A text without the bodies of its functions.
fn shell(text: &str, bodies: &[FunctionBody]) -> String {
    let mut shell = String::new();
    let mut from = 0;
    for body in bodies {
        shell.push_str(&text[from..body.open]);
        from = body.close;
    }
    shell + &text[from..]
}

fn bodies(text: &str) -> syn::Result<Vec<FunctionBody>> {
    let mut found = FunctionScan(Vec::new());
    found.visit_file(&syn::parse_file(text)?);
    Ok(found.0)
}

/// Functions outside other functions, in the order of the text.
struct FunctionScan(Vec<FunctionBody>);

impl FunctionScan {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let returned = Returned::of(&signature.output);
        let single = if signature.constness.is_some() {
            Some("it is in a const fn")
        } else if returned.is_impl {
            Some("it is in a function that returns impl Trait")
        } else {
            None
        };
        let brace = block.brace_token.span;
        let (open, close) = (brace.open().byte_range().end, brace.close().byte_range().start);
        self.0.push(FunctionBody { open, close, single });
    }
}

impl<'ast> Visit<'ast> for FunctionScan {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
        }
    }
}

/// Whether a return type contains `impl Trait`.
struct Returned {
    is_impl: bool,
}

impl Returned {
    fn of(output: &syn::ReturnType) -> Self {
        let mut returned = Returned { is_impl: false };
        returned.visit_return_type(output);
        returned
    }
}

impl<'ast> Visit<'ast> for Returned {
    fn visit_type_impl_trait(&mut self, _: &'ast syn::TypeImplTrait) {
        self.is_impl = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "const N: u32 = 1;\n\nfn a() -> u32 {\n    1\n}\n\nimpl X {\n    fn b(&self) {\n        c(); // c\n    }\n    fn d() -> impl Y {\n        z()\n    }\n}\n";

    fn with(old: &str, new: &str) -> String {
        assert!(SOURCE.contains(old));
        SOURCE.replace(old, new)
    }

    #[test]
    fn faults_become_other_bodies_and_the_rest_stays() {
        let faulty = [(3, with("    1\n", "    2\n")), (4, with("    1\n", "    return 5;\n"))];
        let woven = weave(SOURCE, &faulty, "on");
        assert_eq!(woven.alone, []);
        let body = "fn a() -> u32 { if on(3) {\n    2\n\n} else if on(4) {\n    return 5;\n\n} else {\n    1\n\n}}\n";
        assert_eq!(woven.text, with("fn a() -> u32 {\n    1\n}\n", body));
        assert!(syn::parse_file(&woven.text).is_ok());
        let lines: Vec<&str> = woven.text.lines().collect();
        for (region, text) in woven.regions.iter().zip(["    2", "    return 5;"]) {
            assert!(lines[region.lines.start() - 1..*region.lines.end()].contains(&text));
        }
    }

    #[test]
    fn a_comment_at_the_end_of_a_body_does_not_hide_the_next_token() {
        let woven = weave(SOURCE, &[(1, with("c(); // c\n    ", "d(); // d"))], "on");
        assert!(syn::parse_file(&woven.text).is_ok(), "{}", woven.text);
    }

    #[test]
    fn changes_outside_switchable_bodies_are_built_alone() {
        for (old, new, why) in [
            ("N: u32 = 1", "N: u32 = 2", "more than bodies"),
            ("z()", "y()", "impl Trait"),
            ("    1\n", "    1 +\n", "not Rust"),
        ] {
            let woven = weave(SOURCE, &[(1, with(old, new))], "on");
            assert_eq!(woven.text, SOURCE);
            assert!(woven.alone[0].1.contains(why), "{}", woven.alone[0].1);
        }
    }
}
