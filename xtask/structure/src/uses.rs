//! Which file uses which: by imports, and by paths in the code, both followed through re-exports to the file that defines the
//! name. A re-export itself is no use, so a `mod.rs` that only declares and re-exports ties nothing together.

use crate::circles::Graph;
use crate::names::{Import, Names, imports};
use crate::tokens::{self, Path};
use std::collections::HashSet;
use syn::visit::{self, Visit};
use syn::{Item, Pat};

/// The graph of the files of a crate.
pub fn graph(names: &Names<'_>) -> Graph {
    let mut graph = Graph::default();
    for (module, found) in names.tree.modules.iter().enumerate() {
        let mut reader =
            Reader { names, module, file: &found.file, graph: &mut graph, bound: vec![], imported: vec![] };
        names.imports(module).iter().filter(|import| import.is_private).for_each(|import| reader.uses(&import.path));
        found.items.iter().for_each(|item| reader.visit_item(item));
    }
    graph
}

struct Reader<'a> {
    names: &'a Names<'a>,
    module: usize,
    file: &'a str,
    graph: &'a mut Graph,
    /// The variables of the functions around. They hide items.
    bound: Vec<HashSet<String>>,
    /// The imports of the blocks around.
    imported: Vec<Import>,
}

impl Reader<'_> {
    fn uses(&mut self, path: &[String]) {
        for item in self.names.items(self.module, path) {
            let definition = &self.names.definitions[item];
            self.graph.add(self.file, &definition.file, &definition.name);
        }
    }

    /// A path in the code.
    fn path(&mut self, path: &Path) {
        let Some((first, rest)) = path.split_first() else { return };
        if rest.is_empty() && self.bound.iter().any(|bound| bound.contains(first)) {
            return;
        }
        match self.imported.iter().rev().find(|import| import.name.as_ref() == Some(first)) {
            Some(import) => self.uses(&[&import.path, rest].concat()),
            None => self.uses(path),
        }
    }

    fn function(&mut self, signature: &syn::Signature, block: Option<&syn::Block>) {
        let mut variables = Variables::default();
        variables.visit_signature(signature);
        block.into_iter().for_each(|block| variables.visit_block(block));
        self.bound.push(variables.0);
        self.visit_signature(signature);
        block.into_iter().for_each(|block| self.visit_block(block));
        self.bound.pop();
    }
}

impl<'s> Visit<'s> for Reader<'_> {
    fn visit_attribute(&mut self, _: &'s syn::Attribute) {}

    fn visit_visibility(&mut self, _: &'s syn::Visibility) {}

    fn visit_item_fn(&mut self, item: &'s syn::ItemFn) {
        self.function(&item.sig, Some(&item.block));
    }

    fn visit_impl_item_fn(&mut self, item: &'s syn::ImplItemFn) {
        self.function(&item.sig, Some(&item.block));
    }

    fn visit_trait_item_fn(&mut self, item: &'s syn::TraitItemFn) {
        self.function(&item.sig, item.default.as_ref());
    }

    fn visit_block(&mut self, block: &'s syn::Block) {
        let before = self.imported.len();
        for statement in &block.stmts {
            if let syn::Stmt::Item(Item::Use(item)) = statement {
                imports(item, &mut self.imported);
            }
        }
        let new: Vec<Path> = self.imported[before..].iter().map(|import| import.path.clone()).collect();
        new.iter().for_each(|path| self.uses(path));
        visit::visit_block(self, block);
        self.imported.truncate(before);
    }

    /// The imports of a module are known, and those of a block are read with it.
    fn visit_item_use(&mut self, _: &'s syn::ItemUse) {}

    fn visit_path(&mut self, path: &'s syn::Path) {
        if path.leading_colon.is_none() {
            self.path(&path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_item_macro(&mut self, item: &'s syn::ItemMacro) {
        if item.ident.is_some() {
            let (_, rest) = tokens::split_uses(item.mac.tokens.clone());
            tokens::paths(rest).iter().for_each(|path| self.path(path));
        } else {
            self.visit_macro(&item.mac);
        }
    }

    fn visit_macro(&mut self, call: &'s syn::Macro) {
        if let Some(name) = call.path.segments.last()
            && let Some(file) = self.names.of_macro(self.file, &name.ident.to_string())
        {
            self.graph.add(self.file, file, &format!("{}!", name.ident));
        }
        tokens::paths(call.tokens.clone()).iter().for_each(|path| self.path(path));
    }
}

/// The names of all variables of a function.
#[derive(Default)]
struct Variables(HashSet<String>);

impl<'s> Visit<'s> for Variables {
    fn visit_pat(&mut self, pattern: &'s Pat) {
        if let Pat::Ident(pattern) = pattern {
            let name = pattern.ident.to_string();
            // A constant in a pattern looks like a variable.
            if !name.starts_with(char::is_uppercase) {
                self.0.insert(name);
            }
        }
        visit::visit_pat(self, pattern);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    /// The edges of a crate of these files, as `from -> to: names`.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let sources = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        let tree = Tree::read(&sources, "src/lib.rs").unwrap();
        let graph = graph(&Names::new(&tree));
        let stem = |file: &str| file.trim_start_matches("src/").trim_end_matches(".rs").to_owned();
        graph
            .edges()
            .map(|edge| {
                let names: Vec<&str> = edge.names.iter().map(String::as_str).collect();
                format!("{} -> {}: {}", stem(edge.from), stem(edge.to), names.join(" "))
            })
            .collect()
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle() {
        let files = [
            ("src/lib.rs", "mod one; mod two;"),
            ("src/one.rs", "use crate::two::Two; pub struct One(Two);"),
            ("src/two.rs", "pub struct Two; pub fn one() { let x = super::one::One(Two); }"),
        ];
        assert_eq!(edges(&files), ["one -> two: Two", "two -> one: One"]);
    }

    #[test]
    fn a_re_export_leads_to_the_definition_and_is_no_use() {
        let files = [
            ("src/lib.rs", "mod room; mod user;"),
            ("src/room/mod.rs", "mod one; mod two; pub use one::One; pub(crate) use two::*;"),
            ("src/room/one.rs", "use super::Two; pub struct One(Two);"),
            ("src/room/two.rs", "pub struct Two;"),
            ("src/user.rs", "use crate::room::{One, Two as Second}; fn f(_: One, _: Second) {}"),
        ];
        assert_eq!(edges(&files), ["room/one -> room/two: Two", "user -> room/one: One", "user -> room/two: Two"]);
    }

    #[test]
    fn a_parent_that_defines_what_its_children_use_is_in_the_circle() {
        let files = [
            ("src/lib.rs", "mod room;"),
            ("src/room/mod.rs", "mod part; pub use part::Part; pub struct Room { part: Part }"),
            ("src/room/part.rs", "use super::*; pub struct Part; impl Room { fn f(&self) {} }"),
        ];
        assert_eq!(edges(&files), ["room/mod -> room/part: Part", "room/part -> room/mod: Room"]);
    }

    #[test]
    fn modules_types_and_functions_of_one_name_are_told_apart() {
        let files = [
            ("src/lib.rs", "mod merge; mod user; pub use merge::merge;"),
            ("src/merge.rs", "pub fn merge() {} pub enum Kind { One }"),
            ("src/user.rs", "use crate::merge; fn f() { merge(); let k = merge::Kind::One; }"),
        ];
        assert_eq!(edges(&files), ["user -> merge: Kind merge"]);
    }

    #[test]
    fn tests_are_left_out() {
        let files = [
            ("src/lib.rs", "mod one; mod two;"),
            ("src/one.rs", "pub struct One; #[cfg(test)] use crate::two::Two; #[cfg(test)] mod tests;"),
            (
                "src/two.rs",
                "pub struct Two; impl Two { #[cfg(test)] fn f() -> crate::one::One {} #[cfg(not(test))] fn g() {} } \
                #[cfg(all(test, unix))] mod tests { use crate::one::One; }",
            ),
        ];
        assert_eq!(edges(&files), Vec::<String>::new());
    }

    #[test]
    fn macros_are_read_too() {
        let files = [
            ("src/lib.rs", "#[macro_use] mod layout; mod fields; mod codes; mod user;"),
            ("src/layout.rs", "macro_rules! layout { ($($a:tt)*) => { use crate::fields::*; pub enum Made {} } }"),
            ("src/fields.rs", "pub struct Field; pub fn read() {}"),
            ("src/codes.rs", "layout! { Code = Field }"),
            (
                "src/user.rs",
                "use crate::codes::{Code, Made}; fn f(read: u8) { assert_eq!(crate::fields::read(), read); }",
            ),
        ];
        assert_eq!(
            edges(&files),
            ["codes -> fields: Field", "codes -> layout: layout!", "user -> codes: Code Made", "user -> fields: read"]
        );
    }

    #[test]
    fn variables_hide_items_and_blocks_have_imports_of_their_own() {
        let files = [
            ("src/lib.rs", "mod one; mod two; mod user;"),
            ("src/one.rs", "pub fn one() {}"),
            ("src/two.rs", "pub mod deep { pub fn two() {} }"),
            ("src/user.rs", "use crate::one::*; fn f(one: u8) -> u8 { use crate::two::deep as d; d::two(); one }"),
        ];
        assert_eq!(edges(&files), ["user -> two: two"]);
    }
}
