//! What a name means in a module: declarations, imports and re-exports, followed to the definition.

use crate::tokens::{self, Path};
use crate::tree::Tree;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use syn::{ForeignItem, Item, UseTree, Visibility};

/// Words that mean the same in every module, so that a macro that has them does not define them.
const PRELUDE: [&str; 12] =
    ["Box", "Copy", "Clone", "Default", "Err", "None", "Ok", "Option", "Result", "Some", "String", "Vec"];

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// The number of a definition.
    Item(usize),
}

impl Target {
    fn item(self) -> Option<usize> {
        match self {
            Self::Item(item) => Some(item),
            Self::Module(_) => None,
        }
    }
}

/// Where an item is defined.
#[derive(Clone, Debug)]
pub struct Definition {
    pub name: String,
    pub file: String,
}

/// An import.
#[derive(Clone, Debug)]
pub struct Import {
    pub path: Path,
    /// The name that it gives to its path. None of `use path::*`.
    pub name: Option<String>,
    /// Others cannot use the name through this module, so it is there for the module itself.
    pub is_private: bool,
}

#[derive(Debug, Default)]
struct Scope {
    defined: HashMap<String, Vec<Target>>,
    imports: Vec<Import>,
    /// Words in calls of macros that make items. Such a word may be the name of one.
    generated: HashMap<String, Target>,
}

/// What a call of a macro brings to its module.
#[derive(Debug, Default)]
struct Brought {
    imports: Vec<Import>,
    names: Vec<String>,
}

/// The names of a crate.
pub struct Names<'t> {
    pub tree: &'t Tree,
    pub definitions: Vec<Definition>,
    scopes: Vec<Scope>,
    /// The files that define each macro of this crate.
    macros: BTreeMap<String, Vec<String>>,
    /// What [`items`](Self::items) has found.
    known: RefCell<HashMap<(usize, Path), Vec<usize>>>,
}

impl<'t> Names<'t> {
    /// Collects the names of all modules.
    pub fn new(tree: &'t Tree) -> Self {
        let mut names = Self {
            tree,
            definitions: Vec::new(),
            scopes: Vec::new(),
            macros: BTreeMap::new(),
            known: RefCell::new(HashMap::new()),
        };
        let bodies = names.macros();
        for (module, found) in tree.modules.iter().enumerate() {
            let mut scope = Scope::default();
            for (name, child) in &found.children {
                scope.defined.entry(name.clone()).or_default().push(Target::Module(*child));
            }
            for item in &found.items {
                names.declare(module, item, &mut scope, &bodies);
            }
            names.scopes.push(scope);
        }
        names
    }

    /// Notes where macros are defined. Returns what a call of each brings.
    fn macros(&mut self) -> HashMap<String, Brought> {
        let mut bodies = HashMap::new();
        for module in &self.tree.modules {
            for item in &module.items {
                if let Item::Macro(item) = item
                    && let Some(name) = &item.ident
                {
                    let (uses, rest) = tokens::split_uses(item.mac.tokens.clone());
                    let mut brought = Brought { names: tokens::declared(rest), ..Brought::default() };
                    uses.iter().for_each(|item| imports(item, &mut brought.imports));
                    bodies.insert(name.to_string(), brought);
                    self.macros.entry(name.to_string()).or_default().push(module.file.clone());
                }
            }
        }
        bodies
    }

    fn declare(&mut self, module: usize, item: &Item, scope: &mut Scope, macros: &HashMap<String, Brought>) {
        for name in declared_by(item) {
            let target = self.define(module, &name);
            scope.defined.entry(name).or_default().push(target);
        }
        match item {
            Item::Use(item) => imports(item, &mut scope.imports),
            Item::Macro(call) if call.ident.is_none() => {
                let mut words: HashSet<String> = tokens::words(call.mac.tokens.clone()).into_iter().collect();
                let called = call.mac.path.segments.last().map(|segment| segment.ident.to_string());
                if let Some(brought) = called.and_then(|name| macros.get(&name)) {
                    scope.imports.extend(brought.imports.iter().cloned());
                    words.extend(brought.names.iter().cloned());
                }
                for word in words.into_iter().filter(|word| !PRELUDE.contains(&word.as_str())) {
                    let target = self.define(module, &word);
                    scope.generated.insert(word, target);
                }
            }
            _ => {}
        }
    }

    fn define(&mut self, module: usize, name: &str) -> Target {
        let file = self.tree.modules[module].file.clone();
        self.definitions.push(Definition { name: name.to_owned(), file });
        Target::Item(self.definitions.len() - 1)
    }

    /// The imports of a module.
    pub fn imports(&self, module: usize) -> &[Import] {
        &self.scopes[module].imports
    }

    /// The file that defines a macro, seen from `file`: its own, or else the only one that does.
    pub fn of_macro(&self, file: &str, name: &str) -> Option<&str> {
        let files = self.macros.get(name)?;
        match files.as_slice() {
            _ if files.iter().any(|own| own == file) => None,
            [only] => Some(only),
            _ => None,
        }
    }

    /// The definition of an item of `module`.
    pub fn own(&self, module: usize, name: &str) -> Option<usize> {
        self.scopes[module].defined.get(name)?.iter().copied().find_map(Target::item)
    }

    /// The items of this crate that a path means, seen from `module`. Names of different kinds may share a path. Variants and
    /// associated items count as their type.
    pub fn items(&self, module: usize, path: &[String]) -> Vec<usize> {
        let key = (module, path.to_vec());
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let targets = self.walk(module, path, &mut Vec::new());
        let found: Vec<usize> = targets.into_iter().filter_map(Target::item).collect();
        self.known.borrow_mut().insert(key, found.clone());
        found
    }

    /// Goes along a path. `busy` has the imports that led here: none is followed twice.
    fn walk(&self, module: usize, path: &[String], busy: &mut Vec<(usize, usize)>) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        let parent = |module: usize| self.tree.modules[module].parent.map(Target::Module);
        let mut at: Vec<Target> = match first.as_str() {
            "crate" => vec![Target::Module(0)],
            "self" => vec![Target::Module(module)],
            "super" => parent(module).into_iter().collect(),
            name => self.lookup(module, name, false, busy),
        };
        for word in rest {
            let mut next = Vec::new();
            for target in at {
                match target {
                    Target::Item(_) => next.push(target),
                    Target::Module(module) if word == "super" => next.extend(parent(module)),
                    Target::Module(module) => next.extend(self.lookup(module, word, true, busy)),
                }
            }
            at = next;
        }
        at
    }

    /// What `name` means in a module. If it is `qualified`, the module's name stands before it. What is declared goes before
    /// what a macro may have made.
    fn lookup(&self, module: usize, name: &str, qualified: bool, busy: &mut Vec<(usize, usize)>) -> Vec<Target> {
        let found = self.declared(module, name, busy);
        if !found.is_empty() || !(qualified || name.starts_with(char::is_uppercase)) {
            return found;
        }
        let scope = &self.scopes[module];
        match scope.generated.get(name) {
            Some(target) => vec![*target],
            None => self.by_globs(module, busy, |inner, busy| self.lookup(inner, name, qualified, busy)),
        }
    }

    /// What declarations and imports of a module say that `name` means.
    fn declared(&self, module: usize, name: &str, busy: &mut Vec<(usize, usize)>) -> Vec<Target> {
        let scope = &self.scopes[module];
        let mut found = scope.defined.get(name).cloned().unwrap_or_default();
        for (at, import) in scope.imports.iter().enumerate() {
            if import.name.as_deref() == Some(name) {
                found.extend(self.follow(module, at, busy));
            }
        }
        if found.is_empty() {
            found = self.by_globs(module, busy, |inner, busy| self.declared(inner, name, busy));
        }
        found
    }

    /// What `look` finds in the modules of which a module imports all names.
    fn by_globs(
        &self,
        module: usize,
        busy: &mut Vec<(usize, usize)>,
        look: impl Fn(usize, &mut Vec<(usize, usize)>) -> Vec<Target>,
    ) -> Vec<Target> {
        let mut found = Vec::new();
        for (at, _) in self.scopes[module].imports.iter().enumerate().filter(|(_, import)| import.name.is_none()) {
            for target in self.follow(module, at, busy) {
                if let Target::Module(inner) = target
                    && !busy.contains(&(module, at))
                {
                    busy.push((module, at));
                    found.extend(look(inner, busy));
                    busy.pop();
                }
            }
        }
        found
    }

    /// Where an import leads, unless it led here.
    fn follow(&self, module: usize, import: usize, busy: &mut Vec<(usize, usize)>) -> Vec<Target> {
        if busy.contains(&(module, import)) {
            return Vec::new();
        }
        busy.push((module, import));
        let found = self.walk(module, &self.scopes[module].imports[import].path, busy);
        busy.pop();
        found
    }
}

/// The names that an item defines in its module.
fn declared_by(item: &Item) -> Vec<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::ForeignMod(block) => {
            let names = block.items.iter().filter_map(|item| match item {
                ForeignItem::Fn(item) => Some(item.sig.ident.to_string()),
                ForeignItem::Static(item) => Some(item.ident.to_string()),
                ForeignItem::Type(item) => Some(item.ident.to_string()),
                _ => None,
            });
            return names.collect();
        }
        _ => return Vec::new(),
    };
    vec![name.to_string()]
}

/// The imports of a declaration, one for each name.
pub fn imports(item: &syn::ItemUse, found: &mut Vec<Import>) {
    // Those of other crates need not be followed.
    if item.leading_colon.is_none() {
        branch(&item.tree, &mut Vec::new(), matches!(item.vis, Visibility::Inherited), found);
    }
}

fn branch(tree: &UseTree, path: &mut Path, is_private: bool, found: &mut Vec<Import>) {
    let mut leaf = |word: Option<String>, name: Option<String>, path: &Path| {
        let mut path = path.clone();
        // `use a::{self}` imports `a`.
        path.extend(word.filter(|word| word != "self" || path.is_empty()));
        let name = if name.as_deref() == Some("self") { path.last().cloned() } else { name };
        found.push(Import { path, name, is_private });
    };
    match tree {
        UseTree::Path(tree) => {
            path.push(tree.ident.to_string());
            branch(&tree.tree, path, is_private, found);
            path.pop();
        }
        UseTree::Name(tree) => leaf(Some(tree.ident.to_string()), Some(tree.ident.to_string()), path),
        UseTree::Rename(tree) => leaf(Some(tree.ident.to_string()), Some(tree.rename.to_string()), path),
        UseTree::Glob(_) => leaf(None, None, path),
        UseTree::Group(group) => group.items.iter().for_each(|tree| branch(tree, path, is_private, found)),
    }
}
