//! Renders for the npm package what the contract between client and engine says: numbers, names, and the administrative operations
//! with their arguments.
//!
//! The rest of the package's codec is written by hand: which fields come in which order in pkg/src/codec/requests.ts and responses.ts,
//! and single ones in request.ts, parts.ts and arguments.ts. The bytes in tests/behaviour/contract hold both sides together.

mod administration;
mod arguments;
#[expect(dead_code, reason = "only the fuzz targets draw requests")]
mod described;
mod numbers;

use crate::run::{Failure, root};
use std::fs;

/// The first lines of each file.
const HEAD: &str =
    "// Rendered from src/session/codec/contract.rs by `cargo xtask build`: change that file, not this one.\n\n";

/// Writes changed files only, so unchanged ones are not compiled again.
pub fn write() -> Result<(), Failure> {
    let folder = root().join("pkg/src/codec");
    let files = [
        ("contract.ts", numbers::render()),
        ("contract-administration.ts", administration::render()),
        ("contract-arguments.ts", arguments::render()?),
    ];
    for (name, text) in files {
        let (file, text) = (folder.join(name), format!("{HEAD}{text}"));
        if fs::read_to_string(&file).ok().as_deref() != Some(text.as_str()) {
            fs::write(&file, text)?;
        }
    }
    Ok(())
}

/// `PUT_ROW` or `put_row` as `putRow`.
fn camel(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &upper_first(word))
}

/// `PutRow` as `PUT_ROW`.
fn constant(name: &str) -> String {
    let mut constant = String::new();
    for (at, letter) in name.char_indices() {
        if at > 0 && letter.is_ascii_uppercase() {
            constant.push('_');
        }
        constant.push(letter.to_ascii_uppercase());
    }
    constant
}

fn upper_first(word: &str) -> String {
    let (first, rest) = word.split_at(1.min(word.len()));
    first.to_ascii_uppercase() + rest
}

fn lower_first(word: &str) -> String {
    let (first, rest) = word.split_at(1.min(word.len()));
    first.to_ascii_lowercase() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_language_become_those_of_the_other() {
        assert_eq!(camel("BATCH_WRITE_ROW"), "batchWriteRow");
        assert_eq!(camel("max_versions"), "maxVersions");
        assert_eq!(camel("key"), "key");
        assert_eq!(constant("ReturnContent"), "RETURN_CONTENT");
        assert_eq!(lower_first("GetRow"), "getRow");
    }
}
