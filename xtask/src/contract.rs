//! Renders the codec of the npm package from the contract between client and engine.
//!
//! The rendered code determines which bytes come in which order, and which administrative operations there are. The code that checks,
//! writes and reads one field or argument is written by hand, in pkg/src/codec/request.ts, parts.ts and arguments.ts. The tables of
//! `requests.rs`, `responses.rs` and `arguments.rs` refer to it.

mod administration;
mod arguments;
#[expect(dead_code, reason = "only the fuzz targets ask what an unknown number damages")]
mod described;
mod numbers;
mod requests;
mod responses;

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
        ("contract-requests.ts", requests::render()?),
        ("contract-responses.ts", responses::render()?),
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
