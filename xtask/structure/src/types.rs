//! The types of a crate with their fields and methods, wherever their `impl` blocks stand.

use crate::names::Names;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use syn::{Fields, GenericArgument, ImplItem, Item, PathArguments, Type};

/// A struct, an enum or a union.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub name: String,
    /// The file that defines it.
    pub file: String,
    /// The types of its named fields. None is the type of a field whose type is of another crate.
    pub fields: BTreeMap<String, Option<usize>>,
    pub methods: Vec<Method>,
}

/// A function in an `impl` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    pub name: String,
    pub file: String,
    /// It is of the type itself, and of no trait.
    pub is_inherent: bool,
}

impl Facts {
    /// How many functions its inherent `impl` blocks have, with and without `self`.
    pub fn inherent(&self) -> usize {
        self.methods.iter().filter(|method| method.is_inherent).count()
    }

    /// How many functions its implementations of traits have.
    pub fn of_traits(&self) -> usize {
        self.methods.len() - self.inherent()
    }

    /// The files in which its inherent methods stand.
    pub fn files(&self) -> BTreeSet<&str> {
        self.methods.iter().filter(|method| method.is_inherent).map(|method| method.file.as_str()).collect()
    }

    /// The file of the method with this name, unless several files have one.
    pub fn file_of(&self, method: &str) -> Option<&str> {
        let files: BTreeSet<&str> =
            self.methods.iter().filter(|known| known.name == method).map(|known| known.file.as_str()).collect();
        files.first().copied().filter(|_| files.len() == 1)
    }
}

/// The types of a crate, by the numbers of their definitions.
pub fn collect(names: &Names<'_>) -> HashMap<usize, Facts> {
    let mut types: HashMap<usize, Facts> = HashMap::new();
    for (module, found) in names.tree.modules.iter().enumerate() {
        for item in &found.items {
            let (name, fields) = match item {
                Item::Struct(item) => (item.ident.to_string(), Some(&item.fields)),
                Item::Enum(item) => (item.ident.to_string(), None),
                Item::Union(item) => (item.ident.to_string(), None),
                _ => continue,
            };
            let Some(id) = names.own(module, &name) else { continue };
            let fields = match fields {
                Some(Fields::Named(fields)) => fields
                    .named
                    .iter()
                    .filter_map(|field| Some((field.ident.as_ref()?.to_string(), named(names, module, &field.ty))))
                    .collect(),
                _ => BTreeMap::new(),
            };
            let facts = Facts { name, file: found.file.clone(), fields, methods: Vec::new() };
            types.insert(id, facts);
        }
    }
    for (module, found) in names.tree.modules.iter().enumerate() {
        for item in &found.items {
            if let Item::Impl(block) = item
                && let Some(id) = named(names, module, &block.self_ty)
                && let Some(facts) = types.get_mut(&id)
            {
                facts.methods.extend(block.items.iter().filter_map(|item| match item {
                    ImplItem::Fn(item) => Some(Method {
                        name: item.sig.ident.to_string(),
                        file: found.file.clone(),
                        is_inherent: block.trait_.is_none(),
                    }),
                    _ => None,
                }));
            }
        }
    }
    types
}

/// The type of this crate that `of` names, also behind references and pointers: `&Rc<Engine>` is `Engine`.
pub fn named(names: &Names<'_>, module: usize, of: &Type) -> Option<usize> {
    match of {
        Type::Reference(inner) => named(names, module, &inner.elem),
        Type::Paren(inner) => named(names, module, &inner.elem),
        Type::Group(inner) => named(names, module, &inner.elem),
        Type::Path(path) if path.qself.is_none() => {
            let last = path.path.segments.last()?;
            if let PathArguments::AngleBracketed(arguments) = &last.arguments
                && matches!(
                    last.ident.to_string().as_str(),
                    "Rc" | "Weak" | "Arc" | "Box" | "Option" | "Ref" | "RefMut" | "Pin"
                )
            {
                return arguments.args.iter().find_map(|argument| match argument {
                    GenericArgument::Type(inner) => named(names, module, inner),
                    _ => None,
                });
            }
            let path: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            names.items(module, &path).first().copied()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    #[test]
    fn methods_of_all_blocks_are_counted() {
        let files = [
            ("src/lib.rs", "mod store; mod other; pub struct Far; mod inner { pub struct Far; }"),
            (
                "src/store.rs",
                "use std::rc::Rc; pub struct Store<S> { pub s: S, far: Option<Rc<crate::Far>>, n: u8 } \
                impl<S> Store<S> { pub fn new() {} fn a(&self) {} }",
            ),
            (
                "src/other.rs",
                "use crate::store::Store as Kept; trait Named { fn name(&self); } \
                impl<S: Clone> Kept<S> { fn b(&self) {} #[cfg(test)] fn t() {} } \
                impl<S> Named for Kept<S> { fn name(&self) {} } \
                #[cfg(test)] mod tests { impl super::Kept<u8> { fn c(&self) {} } }",
            ),
        ];
        let sources = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        let tree = Tree::read(&sources, "src/lib.rs").unwrap();
        let names = Names::new(&tree);
        let types = collect(&names);
        let store = types.values().find(|facts| facts.name == "Store").unwrap();
        assert_eq!((store.inherent(), store.of_traits(), store.fields.len()), (3, 1, 3));
        assert_eq!(store.files().into_iter().collect::<Vec<_>>(), ["src/other.rs", "src/store.rs"]);
        assert_eq!(store.file_of("b"), Some("src/other.rs"));
        assert_eq!(store.fields["far"], names.own(0, "Far"));
        assert_eq!(store.fields["n"], None);
        assert_eq!(types.values().filter(|facts| facts.name == "Far").count(), 2);
    }
}
