//! Short names for the imports and exports of a wasm file, in its JavaScript.

use crate::run::Failure;
use std::collections::HashMap;

/// The module from which wasm-bindgen lets the wasm file import, and wasm-opt's name for it.
const MODULE: (&str, &str) = ("\"./tabstore_bg.js\": ", "\"a\": ");

/// Puts the names of wasm-opt into the glue. `renamed` is the output of wasm-opt: JSON with a line for each import
/// (`["module", "name", "short"]`) and each export (`["name", "short"]`).
pub fn apply(glue: &str, renamed: &str) -> Result<String, Failure> {
    let (mut imports, mut exports) = (HashMap::new(), HashMap::new());
    for line in renamed.lines() {
        match *line.split('"').skip(1).step_by(2).collect::<Vec<_>>() {
            [_, name, short] => imports.insert(name, short),
            [name, short] => exports.insert(name, short),
            _ => None,
        };
    }
    if imports.is_empty() || exports.is_empty() || !glue.contains(MODULE.0) {
        return Err(Failure::new(
            "wasm-opt or wasm-bindgen write otherwise than expected: mend xtask/src/short_names.rs",
        ));
    }
    // Imports are the properties of an object, one on a line.
    let glue = rename(glue, "\n        ", &imports);
    Ok(rename(&glue, "wasm.", &exports).replace(MODULE.0, MODULE.1))
}

/// Replaces the renamed ones of the identifiers after `mark`.
fn rename(text: &str, mark: &str, names: &HashMap<&str, &str>) -> String {
    let mut parts = text.split(mark);
    let mut renamed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        renamed.extend([mark, names.get(name).unwrap_or(&name), rest]);
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_and_exports_are_renamed_and_nothing_else() {
        let glue = "const import0 = {\n        __wbg_a_1: function() { a_1(wasm.run, wasm.runs); },\n};\n\
                    return { \"./tabstore_bg.js\": import0 };";
        let renamed =
            "\"imports\": [\n [\"./tabstore_bg.js\", \"__wbg_a_1\", \"$\"]\n],\n\"exports\": [\n [\"run\", \"b\"]\n]";
        let expected = "const import0 = {\n        $: function() { a_1(wasm.b, wasm.runs); },\n};\n\
                        return { \"a\": import0 };";
        assert_eq!(apply(glue, renamed).unwrap(), expected);
        assert!(apply(glue, "").is_err());
    }
}
