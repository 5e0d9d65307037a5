//! Which methods and fields of the large types a file uses. Files with `impl` blocks of one type need no import to call each
//! other, so the graph of imports does not show it.
//!
//! The type of an expression is read as a reader would: `self`, variables and fields with a declared type, clones and
//! references of these, and whatever has the type's name, as `engine` or `self.engine`.

use crate::circles::Graph;
use crate::names::Names;
use crate::types::{Facts, named};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, FnArg, Item, Member, Pat, Token};

/// How files use the types.
#[derive(Debug, Default)]
pub struct Calls {
    /// For each type, the files with its methods that call methods in others of them.
    pub graphs: HashMap<usize, Graph>,
    /// The fields of a type that a file touches.
    pub touched: BTreeMap<(usize, String), BTreeSet<String>>,
}

/// Reads all files for uses of the types in `chosen`, which are some of `types`.
pub fn collect(names: &Names<'_>, types: &HashMap<usize, Facts>, chosen: &[usize]) -> Calls {
    let mut calls = Calls::default();
    let words = chosen.iter().map(|id| (snake(&types[id].name), *id)).collect();
    for (module, found) in names.tree.modules.iter().enumerate() {
        let mut reader = Reader {
            names,
            types,
            chosen,
            words: &words,
            module,
            file: &found.file,
            of: None,
            variables: HashMap::new(),
            calls: &mut calls,
        };
        found.items.iter().for_each(|item| reader.visit_item(item));
    }
    calls
}

/// `SegmentWriter` as `segment_writer`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

struct Reader<'a> {
    names: &'a Names<'a>,
    types: &'a HashMap<usize, Facts>,
    chosen: &'a [usize],
    /// The usual names of variables of the chosen types.
    words: &'a HashMap<String, usize>,
    module: usize,
    file: &'a str,
    /// The type of the `impl` block.
    of: Option<usize>,
    variables: HashMap<String, Option<usize>>,
    calls: &'a mut Calls,
}

impl Reader<'_> {
    fn type_of(&self, value: &Expr) -> Option<usize> {
        match value {
            Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                match self.variables.get(&name) {
                    _ if name == "self" => self.of,
                    Some(known) => *known,
                    None => self.words.get(&name).copied(),
                }
            }
            Expr::Field(field) => {
                let Member::Named(name) = &field.member else { return None };
                let name = name.to_string();
                let declared = self.type_of(&field.base).and_then(|of| self.types.get(&of)?.fields.get(&name).copied());
                declared.unwrap_or_else(|| self.words.get(&name).copied())
            }
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                match name.as_str() {
                    "clone" | "borrow" | "borrow_mut" | "as_ref" | "as_deref" | "upgrade" | "unwrap" | "expect"
                    | "ok_or_else" | "ok_or" => self.type_of(&call.receiver),
                    _ => self.words.get(&name).copied(),
                }
            }
            Expr::Call(call) => match (&*call.func, call.args.first()) {
                (Expr::Path(function), Some(argument)) => {
                    let name = function.path.segments.last()?.ident.to_string();
                    matches!(name.as_str(), "clone" | "downgrade" | "Some").then(|| self.type_of(argument))?
                }
                _ => None,
            },
            Expr::Reference(inner) => self.type_of(&inner.expr),
            Expr::Paren(inner) => self.type_of(&inner.expr),
            Expr::Try(inner) => self.type_of(&inner.expr),
            Expr::Await(inner) => self.type_of(&inner.base),
            Expr::Unary(inner) => self.type_of(&inner.expr),
            _ => None,
        }
    }

    fn called(&mut self, of: Option<usize>, method: &str) {
        if let Some(of) = of.filter(|of| self.chosen.contains(of))
            && let Some(file) = self.types[&of].file_of(method)
            && self.types[&of].methods.iter().any(|own| own.file == self.file)
        {
            self.calls.graphs.entry(of).or_default().add(self.file, file, method);
        }
    }

    fn touched(&mut self, of: Option<usize>, field: &str) {
        if let Some(of) = of.filter(|of| self.chosen.contains(of))
            && self.types[&of].fields.contains_key(field)
        {
            self.calls.touched.entry((of, self.file.to_owned())).or_default().insert(field.to_owned());
        }
    }

    /// Forgets the variables of other functions, and takes the parameters of this one.
    fn function(&mut self, signature: &syn::Signature) {
        self.variables.clear();
        for input in &signature.inputs {
            if let FnArg::Typed(input) = input {
                self.declare(&input.pat, Some(&input.ty), None);
            }
        }
    }

    fn declare(&mut self, pattern: &Pat, of: Option<&syn::Type>, value: Option<&Expr>) {
        match pattern {
            Pat::Type(pattern) => self.declare(&pattern.pat, Some(&pattern.ty), value),
            Pat::Ident(pattern) => {
                let of = match of {
                    Some(of) if is_self(of) => self.of,
                    Some(of) => named(self.names, self.module, of),
                    None => value.and_then(|value| self.type_of(value)),
                };
                let name = pattern.ident.to_string();
                // Where nothing tells the type, the usual name does.
                let of = of.or_else(|| self.words.get(&name).copied());
                self.variables.insert(name, of);
            }
            // `Some(engine)`
            Pat::TupleStruct(pattern) if pattern.elems.len() == 1 => self.declare(&pattern.elems[0], None, value),
            _ => {}
        }
    }
}

/// Whether a type is `Self`, also behind a reference or a pointer.
fn is_self(of: &syn::Type) -> bool {
    match of {
        syn::Type::Reference(inner) => is_self(&inner.elem),
        syn::Type::Path(path) => path.path.segments.last().is_some_and(|last| match &last.arguments {
            syn::PathArguments::AngleBracketed(arguments) => {
                arguments.args.iter().any(|argument| matches!(argument, syn::GenericArgument::Type(of) if is_self(of)))
            }
            _ => last.ident == "Self",
        }),
        _ => false,
    }
}

impl<'s> Visit<'s> for Reader<'_> {
    fn visit_item_impl(&mut self, block: &'s syn::ItemImpl) {
        let before = std::mem::replace(&mut self.of, named(self.names, self.module, &block.self_ty));
        visit::visit_item_impl(self, block);
        self.of = before;
    }

    fn visit_item_fn(&mut self, item: &'s syn::ItemFn) {
        let before = self.variables.clone();
        self.function(&item.sig);
        visit::visit_item_fn(self, item);
        self.variables = before;
    }

    fn visit_impl_item_fn(&mut self, item: &'s syn::ImplItemFn) {
        self.function(&item.sig);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_local(&mut self, local: &'s syn::Local) {
        visit::visit_local(self, local);
        let value = local.init.as_ref().map(|init| &*init.expr);
        // `let Self { a, b, .. } = self`
        if let (Pat::Struct(pattern), Some(value)) = (&local.pat, value) {
            let of = self.type_of(value);
            for field in &pattern.fields {
                if let Member::Named(name) = &field.member {
                    self.touched(of, &name.to_string());
                }
            }
        }
        self.declare(&local.pat, None, value);
    }

    fn visit_expr_let(&mut self, condition: &'s syn::ExprLet) {
        visit::visit_expr_let(self, condition);
        self.declare(&condition.pat, None, Some(&condition.expr));
    }

    fn visit_expr_closure(&mut self, closure: &'s syn::ExprClosure) {
        closure.inputs.iter().for_each(|input| self.declare(input, None, None));
        visit::visit_expr_closure(self, closure);
    }

    fn visit_expr_method_call(&mut self, call: &'s syn::ExprMethodCall) {
        self.called(self.type_of(&call.receiver), &call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }

    /// `Self::method` and `Engine::method`, also as values.
    fn visit_expr_path(&mut self, path: &'s syn::ExprPath) {
        let words: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let [of @ .., method] = words.as_slice()
            && !of.is_empty()
        {
            let of = if of == ["Self"] { self.of } else { self.names.items(self.module, of).first().copied() };
            self.called(of, method);
        }
        visit::visit_expr_path(self, path);
    }

    fn visit_expr_field(&mut self, field: &'s syn::ExprField) {
        if let Member::Named(name) = &field.member {
            self.touched(self.type_of(&field.base), &name.to_string());
        }
        visit::visit_expr_field(self, field);
    }

    /// The arguments of most macros are expressions.
    fn visit_macro(&mut self, call: &'s syn::Macro) {
        if let Ok(arguments) = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
            arguments.iter().for_each(|argument| self.visit_expr(argument));
        } else if let Ok(statements) = call.parse_body_with(syn::Block::parse_within) {
            statements.iter().for_each(|statement| self.visit_stmt(statement));
        }
    }

    fn visit_item(&mut self, item: &'s Item) {
        // What a macro's definition or its call among items expands to has types that cannot be known here.
        if !matches!(item, Item::Macro(_)) {
            visit::visit_item(self, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    /// For the type `Engine`: the calls among its files, and the fields that each file touches.
    fn read(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let sources = files.iter().map(|(file, text)| (format!("src/{file}.rs"), (*text).to_owned())).collect();
        let tree = Tree::read(&sources, "src/lib.rs").unwrap();
        let names = Names::new(&tree);
        let types = crate::types::collect(&names);
        let engine = types.iter().find(|(_, facts)| facts.name == "Engine").map(|(id, _)| *id).unwrap();
        let calls = collect(&names, &types, &[engine]);
        let stem = |file: &str| file.trim_start_matches("src/").trim_end_matches(".rs").to_owned();
        let list = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let graph = calls.graphs.get(&engine).cloned().unwrap_or_default();
        let edges = graph.edges().map(|edge| format!("{} -> {}: {}", stem(edge.from), stem(edge.to), list(edge.names)));
        let touched = calls.touched.iter().map(|((_, file), fields)| format!("{}: {}", stem(file), list(fields)));
        (edges.collect(), touched.collect())
    }

    const ENGINE: &str = "mod read; mod write; mod user; pub struct Engine<S> { view: u8, line: u8, house: House, s: S } \
        pub struct House { engine: u8, line: u8 } impl<S> Engine<S> { fn new() -> Self { todo!() } }";

    #[test]
    fn calls_on_self_make_a_circle_without_an_import() {
        let (edges, _) = read(&[
            ("lib", ENGINE),
            (
                "read",
                "use crate::Engine; impl<S> Engine<S> { fn get(&self) { self.flush().unwrap(); let f = || self.put(1); } }",
            ),
            (
                "write",
                "impl<S: Clone> crate::Engine<S> { fn flush(&self) {} fn put(&self, n: u8) { assert!(self.get() > n) } }",
            ),
            ("user", "use crate::Engine; fn f(engine: &Engine<u8>) { engine.get() }"),
        ]);
        assert_eq!(edges, ["read -> write: flush put", "write -> read: get"]);
    }

    #[test]
    fn receivers_are_known_by_their_types_and_names() {
        let (edges, touched) = read(&[
            ("lib", ENGINE),
            (
                "read",
                "use crate::Engine; impl Engine<u8> { fn get(&self, other: &std::rc::Rc<Self>, log: &Log) {
                    let me = std::rc::Rc::clone(other); me.flush(); log.put(); self.house.line; log.view; }
                    fn own(&self) { Self::put(self); let Self { view, .. } = self; } }",
            ),
            ("write", "impl crate::Engine<u8> { fn flush(&self) {} fn put(&self) {} }"),
            (
                "user",
                "struct User { engine: u8 } impl User { fn f(&self) { self.engine.line; if let Some(engine) = self.x() { engine.view } } }",
            ),
        ]);
        assert_eq!(edges, ["read -> write: flush put"]);
        assert_eq!(touched, ["read: house view", "user: view"]);
    }

    #[test]
    fn methods_of_traits_and_of_tests() {
        let (edges, _) = read(&[
            ("lib", ENGINE),
            (
                "read",
                "use crate::Engine; trait Reads { fn get(&self); } impl<S> Reads for Engine<S> { fn get(&self) { self.put() } }",
            ),
            (
                "write",
                "use crate::Engine; impl<S> Engine<S> { fn put(&self) { self.get(); } #[cfg(test)] fn t(&self) { self.other() } }",
            ),
            (
                "user",
                "impl crate::Engine<u8> { fn other(&self) {} } #[cfg(test)] mod tests { fn f(engine: u8) { engine.put() } }",
            ),
        ]);
        assert_eq!(edges, ["read -> write: put", "write -> read: get"]);
    }
}
