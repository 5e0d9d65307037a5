//! The modules, their gates, and who calls them: what the source declares.
//!
//! `src/modules.rs` lists the modules. A gate is declared where it stands, in its documentation, by the words "A gate of
//! [`Module::Streams`]", with the name of the module. They may stand above
//!
//! - a function: it is the gate, with the closures in it and its state machine if it is `async`. If the words are "Its future is a
//!   gate of", the core has the function, which only makes the future, and the module what is in it. If they are "With what drops
//!   its future, a gate of", that belongs to it too: the future is made when the module is there, but the core drops it;
//! - an `impl`: its functions are;
//! - a type, or a whole file or `mod` (`//!`): all in it, and what drops its values;
//! - the `use` of another crate: all in this crate.
//!
//! A boxed future has two gates: the function that makes it, and the one whose state machine it is.
//!
//! If gates of two modules are in each other, the inner one counts. A *closed* module says so in the list. Functions of the core may
//! call it only if they are declared by "A caller of [`Module::Loads`]", in the same places as gates. Another caller would be code
//! that runs without the module, and traps: either it is written so, or the compiler made one function of two equal ones. No other
//! module has copies of the functions of a closed one, nor it of theirs. Closed modules may call each other's gates.

use crate::files;
use crate::names::Name;
use crate::source::{self, Declaration, LIST, Module, Role};
use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// What the source declares.
#[derive(Debug)]
pub(crate) struct Gates {
    /// In the order of their numbers.
    pub(crate) modules: Vec<Module>,
    /// With the numbers of their modules.
    declared: Vec<(usize, Declaration)>,
    gates: BTreeMap<Vec<String>, usize>,
    callers: BTreeMap<Vec<String>, Vec<usize>>,
}

impl Gates {
    /// Reads the source in a folder.
    ///
    /// # Errors
    /// A file that cannot be read, and what [`of`](Self::of) refuses.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let read = |file: &PathBuf| Ok((files::relative(file, folder), fs::read_to_string(file)?));
        Self::of(&files::below(folder, &["rs"])?.iter().map(read).collect::<Result<Vec<_>>>()?)
    }

    /// The declarations of some files, by their paths in `src` and their texts.
    ///
    /// # Errors
    /// No list of modules; a declaration of an unknown module, above nothing that can be a gate, or twice; a caller of a module
    /// that is not closed.
    pub(crate) fn of(files: &[(String, String)]) -> Result<Self> {
        let list = files.iter().find(|(path, _)| path == LIST.0).context("the list of modules is missing")?;
        let modules = source::modules(&list.1)?;
        let mut all = Self { modules, declared: Vec::new(), gates: BTreeMap::new(), callers: BTreeMap::new() };
        for (path, text) in files {
            all.add_file(path, text)?;
        }
        all.check_nested()?;
        Ok(all)
    }

    fn add_file(&mut self, path: &str, text: &str) -> Result<()> {
        for declaration in source::declarations(path, text)? {
            let is_its = |module: &Module| module.name == declaration.module.to_lowercase();
            let module = self.modules.iter().position(is_its);
            let module =
                module.with_context(|| format!("{}: there is no module {}", declaration.place, declaration.module))?;
            self.add(module, declaration)?;
        }
        Ok(())
    }

    fn add(&mut self, module: usize, declaration: Declaration) -> Result<()> {
        let (number, is_caller) = (self.declared.len(), declaration.role == Role::Caller);
        let Module { name, is_closed } = &self.modules[module];
        ensure!(*is_closed || !is_caller, "{}: all may call {name}, which is not closed", declaration.place);
        for path in &declaration.stands_for.paths {
            let before = match declaration.role {
                Role::Gate => self.gates.insert(path.clone(), number),
                Role::Caller => {
                    let all = self.callers.entry(path.clone()).or_default();
                    let before = all.iter().copied().find(|&other| self.declared[other].0 == module);
                    all.push(number);
                    before
                }
            };
            if let Some(before) = before {
                bail!(
                    "{}: {} is declared in {} too",
                    declaration.place,
                    path.join("::"),
                    self.declared[before].1.place
                );
            }
        }
        self.declared.push((module, declaration));
        Ok(())
    }

    /// Checks that no gate is in another one of its module.
    fn check_nested(&self) -> Result<()> {
        for (path, &number) in &self.gates {
            let (_, outside) = path.split_last().context("a gate has no name")?;
            if let Some((_, around)) = innermost(&self.gates, outside, |_| true) {
                let [(inner, declaration), (outer, other)] = [number, around].map(|number| &self.declared[number]);
                ensure!(inner != outer, "{}: {} declares this gate already", declaration.place, other.place);
            }
        }
        Ok(())
    }

    /// The declaration whose gate a function is, by the name that the compiler gave it.
    pub(crate) fn gate(&self, name: &Name) -> Option<usize> {
        let fits = |number: usize| !name.is_drop || self.declared[number].1.stands_for.has_drops;
        let found = name.paths.iter().filter_map(|path| innermost(&self.gates, path, fits));
        found.max_by_key(|&(length, _)| length).map(|(_, number)| number)
    }

    /// The declarations by which a function may call closed modules.
    pub(crate) fn calls(&self, name: &Name) -> Vec<usize> {
        let paths = name.paths.iter().filter(|_| !name.is_drop);
        let around = paths.flat_map(|path| (1..=path.len()).filter_map(|length| self.callers.get(&path[..length])));
        around.flatten().copied().collect()
    }

    /// The number of the module that a declaration names.
    pub(crate) fn module(&self, declaration: usize) -> usize {
        self.declared[declaration].0
    }

    /// Checks that each declaration has a function.
    ///
    /// # Errors
    /// The places of the others.
    pub(crate) fn check_found(&self, found: &BTreeSet<usize>) -> Result<()> {
        let missing = self.declared.iter().enumerate().filter(|(number, _)| !found.contains(number));
        let places: Vec<&str> = missing.map(|(_, (_, declaration))| &declaration.place[..]).collect();
        ensure!(
            places.is_empty(),
            "{}: no function of the wasm file is the declared gate or caller: it was inlined (use #[inline(never)]), or nothing calls it",
            places.join(", ")
        );
        Ok(())
    }

    /// All declarations as a text. Another text needs another split.
    pub(crate) fn told(&self) -> String {
        let mut told = String::new();
        for Module { name, is_closed } in &self.modules {
            let _ = writeln!(told, "{name} {}", if *is_closed { "closed" } else { "open" });
        }
        for (path, &number) in &self.gates {
            let (module, Declaration { stands_for, .. }) = &self.declared[number];
            let _ = writeln!(told, "{} {} {}", self.modules[*module].name, path.join("::"), stands_for.has_drops);
        }
        for (path, callers) in &self.callers {
            for &number in callers {
                let _ = writeln!(told, "{} is called by {}", self.modules[self.module(number)].name, path.join("::"));
            }
        }
        told
    }
}

/// The longest path that a path begins with, of the declarations that fit: its length, and the declaration.
fn innermost(
    declared: &BTreeMap<Vec<String>, usize>,
    path: &[String],
    fits: impl Fn(usize) -> bool,
) -> Option<(usize, usize)> {
    let lengths = (1..=path.len()).rev();
    lengths.filter_map(|length| Some((length, *declared.get(&path[..length])?))).find(|&(_, number)| fits(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULES: &str = "
        pub enum Module {
            /// One.
            First,
            /// Two. A closed module: few may call it.
            Second,
        }";

    fn read(files: &[(&str, &str)]) -> Result<Gates> {
        let files: Vec<_> = [&[("modules.rs", MODULES)], files].concat();
        Gates::of(&files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect::<Vec<_>>())
    }

    /// The module whose gate the function of that name is.
    fn module_of(gates: &Gates, name: &str) -> Option<usize> {
        gates.gate(&Name::read(name)).map(|declaration| gates.module(declaration))
    }

    /// Checks which of some functions are gates of the first module, as the text of `store/rows.rs` declares.
    #[track_caller]
    fn check(text: &str, are_gates: &[&str], are_none: &[&str]) {
        let gates = read(&[("store/rows.rs", text)]).unwrap();
        for (names, expected) in [(are_gates, Some(0)), (are_none, None)] {
            for name in names {
                assert_eq!(module_of(&gates, name), expected, "{name}");
            }
        }
    }

    #[test]
    fn the_list_tells_names_and_which_modules_are_closed() {
        let modules = read(&[]).unwrap().modules;
        let told: Vec<_> = modules.iter().map(|module| (&module.name[..], module.is_closed)).collect();
        assert_eq!(told, [("first", false), ("second", true)]);
        assert!(Gates::of(&[("lib.rs".to_owned(), String::new())]).is_err(), "without a list");
    }

    #[test]
    fn a_function_is_a_gate_with_all_in_it() {
        check(
            "/// Works. A gate of\n/// [`Module::First`](crate::modules::Module::First): rarely.\n#[inline(never)]\npub(crate) async fn work() {}\nfn works() {}",
            &[
                "tabstore::store::rows::work::h0123456789abcdef",
                "tabstore::store::rows::work::{{closure}}::{{closure}}",
            ],
            &[
                "tabstore::store::rows::works",
                "tabstore::store::rows",
                "tabstore::store::work",
                "tabstore::store::rows::Type::work",
                "core::ptr::drop_in_place<tabstore::store::rows::work::{{closure}}>",
            ],
        );
    }

    #[test]
    fn the_future_of_a_function_is_a_gate_without_the_function() {
        check(
            "/// Its future is a gate of [`Module::First`].\nasync fn work() {}",
            &["tabstore::store::rows::work::{{closure}}", "tabstore::store::rows::work::{{closure}}::{{closure}}"],
            &["tabstore::store::rows::work"],
        );
        let drops = "core::ptr::drop_in_place<tabstore::store::rows::work::{{closure}}>";
        let text = "/// With what drops its future, a gate of [`Module::First`].\nfn work() -> Boxed {}";
        check(text, &["tabstore::store::rows::work", drops], &["tabstore::store::rows::Work::work"]);
    }

    #[test]
    fn a_method_is_a_gate_wherever_the_type_is() {
        let text = "impl<D: Disk> Rows<D> {\n/// A gate of [`Module::First`].\nasync fn read<'a>(&'a self) {}\nfn write() {} }";
        check(
            text,
            &[
                "tabstore::store::rows::Rows<D>::read::{{closure}}",
                "tabstore::store::rows::<impl tabstore::store::table::Rows<D>>::read",
            ],
            &["tabstore::store::rows::Rows<D>::write", "tabstore::store::table::Rows<D>::read"],
        );
    }

    #[test]
    fn an_impl_stands_for_its_functions() {
        let own = "/// Gates of [`Module::First`].\nimpl Rows { fn read() {} }\nimpl Rows { fn write() {} }";
        check(
            own,
            &["tabstore::store::rows::Rows::read"],
            &["tabstore::store::rows::Rows::write", "core::ptr::drop_in_place<tabstore::store::rows::Rows>"],
        );
        let of_trait = "/// A gate of [`Module::First`].\nimpl<D> super::Storage<'_> for Rows<D> { made_by_macro!(); }";
        check(
            of_trait,
            &[
                "<tabstore::store::rows::Rows<D> as tabstore::store::Storage>::read::{{closure}}",
                "<tabstore::other::Rows<D> as tabstore::store::rows::Storage>::read",
                "tabstore::store::rows::<impl tabstore::store::Storage for tabstore::other::Rows<D>>::read",
            ],
            &[
                "<tabstore::store::rows::Rows<D> as tabstore::store::Boxed>::read",
                "<tabstore::store::other::Rows<D> as tabstore::store::Storage>::read",
                "tabstore::store::rows::Rows<D>::read",
            ],
        );
    }

    #[test]
    fn a_function_of_a_trait_has_the_path_of_the_trait() {
        check(
            "trait Storage {\n/// A gate of [`Module::First`].\nfn squeeze(&self) {}\nfn close(&self) {} }",
            &["tabstore::store::rows::Storage::squeeze"],
            &["tabstore::store::rows::Storage::close"],
        );
    }

    #[test]
    fn a_type_a_file_and_a_mod_stand_for_all_in_them_and_what_drops_their_values() {
        let in_type = [
            "tabstore::store::rows::Rows<D>::read",
            "<tabstore::store::rows::Rows<D> as core::clone::Clone>::clone",
            "core::ptr::drop_in_place<tabstore::store::rows::Rows<u8>>",
            "core::ptr::drop_in_place<core::pin::Pin<alloc::boxed::Box<tabstore::store::rows::Rows::read::{{closure}}>>>",
        ];
        let others = ["tabstore::store::rows::read", "core::ptr::drop_in_place<alloc::vec::Vec<tabstore::store::Row>>"];
        check("/// A gate of [`Module::First`].\npub struct Rows<D>(D);", &in_type, &others);
        check("/// A gate of [`Module::First`].\nenum Rows {}", &in_type, &others);
        let of_file = [&in_type[..], &["tabstore::store::rows::read", "tabstore::store::rows::inner::read"]].concat();
        check(
            "//! A gate of [`Module::First`].\nuse a::b;",
            &of_file,
            &["tabstore::store::other", "tabstore::store::rowset::read"],
        );
        let of_mod = "mod inner {\n//! All are gates of [`Module::First`].\nfn read() {} }";
        check(of_mod, &["tabstore::store::rows::inner::read"], &["tabstore::store::rows::read"]);
        let folder = read(&[("store/mod.rs", "//! A gate of [`Module::First`].")]).unwrap();
        assert_eq!(module_of(&folder, "tabstore::store::rows::read"), Some(0));
    }

    #[test]
    fn the_use_of_a_crate_stands_for_the_crate() {
        check(
            "/// A gate of [`Module::First`].\nuse other_crate::{Regex, error::Error};",
            &["other_crate::hir::parse", "<other_crate::error::Error as core::fmt::Debug>::fmt"],
            &["core::ptr::drop_in_place<other_crate::Regex>", "tabstore::store::rows::read", "other::read"],
        );
    }

    #[test]
    fn the_inner_one_of_two_gates_counts() {
        let files = [
            ("store/mod.rs", "//! A gate of [`Module::First`]."),
            ("store/rows.rs", "/// A gate of [`Module::Second`].\nfn read() {}"),
        ];
        let gates = read(&files).unwrap();
        assert_eq!(module_of(&gates, "tabstore::store::rows::read::{{closure}}"), Some(1));
        assert_eq!(module_of(&gates, "tabstore::store::rows::write"), Some(0));
        let drops = "core::ptr::drop_in_place<tabstore::store::rows::read::{{closure}}>";
        assert_eq!(module_of(&gates, drops), Some(0), "a function alone has no drops");
    }

    #[test]
    fn callers_are_declared_as_gates_are() {
        let text =
            "/// A caller of [`Module::Second`], and a gate of [`Module::First`].\nasync fn read() {}\nfn write() {}";
        let gates = read(&[("store/rows.rs", text)]).unwrap();
        let modules =
            |name: &str| gates.calls(&Name::read(name)).iter().map(|&caller| gates.module(caller)).collect::<Vec<_>>();
        assert_eq!(modules("tabstore::store::rows::read::{{closure}}"), [1]);
        assert_eq!(modules("tabstore::store::rows::write"), []);
        assert_eq!(module_of(&gates, "tabstore::store::rows::read"), Some(0));
    }

    #[test]
    fn a_wrong_declaration_is_refused_with_its_place() {
        for (text, expected) in [
            ("/// A caller of [`Module::First`].\nfn read() {}", "src/store/rows.rs:1: all may call first"),
            ("\n/// A gate of [`Module::Third`].\nfn read() {}", "src/store/rows.rs:2: there is no module Third"),
            (
                "fn read() {\n// A gate of [`Module::First`].\n}",
                "src/store/rows.rs:2: a gate or a caller is declared above",
            ),
            (
                "/// The gate of\n/// [`Module::First`].\nconst A: u8 = 1;",
                "src/store/rows.rs:1: a gate or a caller is declared above",
            ),
            (
                "/// A gate of [`Module::First`].\n/// A gate of [`Module::Second`].\nfn read() {}",
                "src/store/rows.rs:2: tabstore::store::rows::read is declared in src/store/rows.rs:1 too",
            ),
            (
                "/// A caller of [`Module::Second`].\n/// A caller of [`Module::Second`].\nfn read() {}",
                "src/store/rows.rs:2: tabstore::store::rows::read is declared in src/store/rows.rs:1 too",
            ),
            (
                "//! A gate of [`Module::First`].\n\n/// A gate of [`Module::First`].\nfn read() {}",
                "src/store/rows.rs:3: src/store/rows.rs:1 declares this gate already",
            ),
        ] {
            let refused = read(&[("store/rows.rs", text)]).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(refused.starts_with(expected), "{refused}");
        }
    }

    #[test]
    fn a_declaration_without_a_function_is_refused_with_its_place() {
        let text =
            "/// A gate of [`Module::First`].\nfn read() {}\n\n/// A caller of [`Module::Second`].\nfn write() {}";
        let gates = read(&[("store/rows.rs", text)]).unwrap();
        let refused =
            |found: &[usize]| gates.check_found(&found.iter().copied().collect()).err().map(|error| error.to_string());
        assert_eq!(refused(&[0, 1]), None);
        assert!(refused(&[1]).unwrap().starts_with("src/store/rows.rs:1: no function"));
        assert!(refused(&[]).unwrap().starts_with("src/store/rows.rs:1, src/store/rows.rs:4: no function"));
    }

    #[test]
    fn another_declaration_is_told_otherwise() {
        let told = |text| read(&[("store/rows.rs", text)]).unwrap().told();
        let text = "/// A gate of [`Module::First`].\nfn read() {}\n/// A caller of [`Module::Second`].\nfn write() {}";
        assert_eq!(
            told(text),
            "first open\nsecond closed\nfirst tabstore::store::rows::read false\nsecond is called by tabstore::store::rows::write\n"
        );
        assert_eq!(told(text), told(&format!("\n{text}")), "lines do not count");
    }

    /// A build takes minutes, and this a moment.
    #[test]
    fn the_declarations_of_the_engine_are_right() {
        let gates = Gates::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src")).unwrap();
        for (number, module) in gates.modules.iter().enumerate() {
            let has_gate = gates.gates.values().any(|&gate| gates.module(gate) == number);
            assert!(has_gate, "nothing is a gate of the module {}", module.name);
        }
    }
}
