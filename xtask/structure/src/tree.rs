//! The modules of a crate, without their tests.

use std::collections::BTreeMap;
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, ImplItem, Item, Meta, Stmt, Token, TraitItem};

/// The files of a crate, from their paths to their texts.
pub type Sources = BTreeMap<String, String>;

/// A module: a file, or a part of one in braces.
pub struct Module {
    pub file: String,
    pub parent: Option<usize>,
    /// All but modules.
    pub items: Vec<Item>,
    pub children: Vec<(String, usize)>,
}

/// The modules of a crate. The first one is its root.
#[derive(Default)]
pub struct Tree {
    pub modules: Vec<Module>,
}

impl Tree {
    /// Reads the crate whose root is the file `root`. What only tests compile is left out.
    ///
    /// # Errors
    /// A file that does not parse, or a module without a file.
    pub fn read(sources: &Sources, root: &str) -> Result<Self, String> {
        let mut tree = Self::default();
        tree.file(sources, root, folder(root), None)?;
        Ok(tree)
    }

    /// Reads the module in a file. Its child modules are in `folder`.
    fn file(&mut self, sources: &Sources, file: &str, folder: &str, parent: Option<usize>) -> Result<usize, String> {
        let text = sources.get(file).ok_or_else(|| format!("{file} is missing"))?;
        let mut parsed = syn::parse_file(text).map_err(|error| {
            let at = error.span().start();
            format!("{file}:{}:{}: {error}", at.line, at.column)
        })?;
        parsed.items.retain(|item| !is_for_tests(attributes(item)));
        WithoutTests.visit_file_mut(&mut parsed);
        self.module(sources, parsed.items, file, folder, parent)
    }

    fn module(
        &mut self,
        sources: &Sources,
        items: Vec<Item>,
        file: &str,
        folder: &str,
        parent: Option<usize>,
    ) -> Result<usize, String> {
        let at = self.modules.len();
        self.modules.push(Module { file: file.to_owned(), parent, items: Vec::new(), children: Vec::new() });
        for item in items {
            let Item::Mod(child) = item else {
                self.modules[at].items.push(item);
                continue;
            };
            let name = child.ident.to_string();
            let inside = format!("{folder}/{name}");
            let module = match child.content {
                Some((_, items)) => self.module(sources, items, file, &inside, Some(at))?,
                None => {
                    let files = [format!("{inside}.rs"), format!("{inside}/mod.rs")];
                    let path = files.iter().find(|path| sources.contains_key(*path));
                    let path = path.ok_or_else(|| format!("{file}: the module `{name}` has no file"))?;
                    self.file(sources, path, &inside, Some(at))?
                }
            };
            self.modules[at].children.push((name, module));
        }
        Ok(at)
    }
}

fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Whether only tests compile what has these attributes.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let name = attribute.path().segments.last().map(|segment| segment.ident.to_string());
        match (name.as_deref(), &attribute.meta) {
            (Some("cfg"), Meta::List(list)) => list.parse_args().is_ok_and(|condition| needs_test(&condition)),
            (Some("test" | "wasm_bindgen_test"), _) => true,
            _ => false,
        }
    })
}

/// Whether a condition is false without `test`: `test`, or `all(test, ...)`.
fn needs_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|parts| parts.iter().any(needs_test)),
        _ => false,
    }
}

/// Removes what only tests compile.
struct WithoutTests;

impl VisitMut for WithoutTests {
    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|item| !is_for_tests(attributes(item)));
        }
        visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        block.items.retain(|item| match item {
            ImplItem::Fn(item) => !is_for_tests(&item.attrs),
            ImplItem::Const(item) => !is_for_tests(&item.attrs),
            _ => true,
        });
        visit_mut::visit_item_impl_mut(self, block);
    }

    fn visit_item_trait_mut(&mut self, item: &mut syn::ItemTrait) {
        item.items.retain(|item| !matches!(item, TraitItem::Fn(item) if is_for_tests(&item.attrs)));
        visit_mut::visit_item_trait_mut(self, item);
    }

    fn visit_fields_named_mut(&mut self, fields: &mut syn::FieldsNamed) {
        let all = std::mem::take(&mut fields.named);
        fields.named = all.into_iter().filter(|field| !is_for_tests(&field.attrs)).collect();
        visit_mut::visit_fields_named_mut(self, fields);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(|statement| match statement {
            Stmt::Item(item) => !is_for_tests(attributes(item)),
            Stmt::Local(local) => !is_for_tests(&local.attrs),
            Stmt::Macro(call) => !is_for_tests(&call.attrs),
            Stmt::Expr(..) => true,
        });
        visit_mut::visit_block_mut(self, block);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
