//! What is measured: each measure has a number for each of its things, as the methods of each type.

use crate::calls::{self, Calls};
use crate::circles::{Edge, Graph};
use crate::names::Names;
use crate::sizes::{self, Function};
use crate::tree::{Sources, Tree};
use crate::types::{self, Facts};
use crate::uses;
use std::collections::{HashMap, HashSet};

/// A type with more methods, or with methods in more files, is looked at from inside: its method circle, and who touches its
/// fields.
const LARGE: (usize, usize) = (40, 3);

fn is_large(facts: &Facts) -> bool {
    facts.inherent() > LARGE.0 || facts.files().len() > LARGE.1
}

const TOUCHED: &str = "fields that a file touches";

/// How many of the highest numbers are listed.
pub const LISTED: usize = 5;

/// The lines of a function that may be.
const LONG: usize = 50;

/// A measure. Its key names its line in the file of limits.
#[derive(Clone, Debug)]
pub struct Measure {
    pub key: &'static str,
    /// The largest come first.
    pub values: Vec<Value>,
    /// The keys of all parts, also of uses that are in no circle.
    pub known: HashSet<String>,
    /// For circles: edges without which there would be none.
    pub closing: Vec<String>,
}

/// The number of one thing, and the parts that make it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub of: String,
    pub number: usize,
    pub parts: Vec<Part>,
}

/// A part of a thing, such as a method. The key stays when a file moves to another folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub key: String,
    pub text: String,
}

/// A line of the table of types.
#[derive(Clone, Debug)]
pub struct TypeLine {
    pub name: String,
    pub methods: usize,
    pub of_traits: usize,
    pub fields: usize,
    pub files: usize,
    /// The files in its largest method circle. None if it is not large.
    pub circle: Option<usize>,
}

/// The structure of the code.
#[derive(Clone, Debug)]
pub struct Structure {
    pub measures: Vec<Measure>,
    pub types: Vec<TypeLine>,
    /// The longest functions.
    pub longest: Vec<Function>,
    /// The lengths of Rust files and of others, ascending.
    pub rust_files: Vec<usize>,
    pub script_files: Vec<usize>,
}

impl Structure {
    /// The files that touch the most fields.
    pub fn touching(&self) -> &[Value] {
        let touching = self.measures.iter().find(|measure| measure.key == TOUCHED);
        touching.map_or(&[], |measure| &measure.values[..measure.values.len().min(LISTED)])
    }
}

impl Measure {
    pub fn new(key: &'static str, mut values: Vec<Value>) -> Self {
        values.sort_by(|a, b| b.number.cmp(&a.number).then_with(|| a.of.cmp(&b.of)));
        let known = values.iter().flat_map(|value| &value.parts).map(|part| part.key.clone()).collect();
        Self { key, values, known, closing: Vec::new() }
    }

    /// The largest number.
    pub fn highest(&self) -> usize {
        self.values.first().map_or(0, |value| value.number)
    }

    /// How many numbers are above a goal.
    pub fn above(&self, goal: usize) -> usize {
        self.values.iter().filter(|value| value.number > goal).count()
    }

    /// What all numbers together have beyond a goal.
    pub fn beyond(&self, goal: usize) -> usize {
        self.values.iter().map(|value| value.number.saturating_sub(goal)).sum()
    }
}

/// Measures Rust sources whose crate begins at `src/lib.rs`, and TypeScript sources with their graph, which is asked for last.
///
/// # Errors
/// A file that does not parse.
pub fn measure(
    rust: &Sources,
    scripts: &Sources,
    script_graph: impl FnOnce() -> Result<Graph, String>,
) -> Result<Structure, String> {
    let tree = Tree::read(rust, "src/lib.rs")?;
    let names = Names::new(&tree);
    let types = types::collect(&names);
    let mut large: Vec<usize> = types.iter().filter(|(_, facts)| is_large(facts)).map(|(id, _)| *id).collect();
    large.sort_unstable();
    let calls = calls::collect(&names, &types, &large);
    let method_graphs: Vec<(&str, &Graph)> =
        large.iter().filter_map(|id| Some((types[id].name.as_str(), calls.graphs.get(id)?))).collect();
    let mut functions = sizes::functions(&tree);
    functions.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.name.cmp(&b.name)));
    let measures = vec![
        of_circles("files in a circle, Rust", &[("", &uses::graph(&names))], "uses"),
        of_circles("files in a circle, TypeScript", &[("", &script_graph()?)], "uses"),
        Measure::new("methods of a type", types.values().map(methods).collect()),
        of_circles("files in a method circle", &method_graphs, "calls"),
        Measure::new(TOUCHED, touched(&types, &calls)),
        Measure::new("functions over 50 lines", vec![long_functions(&functions)]),
        Measure::new("lines of a file", rust.iter().chain(scripts).map(file).collect()),
    ];
    functions.truncate(LISTED);
    Ok(Structure {
        measures,
        types: type_lines(&types, &calls),
        longest: functions,
        rust_files: lengths(rust),
        script_files: lengths(scripts),
    })
}

fn lengths(sources: &Sources) -> Vec<usize> {
    let mut lengths: Vec<usize> = sources.values().map(|text| text.lines().count()).collect();
    lengths.sort_unstable();
    lengths
}

/// The circles of some graphs, each of which may have a name.
fn of_circles(key: &'static str, graphs: &[(&str, &Graph)], verb: &str) -> Measure {
    let (mut values, mut known, mut closing) = (Vec::new(), HashSet::new(), Vec::new());
    for (name, graph) in graphs {
        known.extend(graph.edges().flat_map(|edge| edge_parts(&edge, verb)).map(|part| part.key));
        for circle in graph.circles() {
            let of = if name.is_empty() { circle.join(" ") } else { format!("{name}: {}", circle.join(" ")) };
            let parts = graph.within(&circle).iter().flat_map(|edge| edge_parts(edge, verb)).collect();
            values.push(Value { of, number: circle.len(), parts });
            closing.extend(graph.closing(&circle).iter().map(|edge| told(edge, verb)));
        }
    }
    Measure { known, closing, ..Measure::new(key, values) }
}

fn told(edge: &Edge<'_>, verb: &str) -> String {
    let names: Vec<&str> = edge.names.iter().map(String::as_str).collect();
    format!("{} {verb} {} of {}", edge.from, names.join(", "), edge.to)
}

fn edge_parts(edge: &Edge<'_>, verb: &str) -> Vec<Part> {
    edge.names
        .iter()
        .map(|name| Part {
            key: format!("{} {name} {}", short(edge.from), short(edge.to)),
            text: format!("{} {verb} {name} of {}", edge.from, edge.to),
        })
        .collect()
}

/// The name of a file without its folder, or the folder's name if the file is named as in every folder.
fn short(file: &str) -> &str {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    match name.rsplit_once('.').map_or(name, |(stem, _)| stem) {
        "mod" | "index" => folder.rsplit('/').next().unwrap_or(folder),
        stem => stem,
    }
}

fn methods(facts: &Facts) -> Value {
    let inherent = facts.methods.iter().filter(|method| method.is_inherent);
    let parts = inherent.map(|method| Part {
        key: format!("{}::{}", facts.name, method.name),
        text: format!("{}::{} in {}", facts.name, method.name, method.file),
    });
    Value { of: format!("{} in {}", facts.name, facts.file), number: facts.inherent(), parts: parts.collect() }
}

/// The fields of the large types that each file touches. The file that defines a type makes it of its parts, and is left out.
fn touched(types: &HashMap<usize, Facts>, calls: &Calls) -> Vec<Value> {
    let others = calls.touched.iter().filter(|((id, file), _)| types[id].file != *file);
    others
        .map(|((id, file), fields)| {
            let name = &types[id].name;
            let part = |field: &String| Part {
                key: format!("{} {name}.{field}", short(file)),
                text: format!("{file} touches {name}.{field}"),
            };
            Value { of: format!("{file}, {name}"), number: fields.len(), parts: fields.iter().map(part).collect() }
        })
        .collect()
}

/// How many functions are too long. They are one number: a long function may grow by a line, but no other may come.
fn long_functions(functions: &[Function]) -> Value {
    let long = functions.iter().filter(|function| function.lines > LONG);
    let parts: Vec<Part> =
        long.map(|function| Part { key: function.name.clone(), text: function.to_string() }).collect();
    Value { of: "functions".to_owned(), number: parts.len(), parts }
}

fn file((path, text): (&String, &String)) -> Value {
    let number = text.lines().count();
    let part = Part { key: format!("{} {number}", short(path)), text: format!("{path}, {number} lines") };
    Value { of: path.clone(), number, parts: vec![part] }
}

/// The types with the most methods, then those with the most fields.
fn type_lines(types: &HashMap<usize, Facts>, calls: &Calls) -> Vec<TypeLine> {
    let circle = |id| calls.graphs.get(id).and_then(|graph| graph.circles().first().map(Vec::len)).unwrap_or(0);
    let mut lines: Vec<TypeLine> = types
        .iter()
        .map(|(id, facts)| TypeLine {
            name: facts.name.clone(),
            methods: facts.inherent(),
            of_traits: facts.of_traits(),
            fields: facts.fields.len(),
            files: facts.files().len(),
            circle: is_large(facts).then(|| circle(id)),
        })
        .collect();
    lines.sort_by(|a, b| b.methods.cmp(&a.methods).then_with(|| a.name.cmp(&b.name)));
    let mut rest = lines.split_off(lines.len().min(6));
    rest.sort_by(|a, b| b.fields.cmp(&a.fields).then_with(|| a.name.cmp(&b.name)));
    lines.extend(rest.into_iter().take(4));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Limit, Standing, complaint};

    fn structure(part: &str) -> Structure {
        let files = [
            ("src/lib.rs", "mod room; mod other;"),
            ("src/room/mod.rs", "mod one; mod two; pub use one::One; pub use two::Two;"),
            ("src/room/one.rs", "pub struct One;"),
            ("src/room/two.rs", "use super::One; pub struct Two(One);"),
            ("src/other.rs", "use crate::room::{One, Two}; fn f(_: One, _: Two) {}"),
        ];
        let mut sources: Sources = files.map(|(file, text)| (file.to_owned(), text.to_owned())).into();
        sources.entry("src/room/one.rs".to_owned()).and_modify(|text| *text += part);
        measure(&sources, &Sources::new(), || Ok(Graph::default())).unwrap()
    }

    #[test]
    fn the_use_that_closes_a_circle_is_named() {
        let (before, after) = (structure(""), structure("fn f(_: super::Two) {}"));
        let limit = Limit { key: before.measures[0].key.to_owned(), goal: 0, highest: 0, beyond: 0 };
        assert_eq!(limit.standing(&before.measures[0]), Standing::At);
        assert_eq!(limit.standing(&after.measures[0]), Standing::Above);
        let told = complaint(&after.measures[0], &limit, Some(&before));
        let named = "new since the limits were written:\n    src/room/one.rs uses Two of src/room/two.rs";
        assert!(told.ends_with(named), "{told}");
        assert!(
            complaint(&after.measures[0], &limit, None)
                .contains("without these there would be no circle:\n    src/room/")
        );
    }

    #[test]
    fn the_names_of_files_do_not_depend_on_their_folders() {
        assert_eq!(["src/a/b.rs", "src/a/mod.rs", "b.ts", "x/index.ts"].map(short), ["b", "a", "b", "x"]);
    }
}
