//! `docs/CONFORMANCE.md`: where each statement is shown; `docs/LIMITS.md`: every limit; `target/conformance.md`: the tests.
//!
//! They are generated from the sources, so they cannot claim more than the sources.

mod gather;
mod limits;
mod statements;

use crate::run::{Failure, root, target};
use gather::{Place, Test};
use statements::{GROUPS, Statement};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// Statements without a test there: no browser of a test has room for 10 GB, the console is a page, timelines and the
/// command line are a part of the package, and the uses of streams are examples on it.
const WITHOUT: &[(&str, Place)] = &[
    ("P3", Place::Chromium),
    ("W1", Place::Native),
    ("W2", Place::Native),
    ("ST4", Place::Native),
    ("L1", Place::Native),
    ("L2", Place::Native),
    ("L3", Place::Native),
];

/// A generated page: its file and its expected text.
type Page = (PathBuf, String);

/// Writes the pages.
pub fn write() -> Result<(), Failure> {
    let tests = gather::tests()?;
    let all = (target().join("conformance.md"), table(&tests));
    for (file, text) in pages(&tests)?.into_iter().chain([all]) {
        fs::create_dir_all(file.parent().unwrap_or(&file))?;
        fs::write(&file, text)?;
        println!("{}", file.display());
    }
    Ok(())
}

/// Fails if a page is stale or a statement lacks a test.
pub fn check() -> Result<(), Failure> {
    let tests = gather::tests()?;
    let mut wrong = lacking(&tests, WITHOUT);
    for (file, text) in pages(&tests)? {
        if fs::read_to_string(&file).unwrap_or_default() != text {
            wrong.push(format!("{} is stale: run `cargo xtask conformance`", file.display()));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Failure::new(wrong.join("\n       "))) }
}

fn pages(tests: &[Test]) -> Result<Vec<Page>, Failure> {
    let docs = root().join("docs");
    Ok(vec![(docs.join("CONFORMANCE.md"), summary(tests)), (docs.join("LIMITS.md"), limits::page()?)])
}

fn of<'t>(tests: &'t [Test], statement: &Statement, place: Place) -> Vec<&'t Test> {
    tests.iter().filter(|test| test.place == place && test.ids.contains(&statement.id)).collect()
}

/// The missing statements. Those that `without` excuses must be missing.
fn lacking(tests: &[Test], without: &[(&str, Place)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for statement in GROUPS.iter().flat_map(|(_, statements)| *statements) {
        for (place, word) in [(Place::Native, "native"), (Place::Chromium, "Chromium")] {
            let excused = without.contains(&(statement.id, place));
            match (of(tests, statement, place).is_empty(), excused) {
                (true, false) => wrong.push(format!("{} has no {word} test: {}", statement.id, statement.says)),
                (false, true) => {
                    wrong.push(format!("{} has a {word} test: take it off the list of those without", statement.id));
                }
                _ => {}
            }
        }
    }
    wrong
}

/// The statements, and where tests show them. It changes only with these, and not with each test.
fn summary(tests: &[Test]) -> String {
    let mut page = String::from(
        "# What is shown by tests\n\n\
         Made by `cargo xtask conformance` from the tests; do not edit. A test belongs to a statement when its name, its\n\
         title or its doc comment carries the statement's id. The command writes the names of the tests to\n\
         `target/conformance.md`. `cargo xtask test checks` fails when this page is stale or a statement lacks a test.\n",
    );
    for (heading, statements) in GROUPS {
        let _ = write!(page, "\n## {heading}\n\n| | statement | native | Chromium | Node |\n|---|---|---|---|---|\n");
        for statement in statements {
            let mark = |place| if of(tests, statement, place).is_empty() { "" } else { "yes" };
            let Statement { id, says } = statement;
            let (native, chromium, node) = (mark(Place::Native), mark(Place::Chromium), mark(Place::Node));
            let _ = writeln!(page, "| {id} | {says} | {native} | {chromium} | {node} |");
        }
    }
    page
}

fn table(tests: &[Test]) -> String {
    let mut page = String::from("# Which tests show what\n");
    for (heading, statements) in GROUPS {
        let _ =
            write!(page, "\n## {heading}\n\n| | statement | native | Chromium | Node |\n|---|---|---:|---:|---:|\n");
        for statement in statements {
            let count = |place| of(tests, statement, place).len();
            let (native, chromium, node) = (count(Place::Native), count(Place::Chromium), count(Place::Node));
            let Statement { id, says } = statement;
            let link = id.to_lowercase();
            let _ = writeln!(page, "| [{id}](#{link}) | {says} | {native} | {chromium} | {node} |");
        }
    }
    page.push_str("\n## The tests\n");
    for statement in GROUPS.iter().flat_map(|(_, statements)| *statements) {
        let _ = write!(page, "\n### {}\n\n{}\n", statement.id, statement.says);
        for (place, word) in [(Place::Native, "Native"), (Place::Chromium, "Chromium"), (Place::Node, "Node")] {
            let tests = of(tests, statement, place);
            if !tests.is_empty() {
                let _ = write!(page, "\n{word}:\n\n");
            }
            for test in tests {
                let name = if test.file.ends_with(".rs") { format!("`{}`", test.name) } else { escaped(&test.name) };
                let _ = writeln!(page, "- {name} ([{0}](../{0}))", test.file);
            }
        }
    }
    page
}

/// A title as plain text, with markup escaped.
fn escaped(title: &str) -> String {
    let mut text = String::new();
    for character in title.chars() {
        if "*_`[]<>|\\".contains(character) {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_without_a_test_is_told_and_so_is_an_excuse_without_need() {
        let all = lacking(&[], &[]);
        let statements: usize = GROUPS.iter().map(|(_, statements)| statements.len()).sum();
        assert_eq!(all.len(), 2 * statements);
        assert_eq!(lacking(&[], &[("V6", Place::Native)]).len(), all.len() - 1);
        let test = Test { place: Place::Native, file: "a.rs".into(), name: "v6".into(), ids: vec!["V6"] };
        assert_eq!(lacking(std::slice::from_ref(&test), &[]).len(), all.len() - 1);
        let excused = lacking(&[test], &[("V6", Place::Native)]);
        assert!(excused.iter().any(|line| line.starts_with("V6 has a native test")), "{excused:?}");
    }
}
