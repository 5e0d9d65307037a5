//! The names that the compiler gives to functions, as paths of the source.
//!
//! A path is the modules, the type, for a trait's functions the trait as `as Trait`, and the function: `tabstore`, `storage`,
//! `memory`, `MemoryStorage`, `as Storage`, `load`. Behind it come the closures in it and its state machine, if it is `async`.
//! Arguments of types and traits are left out. So the implementations of one generic trait for one type have the same path.

/// How the compiler names the function that drops a value.
const DROP: &str = "core::ptr::drop_in_place<";

/// What a name stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// Its paths. The name `<T as Trait>::f` does not tell whether the `impl` is in the module of the type or of the trait: it has
    /// two.
    pub(crate) paths: Vec<Vec<String>>,
    /// Whether the function drops a value of that path: of a type, or of the state machine of an `async` function.
    pub(crate) is_drop: bool,
}

impl Name {
    /// Reads a name: a path in Rust's notation, and a hash.
    pub(crate) fn read(name: &str) -> Self {
        let path = name.rsplit_once("::h").filter(|(_, hash)| hash.len() == 16).map_or(name, |(path, _)| path);
        match path.strip_prefix(DROP).and_then(|value| value.strip_suffix('>')) {
            // A boxed future is dropped as the future is.
            Some(value) => {
                Self { paths: paths(inside(value, "core::pin::Pin<alloc::boxed::Box<", ">>")), is_drop: true }
            }
            None => Self { paths: paths(path), is_drop: false },
        }
    }
}

/// The last name of a path, without arguments.
fn bare(name: &str) -> &str {
    name.split_once('<').map_or(name, |(name, _)| name)
}

/// How a trait stands in a path.
pub(crate) fn of_trait(name: &str) -> String {
    format!("as {name}")
}

fn paths(text: &str) -> Vec<Vec<String>> {
    let parts = split(text, "::");
    let Some((&first, rest)) = parts.split_first() else { return Vec::new() };
    let mut paths = match first.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')) {
        Some(inner) => match split(inner, " as ")[..] {
            [of, is] => implementing(type_path(of), type_path(is)),
            _ => vec![type_path(inner)],
        },
        None => vec![vec![bare(first).to_owned()]],
    };
    for path in &mut paths {
        for part in rest {
            match part.strip_prefix("<impl ").and_then(|inner| inner.strip_suffix('>')) {
                // An `impl` in another module than the type and the trait.
                Some(inner) => match split(inner, " for ")[..] {
                    [is, of] => path.extend([last(type_path(of)), of_trait(&last(type_path(is)))]),
                    _ => path.push(last(type_path(inner))),
                },
                None => path.push(bare(part).to_owned()),
            }
        }
    }
    paths
}

/// The paths of `<of as is>`.
fn implementing(of: Vec<String>, is: Vec<String>) -> Vec<Vec<String>> {
    let (name, role) = (last(of.clone()), of_trait(&last(is.clone())));
    let mut beside = is;
    beside.pop();
    let beside = [beside, vec![name, role.clone()]].concat();
    vec![[of, vec![role]].concat(), beside]
}

fn type_path(text: &str) -> Vec<String> {
    let text = ["&", "mut ", "dyn "].iter().fold(text, |text, mark| text.strip_prefix(mark).unwrap_or(text));
    paths(text).into_iter().next().unwrap_or_default()
}

fn last(mut path: Vec<String>) -> String {
    path.pop().unwrap_or_default()
}

/// What stands between two marks, if both are there.
fn inside<'t>(text: &'t str, before: &str, behind: &str) -> &'t str {
    text.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind)).unwrap_or(text)
}

/// The parts of a text between marks that are in no brackets.
fn split<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '<' | '(' | '[' | '{' => depth += 1,
            // The arrow of a function's type is no bracket.
            '>' if text[..at].ends_with('-') => {}
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= start && text[at..].starts_with(mark) => {
                parts.push(&text[start..at]);
                start = at + mark.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_function_is_a_path() {
        for (name, expected) in [
            ("t::a::work::h0123456789abcdef", &["t a work"][..]),
            ("t::a::work", &["t a work"]),
            ("t::a::work::{{closure}}::{{closure}}<i32>::h0123456789abcdef", &["t a work {{closure}} {{closure}}"]),
            ("t::a::Type::method", &["t a Type method"]),
            ("t::a::Type<S,t::b::Other<D>>::method::{{closure}}", &["t a Type method {{closure}}"]),
            ("t::b::<impl t::a::Type<S,D>>::method", &["t b Type method"]),
            ("t::b::<impl core::convert::From<t::c::Error> for t::a::Type>::from", &["t b Type as From from"]),
            ("<t::a::Type<D> as t::b::Trait>::method", &["t a Type as Trait method", "t b Type as Trait method"]),
            ("<&mut T as core::fmt::Debug>::fmt", &["T as Debug fmt", "core fmt T as Debug fmt"]),
            (
                "<<t::A as t::b::Trait>::f::{{closure}} as t::Job>::g",
                &["t A as Trait f {{closure}} as Job g", "t {{closure}} as Job g"],
            ),
            ("<dyn t::a::Trait>::method", &["t a Trait method"]),
            ("t::a::Type<fn(u8) -> t::B>::method", &["t a Type method"]),
            ("memcmp", &["memcmp"]),
        ] {
            let Name { paths, is_drop } = Name::read(name);
            assert_eq!(paths.iter().map(|path| path.join(" ")).collect::<Vec<_>>(), expected, "{name}");
            assert!(!is_drop, "{name}");
        }
    }

    #[test]
    fn what_drops_a_value_has_the_path_of_the_value() {
        for (value, expected) in [
            ("t::a::Type<t::b::Other>", "t a Type"),
            ("t::a::work::{{closure}}", "t a work {{closure}}"),
            ("core::pin::Pin<alloc::boxed::Box<t::a::<impl t::Type>::work::{{closure}}>>", "t a Type work {{closure}}"),
            ("<t::a::Type<D> as t::b::Trait>::work::{{closure}}", "t a Type as Trait work {{closure}}"),
            ("alloc::vec::Vec<t::a::Type>", "alloc vec Vec"),
        ] {
            let Name { paths, is_drop } = Name::read(&format!("core::ptr::drop_in_place<{value}>::h0123456789abcdef"));
            assert_eq!((paths[0].join(" "), is_drop), (expected.to_owned(), true), "{value}");
        }
    }
}
