//! What can be read from the tokens of a macro, which have no grammar: paths, and `use` declarations.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The words of a path, such as `crate`, `model`, `Key`.
pub type Path = Vec<String>;

/// All paths in `tokens`, also those of one word, without fields, methods, lifetimes and a macro's `$variables`. The paths of
/// a group, such as `a::{B, c::D}`, come apart.
pub fn paths(tokens: TokenStream) -> Vec<Path> {
    let mut found = Vec::new();
    collect(tokens, &[], &mut found);
    found
}

fn collect(tokens: TokenStream, prefix: &[String], found: &mut Vec<Path>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => collect(group.stream(), prefix, found),
            TokenTree::Ident(word) if begins_path(&tokens, at, &word.to_string()) => {
                let mut path = prefix.to_vec();
                path.push(word.to_string());
                let group;
                (at, group) = follow(&tokens, at, &mut path);
                match group {
                    Some(group) => collect(group, &path, found),
                    None => found.push(path),
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Appends the words behind `::` to the path whose first word is at `at`. Returns the place of its last token, and the group
/// in which it goes on.
fn follow(tokens: &[TokenTree], mut at: usize, path: &mut Path) -> (usize, Option<TokenStream>) {
    while is_separator(tokens, at + 1) {
        match tokens.get(at + 3) {
            Some(TokenTree::Ident(word)) => path.push(word.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                return (at + 3, Some(group.stream()));
            }
            _ => break,
        }
        at += 3;
    }
    (at, None)
}

/// Whether a path begins with the word at `at`: it is no field, no lifetime, no variable of a macro, and no path goes before it.
fn begins_path(tokens: &[TokenTree], at: usize, word: &str) -> bool {
    let sign = |back: usize| match at.checked_sub(back).map(|at| &tokens[at]) {
        Some(TokenTree::Punct(sign)) => Some(sign.as_char()),
        _ => None,
    };
    match sign(1) {
        Some('.') => sign(2) == Some('.'),
        Some('\'') => false,
        Some('$') => word == "crate",
        Some(':') => sign(2) != Some(':'),
        _ => true,
    }
}

/// Whether `::` begins at `at`.
fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |at| matches!(tokens.get(at), Some(TokenTree::Punct(sign)) if sign.as_char() == ':');
    is_colon(at) && is_colon(at + 1)
}

/// Takes the `use` declarations out of a macro's definition: they hold where the macro is called. Returns them and the rest.
pub fn split_uses(tokens: TokenStream) -> (Vec<syn::ItemUse>, TokenStream) {
    let mut uses = Vec::new();
    let mut rest = Vec::new();
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "use" => {
                let mut declaration = vec![TokenTree::Ident(word)];
                for token in tokens.by_ref() {
                    let is_end = matches!(&token, TokenTree::Punct(sign) if sign.as_char() == ';');
                    declaration.push(token);
                    if is_end {
                        break;
                    }
                }
                uses.extend(syn::parse2(declaration.into_iter().collect()).ok());
            }
            TokenTree::Group(group) => {
                let (inner, stream) = split_uses(group.stream());
                uses.extend(inner);
                rest.push(TokenTree::Group(proc_macro2::Group::new(group.delimiter(), stream)));
            }
            token => rest.push(token),
        }
    }
    (uses, rest.into_iter().collect())
}

/// The names of items that a macro's definition declares. A `$variable` is not known there.
pub fn declared(tokens: TokenStream) -> Vec<String> {
    const KINDS: [&str; 8] = ["const", "enum", "fn", "mod", "static", "struct", "trait", "type"];
    let is_kind = |word: &proc_macro2::Ident| KINDS.iter().any(|kind| word == kind);
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match (token, tokens.get(at + 1)) {
            (TokenTree::Group(group), _) => found.extend(declared(group.stream())),
            (TokenTree::Ident(kind), Some(TokenTree::Ident(name))) if is_kind(kind) && !is_kind(name) => {
                found.push(name.to_string());
            }
            _ => {}
        }
    }
    found
}

/// Every word in `tokens`.
pub fn words(tokens: TokenStream) -> Vec<String> {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Ident(word) => vec![word.to_string()],
            TokenTree::Group(group) => words(group.stream()),
            _ => Vec::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        paths(text.parse().unwrap()).into_iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn paths_are_read_from_tokens() {
        assert_eq!(read("self.one, Some(two::Three::four())"), ["self", "Some", "two::Three::four"]);
        assert_eq!(
            read("$crate::a::{B, c::{D, E}} $name 'f ..g"),
            ["crate::a::B", "crate::a::c::D", "crate::a::c::E", "g"]
        );
    }

    #[test]
    fn items_of_a_definition_have_names() {
        let text =
            "($a:tt) => { pub enum Code { $a } const fn $name() {} const fn text() {} mod inner { pub struct Deep; } }";
        assert_eq!(declared(text.parse().unwrap()), ["Code", "text", "inner", "Deep"]);
    }

    #[test]
    fn uses_are_taken_out_of_a_definition() {
        let (uses, rest) = split_uses("() => { use super::one::*; two::call() }".parse().unwrap());
        assert_eq!(uses.len(), 1);
        assert_eq!(paths(rest), [["two", "call"]]);
    }
}
