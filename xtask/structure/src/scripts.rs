//! Which file of the TypeScript sources uses which, by static imports, also of types. As in Rust, a re-export leads to the file
//! that defines the name, and is no use. What is imported with `import()` is no use either: it is loaded later.

use crate::circles::Graph;
use crate::tree::Sources;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// An import, or an export of what another file defines.
#[derive(Clone, Debug)]
struct Import {
    from: String,
    /// `*` for all names.
    name: String,
    /// Its name in this file, or for those who import it from there.
    local: String,
}

#[derive(Clone, Debug, Default)]
struct File {
    imports: Vec<Import>,
    re_exports: Vec<Import>,
    /// The names of exports, with their names in the file.
    exports: BTreeMap<String, String>,
}

/// The graph of the files in `sources`. Node parses them; `root` is the project's folder.
///
/// # Errors
/// Node or the parser is missing, or a file does not parse.
pub fn graph(sources: &Sources, root: &Path) -> Result<Graph, String> {
    Ok(resolve(&parse(&ask(sources, root)?)))
}

fn ask(sources: &Sources, root: &Path) -> Result<Value, String> {
    let mut child = Command::new("node")
        .arg(root.join("xtask/structure/imports.mjs"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run node: {error}"))?;
    let texts: serde_json::Map<String, Value> =
        sources.iter().map(|(path, text)| (path.clone(), Value::String(text.clone()))).collect();
    // It reads all of it before it writes.
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(Value::Object(texts).to_string().as_bytes()).map_err(|error| format!("node: {error}"))?;
    }
    let output = child.wait_with_output().map_err(|error| format!("node: {error}"))?;
    if !output.status.success() {
        return Err("imports.mjs failed; `npm ci` in pkg installs its parser".to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("imports.mjs: {error}"))
}

fn parse(found: &Value) -> BTreeMap<String, File> {
    let text = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let mut files = BTreeMap::new();
    for (path, read) in found.as_object().into_iter().flatten() {
        let mut file = File::default();
        for import in list(read, "imports") {
            let (Some(from), Some(name)) = (text(&import, "from"), text(&import, "name")) else { continue };
            file.imports.push(Import { from, name, local: text(&import, "local").unwrap_or_default() });
        }
        for export in list(read, "exports") {
            let Some(local) = text(&export, "name") else { continue };
            if let (Some(from), Some(name)) = (text(&export, "from"), text(&export, "imported")) {
                file.re_exports.push(Import { from, name, local });
            } else if let Some(own) = text(&export, "local") {
                file.exports.insert(local, own);
            }
        }
        files.insert(path.clone(), file);
    }
    files
}

fn resolve(files: &BTreeMap<String, File>) -> Graph {
    let mut graph = Graph::default();
    for (path, file) in files {
        // An import that is only exported again is a re-export.
        let passed_on = |import: &&Import| file.exports.values().any(|own| *own == import.local);
        for import in file.imports.iter().filter(|import| !passed_on(import)) {
            if let Some(target) = target(files, path, &import.from) {
                let definition = definition(files, &target, &import.name, &mut Vec::new()).unwrap_or(target);
                graph.add(path, &definition, &import.name);
            }
        }
    }
    graph
}

/// The file that defines what `path` exports as `name`.
fn definition(files: &BTreeMap<String, File>, path: &str, name: &str, busy: &mut Vec<String>) -> Option<String> {
    let file = files.get(path)?;
    if busy.iter().any(|other| other == path) {
        return None;
    }
    busy.push(path.to_owned());
    let mut follow = |import: &Import, name: &str| {
        let target = target(files, path, &import.from)?;
        if name == "*" { Some(target) } else { definition(files, &target, name, busy) }
    };
    let own = file.exports.get(name);
    let named = file.re_exports.iter().find(|export| export.local == name);
    let imported = own.and_then(|own| file.imports.iter().find(|import| import.local == *own));
    let found = match (named.or(imported), own) {
        (Some(import), _) => follow(import, &import.name),
        (None, Some(_)) => Some(path.to_owned()),
        _ => file.re_exports.iter().filter(|export| export.local == "*").find_map(|export| follow(export, name)),
    };
    busy.pop();
    found
}

/// The file that an import in `path` names. None is a package.
fn target(files: &BTreeMap<String, File>, path: &str, import: &str) -> Option<String> {
    if !import.starts_with('.') {
        return None;
    }
    let mut words: Vec<&str> = path.split('/').collect();
    words.pop();
    for word in import.split('/') {
        match word {
            "." => {}
            ".." => drop(words.pop()),
            word => words.push(word),
        }
    }
    let path = words.join("/");
    let stem = path.strip_suffix(".js").unwrap_or(&path);
    [path.clone(), format!("{stem}.ts"), format!("{stem}.tsx")].into_iter().find(|path| files.contains_key(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn re_exports_lead_to_the_definition() {
        let read = serde_json::json!({
            "a/index.ts": { "imports": [{ "from": "./three.ts", "name": "x", "local": "y" }], "exports": [
                { "name": "One", "from": "./one.js", "imported": "Uno", "local": null },
                { "name": "*", "from": "./two.js", "imported": "*", "local": null },
                { "name": "z", "from": null, "imported": null, "local": "y" },
            ] },
            "a/one.ts": { "imports": [{ "from": "./two", "name": "Two", "local": "Two" }], "exports": [{ "name": "Uno", "local": "Uno" }] },
            "a/two.tsx": { "imports": [{ "from": "../b.ts", "name": "*", "local": null }], "exports": [{ "name": "Two", "local": "Two" }] },
            "a/three.ts": { "imports": [], "exports": [{ "name": "x", "local": "x" }] },
            "b.ts": { "imports": [
                { "from": "./a/index.js", "name": "One", "local": "One" },
                { "from": "./a/index.js", "name": "Two", "local": "Two" },
                { "from": "./a/index.js", "name": "z", "local": "z" },
                { "from": "preact", "name": "h", "local": "h" },
            ], "exports": [] },
        });
        let graph = resolve(&parse(&read));
        let edges: Vec<(&str, &str)> = graph.edges().map(|edge| (edge.from, edge.to)).collect();
        let expected = [
            ("a/one.ts", "a/two.tsx"),
            ("a/two.tsx", "b.ts"),
            ("b.ts", "a/one.ts"),
            ("b.ts", "a/three.ts"),
            ("b.ts", "a/two.tsx"),
        ];
        assert_eq!(edges, expected);
        assert_eq!(graph.circles(), [vec!["a/one.ts", "a/two.tsx", "b.ts"]]);
    }
}
