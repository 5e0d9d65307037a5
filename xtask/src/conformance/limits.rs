//! `docs/LIMITS.md`, from `src/model/limits.rs`, the door for SDKs, and the code of Azure tables.
//!
//! There every public constant and every field of `Limits` has a doc comment with three things. It states the count
//! that is limited, the source in parentheses, and after `Else:` the result beyond the limit. Limits of doors and of Azure tables
//! stand in several files, beside what they limit. A constant there is one if it has an `Else:`.

use crate::run::{Failure, root};
use std::fmt::Write as _;
use std::fs;

const SOURCE: &str = "src/model/limits.rs";

/// Where the limits of Azure tables are.
const AZURE: [&str; 8] = [
    "src/azure/names.rs",
    "src/azure/key.rs",
    "src/azure/entity.rs",
    "src/azure/edm.rs",
    "src/azure/filter/tree.rs",
    "src/azure/account.rs",
    "src/doors/azure/mod.rs",
    "src/doors/azure/acl.rs",
];

/// Where the limits of the door of the Table Store service are that come before those of the data.
const DOOR: [&str; 4] = [
    "src/doors/tablestore/mod.rs",
    "src/doors/tablestore/signature.rs",
    "src/doors/tablestore/tables.rs",
    "src/doors/tablestore/row.rs",
];

/// The text before their table.
const OF_DOOR: &str = "\n\
    ## The door for SDKs of Table Store\n\n\
    What the official SDKs send, by `tabstore serve` and `tablestoreFetch`, has the limits above and these, from\n\
    [src/doors/tablestore](../src/doors/tablestore).\n\n";

/// The text before the table of Azure's limits.
const OF_AZURE: &str = "\n\
    ## Azure tables\n\n\
    From [src/azure](../src/azure) and its door. The codes are the service's; each is a status 400 unless it says more. K4 and\n\
    its like are rules of the data model: they stand in the names of their tests (`azure_k4_…`).\n\n";

const HEAD: &str = "| limit | value | what it counts | else | from |\n|---|---:|---|---|---|\n";

/// The text after the first table.
const SALVAGE: &str = "\n\
    An instance that was opened with `salvage: true` refuses every write with `ReadOnly`. `open` reads every stored record\n\
    once before it resolves, so it takes longer with more data.\n";

/// One limit in the source.
#[derive(Debug, PartialEq, Eq)]
struct Limit {
    name: String,
    value: String,
    counts: String,
    otherwise: String,
    source: String,
}

/// The page.
pub fn page() -> Result<String, Failure> {
    let mut page = format!(
        "# Limits\n\n\
         Made by `cargo xtask conformance` from [{SOURCE}](../{SOURCE}); do not edit. A request beyond a limit stores\n\
         nothing. If there are two values, the first is the documents', the second that of `limits: \"sdk\"`.\n\n{HEAD}"
    );
    add(SOURCE, &mut page)?;
    page.push_str(SALVAGE);
    for (text, files) in [(OF_DOOR, &DOOR[..]), (OF_AZURE, &AZURE)] {
        page.push_str(text);
        page.push_str(HEAD);
        files.iter().try_for_each(|file| add(file, &mut page))?;
    }
    Ok(page)
}

/// Adds the limits of a file to the page.
fn add(file: &str, page: &mut String) -> Result<(), Failure> {
    let text = fs::read_to_string(root().join(file))?;
    let found = limits(&text, file == SOURCE).map_err(|wrong| Failure::new(format!("{file}: {wrong}")))?;
    for Limit { name, value, counts, otherwise, source } in found {
        let _ = writeln!(page, "| `{name}` | {value} | {counts} | {otherwise} | {source} |");
    }
    Ok(())
}

/// The limits in a text: every public constant and field, or the constants that say what happens else.
fn limits(text: &str, every: bool) -> Result<Vec<Limit>, String> {
    let mut found = Vec::new();
    let mut doc: Vec<&str> = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if let Some(words) = line.strip_prefix("///") {
            doc.push(words.trim());
            continue;
        }
        let constant = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("const ");
        let wanted = every || (constant.is_some() && doc.iter().any(|words| words.starts_with("Else: ")));
        let declared = constant.or_else(|| line.strip_prefix("pub ")).filter(|_| wanted);
        if let Some((name, rest)) = declared.and_then(|declared| declared.split_once(':')) {
            let constant = constant.is_some();
            let mut value = rest.split_once('=').map_or("", |(_, value)| value).trim().to_owned();
            while constant && !value.ends_with(';') {
                value.push_str(lines.next().ok_or("a constant has no end")?);
            }
            // The two choices themselves are no limits, but hold the values of those that are fields.
            if !value.starts_with("Self {") {
                let values = if constant { vec![value.trim_end_matches(';').to_owned()] } else { choices(text, name) };
                found.push(limit(text, name, &values, &doc)?);
            }
        }
        if !line.starts_with("#[") {
            doc.clear();
        }
    }
    Ok(found)
}

fn limit(text: &str, name: &str, values: &[String], doc: &[&str]) -> Result<Limit, String> {
    let paragraphs = doc.join("\n");
    let mut paragraphs = paragraphs.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    let first = paragraphs.next().unwrap_or_default();
    let otherwise = paragraphs.find_map(|paragraph| paragraph.strip_prefix("Else: ").map(str::to_owned));
    let otherwise = otherwise.ok_or(format!("{name} does not say what happens else (\"Else: …\")"))?;
    let (counts, source) = first
        .rsplit_once(" (")
        .and_then(|(counts, source)| Some((counts, source.split_once(')')?.0)))
        .ok_or(format!("{name} does not say in parentheses where it comes from"))?;
    let mut values = values.iter().map(|value| evaluate(text, value)).collect::<Result<Vec<_>, _>>()?;
    values.dedup();
    let cell = |text: &str| text.replace('|', "\\|");
    let [counts, otherwise, source] = [counts, &otherwise, source].map(cell);
    Ok(Limit { name: name.to_owned(), value: values.join(", "), counts, otherwise, source })
}

/// The values of a field in `DOCUMENT` and in `SDK`.
fn choices(text: &str, field: &str) -> Vec<String> {
    let of = |choice: &str| -> Option<String> {
        let (_, body) = text.split_once(&format!("pub const {choice}: Self ="))?;
        let (body, _) = body.split_once("};")?;
        let (_, value) = body.split_once(&format!(" {field}: "))?;
        Some(value.split([',', '}', '\n']).next()?.trim().to_owned())
    };
    [of("DOCUMENT"), of("SDK")].into_iter().flatten().collect()
}

/// A constant expression of products and quotients, for readers.
fn evaluate(text: &str, expression: &str) -> Result<String, String> {
    let number = |word: &str| number(text, word.trim()).map(|number| number.to_string());
    if let Some((first, last)) = expression.split_once("..=") {
        return Ok(format!("{} to {}", number(first)?, number(last)?));
    }
    if expression.starts_with(char::is_alphabetic) && expression.contains("::") && !expression.contains("MAX") {
        return Ok(expression.rsplit("::").next().unwrap_or_default().to_lowercase());
    }
    number(expression)
}

fn number(text: &str, expression: &str) -> Result<i128, String> {
    if let Some((left, right)) = expression.rsplit_once(['*', '/']) {
        let (left_value, right_value) = (number(text, left.trim())?, number(text, right.trim())?);
        let divided = expression[left.len()..].starts_with('/');
        return Ok(if divided { left_value / right_value.max(1) } else { left_value * right_value });
    }
    match expression {
        "i64::MAX" => return Ok(i64::MAX.into()),
        "i32::MAX" => return Ok(i32::MAX.into()),
        "u32::MAX" => return Ok(u32::MAX.into()),
        _ => {}
    }
    if let Ok(number) = expression.replace('_', "").parse() {
        return Ok(number);
    }
    let wrong = || format!("{expression:?} is no number that can be worked out");
    let (_, declared) = text.split_once(&format!("pub const {expression}: ")).ok_or_else(wrong)?;
    let (_, value) = declared.split_once('=').ok_or_else(wrong)?;
    number(text, value.split(';').next().unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
/// Bytes of a thing, as
/// counted (T3).
///
/// Else: refused.
pub const THING: usize = 2 * 1_024;
/// Twice that (ours).
///
/// Else: a | b.
pub const TWICE: usize =
    2 * THING;
pub struct Limits {
    /// Columns (R8).
    ///
    /// Else: refused.
    pub columns: usize,
}
impl Limits {
    /// One.
    pub const DOCUMENT: Self =
        Self { names: Names::Strict, columns: 128 };
    /// Two.
    pub const SDK: Self = Self { columns: 1024, ..Self::DOCUMENT };
}
";

    #[test]
    fn limits_are_read_with_value_and_source() {
        let limits = limits(TEXT, true).expect("right");
        let rows = limits.iter().map(|l| [&l.name, &l.value, &l.counts, &l.otherwise, &l.source].map(String::as_str));
        let expected = [
            ["THING", "2048", "Bytes of a thing, as counted", "refused.", "T3"],
            ["TWICE", "4096", "Twice that", "a \\| b.", "ours"],
            ["columns", "128, 1024", "Columns", "refused.", "R8"],
        ];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn among_other_code_a_limit_is_what_says_what_happens_else() {
        let text = "/// The name (T5).\nconst NAME: &str = \"x\";\n\
                    /// Bytes (T3).\n///\n/// Else: `TooLarge`.\nconst BYTES: usize = 2 * 1024;\n\
                    /// Checks. Else: no.\npub fn check(text: &str) {\n    const HERE: usize = 1;\n}\n";
        let limits = limits(text, false).expect("right");
        let rows = limits.iter().map(|l| [&l.name, &l.value, &l.counts].map(String::as_str));
        assert_eq!(rows.collect::<Vec<_>>(), [["BYTES", "2048", "Bytes"]]);
    }

    #[test]
    fn a_limit_that_does_not_say_what_happens_is_told() {
        let silent = "/// Bytes (T3).\npub const THING: usize = 1;\n";
        assert!(limits(silent, true).expect_err("silent").contains("THING does not say what happens"));
    }
}
