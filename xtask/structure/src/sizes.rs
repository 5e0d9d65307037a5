//! The lengths of files and functions.

use crate::tree::Tree;
use std::fmt;
use syn::visit::{self, Visit};

/// A function, and its lines from `fn` to the last brace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub file: String,
    pub lines: usize,
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}, {} lines", self.name, self.file, self.lines)
    }
}

/// All functions of a crate.
pub fn functions(tree: &Tree) -> Vec<Function> {
    let mut found = Vec::new();
    for module in &tree.modules {
        let mut reader = Reader { file: &module.file, found: &mut found };
        module.items.iter().for_each(|item| reader.visit_item(item));
    }
    found
}

/// The number that so many hundredths of the numbers do not exceed. `numbers` ascend.
pub fn percentile(numbers: &[usize], hundredths: usize) -> usize {
    let at = (numbers.len() * hundredths).div_ceil(100).saturating_sub(1);
    numbers.get(at).copied().unwrap_or_default()
}

struct Reader<'a> {
    file: &'a str,
    found: &'a mut Vec<Function>,
}

impl Reader<'_> {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.fn_token.span.start().line;
        let last = block.brace_token.span.close().end().line;
        self.found.push(Function {
            name: signature.ident.to_string(),
            file: self.file.to_owned(),
            lines: last - first + 1,
        });
    }
}

impl<'s> Visit<'s> for Reader<'_> {
    fn visit_item_fn(&mut self, item: &'s syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'s syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'s syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_fn_to_the_brace() {
        let text = "/// A\n/// comment.\npub fn one(\n    a: u8,\n) {\n}\nimpl A {\n    fn two() {}\n}\ntrait T {\n    fn three();\n}\n#[test]\nfn t() {}\n";
        let tree = Tree::read(&[("lib.rs".to_owned(), text.to_owned())].into(), "lib.rs").unwrap();
        let lengths: Vec<_> = functions(&tree).into_iter().map(|function| (function.name, function.lines)).collect();
        assert_eq!(lengths, [("one".to_owned(), 4), ("two".to_owned(), 1)]);
    }

    #[test]
    fn percentiles_are_numbers_of_the_list() {
        assert_eq!((percentile(&[1, 2, 3, 4], 50), percentile(&[1, 2, 3], 50), percentile(&[5], 90)), (2, 2, 5));
        assert_eq!((percentile(&[], 50), percentile(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 90)), (0, 9));
    }
}
