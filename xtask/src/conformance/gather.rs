//! Collects the tests and the statements that each names, from their sources.

use super::statements::{GROUPS, Statement};
use crate::files;
use crate::run::{Failure, root};
use std::fs;

/// The place where a test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Native,
    Chromium,
    Node,
}

/// A test that names statements.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Test {
    pub place: Place,
    /// Its file, relative to the project's root.
    pub file: String,
    pub name: String,
    pub ids: Vec<&'static str>,
}

/// All tests that name statements, sorted.
pub fn tests() -> Result<Vec<Test>, Failure> {
    let mut tests = Vec::new();
    for (folder, ends) in
        [("src", "rs"), ("tests", "rs"), ("tests/e2e/tests", "mjs"), ("pkg/test", "ts"), ("examples", "ts")]
    {
        for path in files::below(&root().join(folder), &[ends])? {
            let text = fs::read_to_string(&path)?;
            let file = files::relative(&path, &root());
            let found = match ends {
                "rs" => of_rust(&text),
                _ => of_script(&text, if ends == "mjs" { Place::Chromium } else { Place::Node }),
            };
            tests.extend(found.into_iter().map(|(place, name, ids)| Test { place, file: file.clone(), name, ids }));
        }
    }
    tests.retain(|test| !test.ids.is_empty());
    tests.sort();
    Ok(tests)
}

type Found = (Place, String, Vec<&'static str>);

/// Test functions. The statements stand in their names (`v6_v7_what_they_show`, `azure_z3_what_it_shows`) and doc comments.
fn of_rust(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let (mut doc, mut place) = (String::new(), None);
    for line in text.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            doc.push_str(words);
        } else if line.starts_with("#[test]") {
            place = Some(Place::Native);
        } else if line.starts_with("#[wasm_bindgen_test") {
            place = Some(Place::Chromium);
        } else if !line.starts_with("#[") {
            let declared = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
            if let (Some(place), Some(declared)) = (place, declared) {
                let name: String = declared.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let mut ids = named(&name);
                ids.extend(mentioned(&doc));
                once(&mut ids);
                found.push((place, name, ids));
            }
            doc.clear();
            place = None;
        }
    }
    found
}

/// The statements that the name of a test function begins with.
fn named(name: &str) -> Vec<&'static str> {
    match name.strip_prefix("azure_") {
        Some(name) => name.split('_').map_while(of_azure).flatten().copied().collect(),
        None => name.split('_').map_while(|word| known(&word.to_uppercase())).collect(),
    }
}

/// The statements that a word behind `azure_` stands for. The rules of the service's data model have numbers of their own there:
/// A1 is about accounts.
fn of_azure(word: &str) -> Option<&'static [&'static str]> {
    let (family, number) = word.split_at_checked(1)?;
    number.parse::<u32>().ok()?;
    match family {
        // Accounts, tables, names.
        "a" | "t" | "n" => Some(&["Z1"]),
        // Keys, limits, the timestamp, values.
        "k" | "l" | "s" | "v" => Some(&["Z1", "Z2"]),
        _ => statement(&word.to_uppercase()).map(|statement| std::slice::from_ref(&statement.id)),
    }
}

/// `test("V6, V7: what it shows", …)`; the statements stand before the colon.
fn of_script(text: &str, place: Place) -> Vec<Found> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("test(") {
        // A call, and not the end of another word.
        let call = rest[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric() && before != '.');
        rest = &rest[at + "test(".len()..];
        if let (true, Some(name)) = (call, literal(rest)) {
            let mut ids = name.split_once(':').map_or_else(Vec::new, |(head, _)| mentioned(head));
            once(&mut ids);
            found.push((place, name, ids));
        }
    }
    found
}

/// The text of the literal at the start of `source`. Each value that a template fills in becomes an ellipsis.
fn literal(source: &str) -> Option<String> {
    let mut characters = source.trim_start().chars();
    let quote = characters.next().filter(|first| "\"'`".contains(*first))?;
    let mut text = String::new();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.extend(characters.next()),
            '$' if quote == '`' && characters.as_str().starts_with('{') => {
                let mut depth = 0;
                for inner in characters.by_ref() {
                    depth += i32::from(inner == '{') - i32::from(inner == '}');
                    if depth == 0 {
                        break;
                    }
                }
                text.push('…');
            }
            _ if character == quote => return Some(text),
            _ => text.push(character),
        }
    }
    None
}

/// The statements that a text names. `V2 to V5` means all four.
fn mentioned(text: &str) -> Vec<&'static str> {
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut ids = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(id) = known(word) else { continue };
        if at >= 2 && words[at - 1] == "to" && known(words[at - 2]).is_some() {
            ids.extend(between(words[at - 2], word));
        }
        ids.push(id);
    }
    ids
}

/// The statements from `first` on, up to `last`, if they are of one family.
fn between(first: &str, last: &str) -> Vec<&'static str> {
    let (family, number) = (&first[..1], |id: &str| id[1..].parse().unwrap_or(0_u32));
    if !last.starts_with(family) {
        return Vec::new();
    }
    (number(first)..number(last)).filter_map(|number| known(&format!("{family}{number}"))).collect()
}

fn statement(id: &str) -> Option<&'static Statement> {
    GROUPS.iter().flat_map(|(_, statements)| statements.iter()).find(|statement| statement.id == id)
}

fn known(id: &str) -> Option<&'static str> {
    statement(id).map(|statement| statement.id)
}

fn once(ids: &mut Vec<&'static str>) {
    let mut seen = Vec::new();
    ids.retain(|id| {
        let new = !seen.contains(id);
        seen.push(*id);
        new
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_doc_comments_of_rust_tests_tell_statements() {
        let text = "/// V1 to V3, and R4.\n#[test]\nfn v10_r1_it_holds() {}\nfn v6_no_test() {}\n\
                    #[wasm_bindgen_test]\nasync fn t1_in_a_browser() {}\n#[test]\nfn of_nothing() {}";
        let expected = [
            (Place::Native, "v10_r1_it_holds".to_owned(), vec!["V10", "R1", "V1", "V2", "V3", "R4"]),
            (Place::Chromium, "t1_in_a_browser".to_owned(), vec!["T1"]),
            (Place::Native, "of_nothing".to_owned(), vec![]),
        ];
        assert_eq!(of_rust(text), expected);
    }

    #[test]
    fn rules_of_azure_have_numbers_of_their_own() {
        for (name, ids) in [
            ("azure_a1_t3_of_accounts", &["Z1", "Z1"][..]),
            ("azure_v1_z3_t_of_values", &["Z1", "Z2", "Z3"]),
            ("azure_c5_of_throttling", &["C5"]),
            ("azure_tables_of_no_number", &[]),
        ] {
            assert_eq!(named(name), ids, "{name}");
        }
    }

    #[test]
    fn titles_of_scripts_tell_statements_before_their_colon() {
        let text = "test(`V6, V7: at ${a ? \"{x}\" : b} it's R1`, async () => {});\nlatest(\"R1: no\"); /x/.test(\"V1: no\");\n\
                    test(\"no statement V1\", () => {})";
        let expected = [
            (Place::Node, "V6, V7: at … it's R1".to_owned(), vec!["V6", "V7"]),
            (Place::Node, "no statement V1".to_owned(), vec![]),
        ];
        assert_eq!(of_script(text, Place::Node), expected);
    }
}
