//! What a file of the source declares: comments with the words of a declaration, and what they stand above.

use crate::names::of_trait;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use syn::{Attribute, File, Ident, ImplItem, Item, ItemEnum, ItemImpl, TraitItem, Type, UseTree, Variant};

/// The crate.
const CRATE: &str = "tabstore";
/// The file with the list of modules, and its type.
pub(crate) const LIST: (&str, &str) = ("modules.rs", "Module");
/// What a declaration says before and behind the name of the module.
const MARKS: [(&str, Role); 4] = [
    ("ate of [`Module::", Role::Gate),
    ("ates of [`Module::", Role::Gate),
    ("aller of [`Module::", Role::Caller),
    ("allers of [`Module::", Role::Caller),
];
const END: char = '`';
/// What stands before a mark if only the future is the gate.
const FUTURE: &str = "future is a g";
/// What stands before a mark if what drops the future belongs to the gate.
const DROPS: &str = "With what drops its future, a g";
/// How the compiler calls what is in a function.
const INSIDE: &str = "{{closure}}";
/// What the documentation of a closed module says.
const CLOSED: &str = "A closed module";
/// What a declaration stands above.
const MAY_STAND: &str = "a function, an impl, a type or the `use` of a crate, or at the top of a file";

/// A module of the code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// The name of its file: that of the variant, in lower case.
    pub(crate) name: String,
    /// Whether only declared callers enter it from the core.
    pub(crate) is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Gate,
    Caller,
}

/// A gate or a caller of a module.
#[derive(Debug)]
pub(crate) struct Declaration {
    /// The name of the module, as it is written.
    pub(crate) module: String,
    pub(crate) role: Role,
    /// The file and the line.
    pub(crate) place: String,
    pub(crate) stands_for: Target,
}

/// What documentation stands above.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) paths: Vec<Vec<String>>,
    /// Whether functions that drop its values belong to it.
    pub(crate) has_drops: bool,
}

/// The modules of the list.
pub(crate) fn modules(text: &str) -> Result<Vec<Module>> {
    let file = syn::parse_file(text)?;
    let list = file.items.into_iter().find_map(|item| match item {
        Item::Enum(list) if list.ident == LIST.1 => Some(list),
        _ => None,
    });
    let ItemEnum { variants, .. } = list.with_context(|| format!("src/{} has no {}", LIST.0, LIST.1))?;
    let lines: Vec<&str> = text.lines().collect();
    let module = |variant: &Variant| {
        let docs = docs(&variant.attrs).filter_map(|line| lines.get(line - 1));
        Module {
            name: variant.ident.to_string().to_lowercase(),
            is_closed: docs.into_iter().any(|line| line.contains(CLOSED)),
        }
    };
    Ok(variants.iter().map(module).collect())
}

/// What a file declares, by its path in `src` and its text.
///
/// # Errors
/// A declaration above nothing that can be a gate; a text that is no Rust.
pub(crate) fn declarations(path: &str, text: &str) -> Result<Vec<Declaration>> {
    let marks = marks(text);
    if marks.is_empty() {
        return Ok(Vec::new());
    }
    let targets = targets(path, text)?;
    let declaration = |Mark { line, comment, module, role, before }: Mark| {
        let place = format!("src/{path}:{line}");
        let target = targets.range(comment).next().map(|(_, target)| target.clone());
        let mut stands_for =
            target.with_context(|| format!("{place}: a gate or a caller is declared above {MAY_STAND}"))?;
        if before.ends_with(FUTURE) {
            stands_for.paths.iter_mut().for_each(|path| path.push(INSIDE.to_owned()));
        }
        stands_for.has_drops |= before.ends_with(DROPS);
        Ok(Declaration { module, role, place, stands_for })
    };
    marks.into_iter().map(declaration).collect()
}

/// The lines of documentation.
fn docs(attributes: &[Attribute]) -> impl Iterator<Item = usize> {
    let docs = attributes.iter().filter(|attribute| attribute.path().is_ident("doc"));
    docs.map(|doc| doc.pound_token.span.start().line)
}

/// The words of a declaration.
struct Mark {
    line: usize,
    /// The lines of the comment that says them.
    comment: RangeInclusive<usize>,
    module: String,
    role: Role,
    /// The words before.
    before: String,
}

/// The declarations in comments. The words may go over the end of a line.
fn marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let lines: Vec<(usize, Option<&str>)> = (1..).zip(text.lines().map(words)).collect();
    for comment in lines.chunk_by(|(_, before), (_, line)| before.is_some() && line.is_some()) {
        let (mut all, mut starts) = (String::new(), Vec::new());
        for (line, words) in comment {
            starts.push((all.len(), *line));
            all.push_str(words.unwrap_or_default());
            all.push(' ');
        }
        let (first, last) = (comment[0].0, comment[comment.len() - 1].0);
        for (mark, role) in MARKS {
            for (at, _) in all.match_indices(mark) {
                let line = starts[starts.partition_point(|&(start, _)| start <= at) - 1].1;
                let module = all[at + mark.len()..].split(END).next().unwrap_or_default().to_owned();
                let before = all[..at].to_owned();
                marks.push(Mark { line, comment: first..=last, module, role, before });
            }
        }
    }
    marks
}

/// The words of a line that is a comment.
fn words(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//").map(|words| words.trim_start_matches(['/', '!']).trim())
}

/// What the documentation in a file stands above, by the lines of the documentation.
fn targets(path: &str, text: &str) -> Result<BTreeMap<usize, Target>> {
    let file = syn::parse_file(text).with_context(|| format!("src/{path}"))?;
    let mut targets = Targets::default();
    targets.file(&file, &path_of_file(path));
    Ok(targets.0)
}

/// The path of the module in a file.
fn path_of_file(path: &str) -> Vec<String> {
    let mut names: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    if let Some("mod" | "lib") = names.last().copied() {
        names.pop();
    }
    [CRATE].into_iter().chain(names).map(str::to_owned).collect()
}

#[derive(Default)]
struct Targets(BTreeMap<usize, Target>);

impl Targets {
    fn file(&mut self, file: &File, at: &[String]) {
        self.add(&file.attrs, vec![at.to_vec()], true);
        self.items(&file.items, at);
    }

    fn items(&mut self, items: &[Item], at: &[String]) {
        let inside = |name: &Ident| [at, &[name.to_string()]].concat();
        for item in items {
            match item {
                Item::Fn(item) => self.add(&item.attrs, vec![inside(&item.sig.ident)], false),
                Item::Struct(item) => self.add(&item.attrs, vec![inside(&item.ident)], true),
                Item::Enum(item) => self.add(&item.attrs, vec![inside(&item.ident)], true),
                Item::Impl(item) => self.implementation(item, at),
                Item::Mod(item) => {
                    self.add(&item.attrs, vec![inside(&item.ident)], true);
                    if let Some((_, items)) = &item.content {
                        self.items(items, &inside(&item.ident));
                    }
                }
                Item::Trait(item) => {
                    for function in &item.items {
                        if let TraitItem::Fn(function) = function {
                            let path = [inside(&item.ident), vec![function.sig.ident.to_string()]].concat();
                            self.add(&function.attrs, vec![path], false);
                        }
                    }
                }
                Item::Use(item) => {
                    if let UseTree::Path(tree) = &item.tree {
                        self.add(&item.attrs, vec![vec![tree.ident.to_string()]], false);
                    }
                }
                _ => {}
            }
        }
    }

    fn implementation(&mut self, item: &ItemImpl, at: &[String]) {
        let Some(name) = name_of(&item.self_ty) else { return };
        let role = item.trait_.iter().filter_map(|(path, _)| path.segments.last());
        let around =
            [at, &[name][..], &role.map(|role| of_trait(&role.ident.to_string())).collect::<Vec<_>>()].concat();
        let mut functions = Vec::new();
        for function in &item.items {
            if let ImplItem::Fn(function) = function {
                let path = [&around[..], &[function.sig.ident.to_string()]].concat();
                self.add(&function.attrs, vec![path.clone()], false);
                functions.push(path);
            }
        }
        // A type may have several blocks of its own, but implements a trait once.
        self.add(&item.attrs, if item.trait_.is_some() { vec![around] } else { functions }, false);
    }

    fn add(&mut self, attributes: &[Attribute], paths: Vec<Vec<String>>, has_drops: bool) {
        let target = Target { paths, has_drops };
        self.0.extend(docs(attributes).map(|line| (line, target.clone())));
    }
}

/// The name of a type, as it stands in a path.
fn name_of(of: &Type) -> Option<String> {
    match of {
        Type::Path(path) => path.path.segments.last().map(|name| name.ident.to_string()),
        Type::Reference(inner) => name_of(&inner.elem),
        Type::Paren(inner) => name_of(&inner.elem),
        Type::Group(inner) => name_of(&inner.elem),
        _ => None,
    }
}
