//! Splits a wasm file into the core and modules that are loaded on first use: `tabstore-split SRC IN.wasm OUT_DIR`. It writes
//! `core.wasm` and a file for each module, and prints the functions and bytes of each. The source in `SRC` says where
//! ([`gates`]). `tabstore-split SRC` prints what it says, and does nothing.
//!
//! A module has its gates, and all code that only they reach. Two modules have copies of what both reach. The rest is the
//! core. All of them work in one memory, with one stack.
//!
//! In the core, a gate is a call through the table. A module's file fills its places of the table when it is loaded;
//! before, a gate traps. The engine keeps that from happening: see `src/modules.rs`. Functions keep their names.
//!
//! Static data that only a module needs is in the module's file ([`data`]). So are functions that only a module takes the address of:
//! the module's file fills their places of the table too.

mod data;
#[path = "../../src/files.rs"]
mod files;
mod gates;
mod names;
mod source;
mod table;

use anyhow::{Context, Result, ensure};
use data::{Needed, Segments};
use gates::Gates;
use names::Name;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use table::{empty_tables, fill, in_table, make_gate};
use walrus::ir::{Call, RefFunc, Visitor, dfs_in_order};
use walrus::{
    ExportItem, FunctionId, FunctionKind, GlobalKind, ImportKind, ImportedFunction, MemoryId, Module, ModuleConfig,
};

/// The name of the core in the imports of modules. They import from JavaScript as the core does.
const CORE: &str = "core";

/// The place of a function in its file. It is the same each time the file is read.
type Place = usize;

/// The functions of the file.
struct Functions {
    ids: Vec<FunctionId>,
    names: Vec<Option<String>>,
    /// The functions that each one calls.
    calls: Vec<Vec<Place>>,
    /// The functions that each one takes the address of.
    addresses: Vec<Vec<Place>>,
    /// The functions in the table, by their places there.
    table: BTreeMap<u32, Place>,
    /// The functions that JavaScript reaches, and those in the table whose address nobody takes, as far as one sees: somebody may
    /// take it in another way.
    roots: HashSet<Place>,
    /// Functions in the table that are never gates. The compiler makes one function of equal ones, and names it after any of them.
    /// The table does not tell who else calls it.
    small: HashSet<Place>,
}

/// How the name of a closure's function begins, if it is called through the table.
const CLOSURE: &str = "core::ops::function::FnOnce::call_once{{vtable.shim}}";

/// A function in the table with at most so many instructions and no call may be several functions in one.
const SMALL: u64 = 4;

/// What the gates of a module stand for.
#[derive(Default)]
struct Named {
    /// The functions behind the gates, without the small ones.
    gates: HashSet<Place>,
    /// The functions of the core that may call the gates.
    callers: HashSet<Place>,
}

/// A module to be written.
struct Part {
    name: String,
    is_closed: bool,
    /// The gates that others reach, in the order of their places in the table.
    gates: Vec<Place>,
    first_slot: usize,
    /// Its functions: those that its gates reach and the core does not.
    code: HashSet<Place>,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let declared = Gates::read(Path::new(&arguments.next().context("the folder of the source is missing")?))?;
    let Some(wasm) = arguments.next() else {
        print!("{}", declared.told());
        return Ok(());
    };
    split(&declared, &fs::read(wasm)?, Path::new(&arguments.next().context("the output folder is missing")?))
}

/// Writes the files of the core and of the modules.
fn split(declared: &Gates, wasm: &[u8], output: &Path) -> Result<()> {
    let write = |name: &str, code: &HashSet<Place>, module: &mut Module| -> Result<()> {
        let bytes = module.emit_wasm();
        println!("{name} {} {}", code.len(), bytes.len());
        Ok(fs::write(output.join(name).with_extension("wasm"), bytes)?)
    };
    let mut core = read(wasm)?;
    let segments = Segments::of(&core)?;
    let functions = Functions::of(&core, &segments)?;
    let table = core.tables.main_function_table()?.context("the file has no table of functions")?;

    let named = functions.named(declared)?;
    // The memory's name for the modules. Another build has another one, so its modules cannot be linked.
    let mut hasher = DefaultHasher::new();
    wasm.hash(&mut hasher);
    let memory = format!("m{:x}", hasher.finish());

    let behind: Vec<&HashSet<Place>> = named.iter().map(|named| &named.gates).collect();
    let (in_core, mut parts) = functions.divided(&declared.modules, &behind);
    let gates: HashSet<Place> = parts.iter().flat_map(|part| &part.gates).copied().collect();
    functions.check_addresses(&in_core, &[&in_core, &gates])?;
    for part in &parts {
        functions.check_addresses(&part.code, &[&in_core, &gates, &part.code])?;
    }
    let mut slots = usize::try_from(core.tables.get(table).initial)?;
    for part in &mut parts {
        ensure!(!part.gates.is_empty(), "nothing uses the module {}", part.name);
        part.first_slot = slots;
        slots += part.gates.len();
    }
    for (_, named) in parts.iter().zip(&named).filter(|(part, _)| part.is_closed) {
        functions.check_callers(&in_core, named)?;
        for other in parts.iter().filter(|other| !other.is_closed) {
            functions.check_callers(&other.code, named)?;
        }
    }

    let needed = |code: &HashSet<Place>| segments.needed(&core, code.iter().map(|&place| functions.ids[place]));
    let by_core = needed(&in_core);
    let by_parts: Vec<Needed> = parts.iter().map(|part| needed(&part.code)).collect();
    // What two modules need is in the core, and so is what nobody seems to need.
    let is_in_core =
        |start| by_core.contains(&start) || by_parts.iter().filter(|all| all.contains(&start)).count() != 1;

    let mut exported = BTreeSet::new();
    for (part, needed) in parts.iter().zip(&by_parts) {
        let slots = functions.runs(|place| part.code.contains(&place) && !gates.contains(&place));
        let mut module = part.module(wasm, &memory, &slots, |memory, module| {
            segments.write(module, memory, |start| needed.contains(&start) && !is_in_core(start));
        })?;
        exported.extend(module.imports.iter().filter(|import| import.module == CORE).map(|import| import.name.clone()));
        write(&part.name, &part.code, &mut module)?;
    }
    let main_memory = core.get_memory_id()?;
    segments.write(&mut core, main_memory, is_in_core);

    empty_tables(&mut core);
    for (slot, run) in functions.runs(|place| in_core.contains(&place) || gates.contains(&place)) {
        fill(&mut core, table, slot, run.iter().map(|&place| functions.ids[place]).collect());
    }

    for part in &parts {
        for (at, &gate) in part.gates.iter().enumerate() {
            make_gate(&mut core, functions.ids[gate], table, part.first_slot + at)?;
        }
    }
    for name in exported {
        let (kind, number) = name.split_at(1);
        let place = || usize::from_str_radix(number, 16);
        let item = match kind {
            "f" => ExportItem::Function(functions.ids[place()?]),
            "g" => ExportItem::Global(core.globals.iter().nth(place()?).context("a global")?.id()),
            "t" => ExportItem::Table(core.tables.iter().nth(place()?).context("a table")?.id()),
            _ => ExportItem::Memory(core.get_memory_id()?),
        };
        core.exports.add(&name, item);
    }
    let all = core.tables.get_mut(table);
    all.initial = slots as u64;
    all.maximum = all.maximum.map(|_| slots as u64);
    walrus::passes::gc::run(&mut core);
    write("core", &in_core, &mut core)
}

fn read(wasm: &[u8]) -> Result<Module> {
    ModuleConfig::new().generate_producers_section(false).parse(wasm)
}

impl Functions {
    /// # Errors
    /// A table that is not filled as the linker does.
    fn of(module: &Module, segments: &Segments) -> Result<Self> {
        let ids: Vec<FunctionId> = module.funcs.iter().map(walrus::Function::id).collect();
        let places: HashMap<FunctionId, Place> = ids.iter().enumerate().map(|(place, &id)| (id, place)).collect();
        let calls: Vec<Vec<Place>> =
            ids.iter().map(|&id| called(module, id).iter().map(|id| places[id]).collect()).collect();
        let table: BTreeMap<u32, Place> = in_table(module)?.into_iter().map(|(slot, id)| (slot, places[&id])).collect();
        let numbers: Vec<HashSet<u32>> = ids.iter().map(|&id| segments.numbers(module, id)).collect();
        let addressed =
            |numbers: &HashSet<u32>| numbers.iter().filter_map(|number| table.get(number)).copied().collect();
        let addresses: Vec<Vec<Place>> = numbers.iter().map(addressed).collect();
        // Places that nobody names, and those in data that nobody names, which is in the core.
        let nobodys = segments.nobodys(module, ids.iter().copied());
        let is_root = |slot: &u32| nobodys.contains(slot) || !numbers.iter().any(|numbers| numbers.contains(slot));
        let roots = exported(module).into_iter().map(|id| places[&id]);
        let roots = roots.chain(table.iter().filter(|(slot, _)| is_root(slot)).map(|(_, &place)| place)).collect();
        let names = ids.iter().map(|&id| module.funcs.get(id).name.clone()).collect();
        let is_small = |place: &Place| match &module.funcs.get(ids[*place]).kind {
            FunctionKind::Local(function) => calls[*place].is_empty() && function.size() <= SMALL,
            _ => false,
        };
        let small = table.values().copied().filter(is_small).collect();
        Ok(Self { ids, names, calls, addresses, table, roots, small })
    }

    /// The places of the table that have some of its functions, in runs without a gap: the first place of each run, and its
    /// functions.
    fn runs(&self, have: impl Fn(Place) -> bool) -> Vec<(u32, Vec<Place>)> {
        let mut runs: Vec<(u32, Vec<Place>)> = Vec::new();
        for (&slot, &place) in self.table.iter().filter(|(_, place)| have(**place)) {
            match runs.last_mut() {
                Some((first, run)) if *first + run.len() as u32 == slot => run.push(place),
                _ => runs.push((slot, vec![place])),
            }
        }
        runs
    }

    /// The functions that the source names as gates and callers of each module.
    ///
    /// # Errors
    /// A gate without a function, or a caller.
    fn named(&self, declared: &Gates) -> Result<Vec<Named>> {
        let mut all: Vec<Named> = declared.modules.iter().map(|_| Named::default()).collect();
        let mut found = BTreeSet::new();
        for (place, name) in self.names.iter().enumerate() {
            let Some(name) = name.as_ref().map(|name| Name::read(name)) else { continue };
            if let Some(gate) = declared.gate(&name).filter(|_| !self.small.contains(&place)) {
                all[declared.module(gate)].gates.insert(place);
                found.insert(gate);
            }
            for caller in declared.calls(&name) {
                all[declared.module(caller)].callers.insert(place);
                found.insert(caller);
            }
        }
        declared.check_found(&found)?;
        Ok(all)
    }

    /// Whether a function drops a value. The compiler makes one function of all that do the same, and names it after the value of any
    /// module. So other modules have copies, and do not call it as a gate.
    fn is_drop(&self, place: Place) -> bool {
        self.names[place].as_deref().is_some_and(|name| Name::read(name).is_drop)
    }

    /// The functions that some functions call.
    fn called(&self, by: &HashSet<Place>) -> HashSet<Place> {
        by.iter().flat_map(|&place| self.calls[place].iter().copied()).collect()
    }

    /// The functions that some functions take the address of.
    fn addressed(&self, by: &HashSet<Place>) -> HashSet<Place> {
        by.iter().flat_map(|&place| self.addresses[place].iter().copied()).collect()
    }

    /// The functions of the core, and the parts of these modules, given the functions `behind` their gates.
    fn divided(&self, modules: &[source::Module], behind: &[&HashSet<Place>]) -> (HashSet<Place>, Vec<Part>) {
        let part = |source::Module { name, is_closed }: &source::Module| Part {
            name: name.clone(),
            is_closed: *is_closed,
            gates: Vec::new(),
            first_slot: 0,
            code: HashSet::new(),
        };
        let mut parts: Vec<Part> = modules.iter().map(part).collect();
        let all = behind.iter().copied().flatten().copied().collect();
        let mut roots = self.roots.clone();
        loop {
            let in_core = self.reached(roots.difference(&all).copied().collect(), (&all, &all));
            self.fill_parts(&mut parts, behind, (&in_core, &roots));
            // The table has one place for what two modules take the address of. So it is in the core, which may reach more then. So is
            // what only takes its own address.
            let holders = |place: &Place| parts.iter().filter(|part| part.code.contains(place)).count();
            let is_left = |place: &&Place| !in_core.contains(place) && !all.contains(place) && holders(place) != 1;
            let before = roots.len();
            roots.extend(self.table.values().filter(is_left));
            if roots.len() == before {
                return (in_core, parts);
            }
        }
    }

    /// Finds gates and code of the parts. Modules may call each other's gates, so each finding may lead to another one.
    fn fill_parts(
        &self,
        parts: &mut [Part],
        behind: &[&HashSet<Place>],
        (in_core, roots): (&HashSet<Place>, &HashSet<Place>),
    ) {
        loop {
            let before: Vec<usize> = parts.iter().map(|part| part.code.len()).collect();
            for at in 0..parts.len() {
                let others: Vec<usize> = (0..parts.len()).filter(|&other| other != at).collect();
                // Those with which it has no copies: it calls their gates, and they call its.
                let is_apart = |&&other: &&usize| parts[at].is_closed || parts[other].is_closed;
                let apart: Vec<usize> = others.iter().filter(is_apart).copied().collect();
                let of_apart = apart.iter().flat_map(|&other| behind[other]).filter(|place| !self.is_drop(**place));
                let not_its = of_apart.chain(in_core).copied().collect();
                // Through the table a gate is called as such: the place there is the core's.
                let not_its_table = others.iter().flat_map(|&other| behind[other]).chain(in_core).copied().collect();
                let mut called = &self.called(in_core) | &self.addressed(in_core);
                let by_apart = apart.iter().flat_map(|&other| self.called(&parts[other].code));
                called.extend(by_apart.filter(|&place| !self.is_drop(place)));
                called.extend(others.iter().flat_map(|&other| self.addressed(&parts[other].code)));
                let is_reached = |gate: &Place| called.contains(gate) || roots.contains(gate);
                let mut gates: Vec<Place> = behind[at].iter().copied().filter(is_reached).collect();
                gates.sort_unstable();
                parts[at].code = self.reached(gates.clone(), (&not_its, &not_its_table));
                parts[at].gates = gates;
            }
            if parts.iter().map(|part| part.code.len()).eq(before) {
                return;
            }
        }
    }

    /// Checks that of some functions only its callers call the gates of a closed module.
    fn check_callers(&self, code: &HashSet<Place>, Named { gates, callers }: &Named) -> Result<()> {
        let name = |place: Place| self.names[place].as_deref().unwrap_or_default();
        for &place in code.difference(callers) {
            let Some(&gate) = self.calls[place].iter().find(|called| gates.contains(called)) else { continue };
            // Who calls a closure through the table does not know which one. So it matters who made it.
            let mut makers = code.iter().filter(|&maker| self.addresses[*maker].contains(&place));
            let is_made_by_callers = name(place).starts_with(CLOSURE) && makers.all(|maker| callers.contains(maker));
            ensure!(is_made_by_callers, "{} calls the gate {}", name(place), name(gate));
        }
        Ok(())
    }

    /// Checks that all functions whose address some take are among those that are `there` then.
    fn check_addresses(&self, code: &HashSet<Place>, there: &[&HashSet<Place>]) -> Result<()> {
        for &place in code {
            if let Some(&missing) =
                self.addresses[place].iter().find(|found| there.iter().all(|all| !all.contains(found)))
            {
                let name = |place: Place| self.names[place].as_deref().unwrap_or_default();
                anyhow::bail!("{} takes the address of {}, which is in no file", name(place), name(missing));
            }
        }
        Ok(())
    }

    /// All functions that are reached from some, without passing the first others by a call, and the second ones by their address.
    fn reached(&self, from: Vec<Place>, others: (&HashSet<Place>, &HashSet<Place>)) -> HashSet<Place> {
        let mut reached: HashSet<Place> = from.iter().copied().collect();
        let mut next = from;
        while let Some(place) = next.pop() {
            let called = self.calls[place].iter().filter(|called| !others.0.contains(called));
            let addressed = self.addresses[place].iter().filter(|addressed| !others.1.contains(addressed));
            next.extend(called.chain(addressed).copied().filter(|&found| reached.insert(found)));
        }
        reached
    }
}

fn called(module: &Module, id: FunctionId) -> HashSet<FunctionId> {
    #[derive(Default)]
    struct Calls(HashSet<FunctionId>);
    impl<'i> Visitor<'i> for Calls {
        fn visit_call(&mut self, call: &Call) {
            self.0.insert(call.func);
        }
        fn visit_ref_func(&mut self, function: &RefFunc) {
            self.0.insert(function.func);
        }
    }
    let mut calls = Calls::default();
    if let FunctionKind::Local(function) = &module.funcs.get(id).kind {
        dfs_in_order(&mut calls, function, function.entry_block());
    }
    calls.0
}

/// The functions that are exported, or called at the start.
fn exported(module: &Module) -> HashSet<FunctionId> {
    let exports = module.exports.iter().filter_map(|export| match export.item {
        ExportItem::Function(function) => Some(function),
        _ => None,
    });
    exports.chain(module.start).collect()
}

impl Part {
    /// Its file: its code, its functions in the table, the data that `write_data` adds to its memory, and everything else imported
    /// from the core.
    fn module(
        &self,
        wasm: &[u8],
        memory: &str,
        in_table: &[(u32, Vec<Place>)],
        write_data: impl FnOnce(MemoryId, &mut Module),
    ) -> Result<Module> {
        let mut module = read(wasm)?;
        let functions: Vec<FunctionId> = module.funcs.iter().map(walrus::Function::id).collect();
        let main = module.tables.main_function_table()?;
        module.start = None;
        for id in module.exports.iter().map(walrus::Export::id).collect::<Vec<_>>() {
            module.exports.delete(id);
        }
        empty_tables(&mut module);
        for (place, &id) in functions.iter().enumerate() {
            let function = module.funcs.get_mut(id);
            if !self.code.contains(&place) && matches!(function.kind, FunctionKind::Local(_)) {
                let import = module.imports.add(CORE, &format!("f{place:x}"), ImportKind::Function(id));
                function.kind = FunctionKind::Import(ImportedFunction { import, ty: function.ty() });
            }
        }
        for (place, id) in module.globals.iter().map(walrus::Global::id).collect::<Vec<_>>().into_iter().enumerate() {
            let import = module.imports.add(CORE, &format!("g{place:x}"), ImportKind::Global(id));
            module.globals.get_mut(id).kind = GlobalKind::Import(import);
        }
        for all in module.memories.iter_mut() {
            all.import = Some(module.imports.add(CORE, memory, ImportKind::Memory(all.id())));
        }
        write_data(module.get_memory_id()?, &mut module);
        for (place, table) in module.tables.iter_mut().enumerate() {
            table.import = Some(module.imports.add(CORE, &format!("t{place:x}"), ImportKind::Table(table.id())));
            // The core's is larger: it has the gates.
            table.maximum = None;
        }
        if let Some(main) = main {
            let mut fill = |slot, run: &[Place]| {
                fill(&mut module, main, slot, run.iter().map(|&place| functions[place]).collect());
            };
            in_table.iter().for_each(|(slot, run)| fill(*slot, run));
            fill(u32::try_from(self.first_slot)?, &self.gates);
        }
        walrus::passes::gc::run(&mut module);
        Ok(module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use walrus::ir::Value;
    use walrus::{ConstExpr, DataKind, FunctionBuilder};

    /// What a source declares that has the modules A, which is closed, and B.
    fn declared(source: &str) -> Gates {
        let list = "pub enum Module {\n/// A closed module.\nA,\n/// Open.\nB }";
        let files = [("modules.rs", list), ("lib.rs", source)];
        Gates::of(&files.map(|(path, text)| (path.to_owned(), text.to_owned()))).unwrap()
    }

    #[test]
    fn a_module_has_what_only_its_gates_reach() {
        // An export 0 calls 1 and the gate 2; the gate calls 3, and 4, which 1 calls too.
        let calls = vec![vec![1, 2], vec![4], vec![3, 4], vec![], vec![]];
        let names = (0..5).map(|place| Some(format!("tabstore::f{place}::h0123456789abcdef"))).collect();
        let (addresses, roots) = (vec![Vec::new(); 5], HashSet::from([0]));
        let (table, small) = (BTreeMap::new(), HashSet::new());
        let functions = Functions { ids: Vec::new(), names, calls, addresses, table, roots, small };
        let gate = "/// A gate of [`Module::A`].\nfn f2() {}\n";
        let named = |more: &str| functions.named(&declared(&format!("{gate}{more}")));
        let found = named("").unwrap();
        let gates = &found[0].gates;
        assert_eq!((gates, &found[1].gates), (&HashSet::from([2]), &HashSet::new()));
        let core = functions.reached(vec![0], (gates, gates));
        assert_eq!(core, HashSet::from([0, 1, 4]));
        assert_eq!(functions.reached(vec![2], (&core, &core)), HashSet::from([2, 3]));
        for missing in ["gate of [`Module::B`].", "caller of [`Module::A`]."] {
            let refused = named(&format!("\n/// A {missing}\nfn f9() {{}}")).err().map(|error| error.to_string());
            assert!(refused.as_ref().is_some_and(|text| text.starts_with("src/lib.rs:4: no function")), "{refused:?}");
        }
        functions.check_callers(&core, &named("/// A caller of [`Module::A`].\nfn f0() {}").unwrap()[0]).unwrap();
        assert!(functions.check_callers(&core, &found[0]).is_err(), "another caller");
    }

    #[test]
    fn a_closure_calls_a_closed_module_for_who_made_it() {
        // The closure 2 calls the gate 3. 0 may call the gate and makes the closure, 1 too in the second case.
        let calls = vec![vec![], vec![], vec![3], vec![]];
        let names =
            ["tabstore::f0", "tabstore::f1", CLOSURE, "tabstore::f3"].map(|name| Some(name.to_owned())).to_vec();
        let source = "/// A caller of [`Module::A`].\nfn f0() {}\n/// A gate of [`Module::A`].\nfn f3() {}";
        for (of_1, is_right) in [(vec![], true), (vec![2], false)] {
            let addresses = vec![vec![2], of_1, vec![], vec![]];
            let (table, roots, small) = (BTreeMap::new(), HashSet::from([0, 1]), HashSet::new());
            let (names, calls) = (names.clone(), calls.clone());
            let functions = Functions { ids: Vec::new(), names, calls, addresses, table, roots, small };
            let named = functions.named(&declared(source)).unwrap();
            assert_eq!(functions.check_callers(&HashSet::from([0, 1, 2]), &named[0]).is_ok(), is_right);
        }
    }

    #[test]
    fn what_drops_a_value_is_copied_into_each_closed_module_that_calls_it() {
        // The core calls the gates 1 and 2. Both call 3, which drops a value of the first module, and 4, a gate of it.
        let calls = vec![vec![1, 2], vec![3, 4], vec![3, 4], vec![], vec![]];
        let name = |place: Place| Some(format!("tabstore::f{place}::h0123456789abcdef"));
        let drops = Some("core::ptr::drop_in_place<tabstore::Key>::h0123456789abcdef".to_owned());
        let names = vec![name(0), name(1), name(2), drops, name(4)];
        let (addresses, roots) = (vec![Vec::new(); 5], HashSet::from([0]));
        let (table, small) = (BTreeMap::new(), HashSet::new());
        let functions = Functions { ids: Vec::new(), names, calls, addresses, table, roots, small };
        let behind = [HashSet::from([1, 3, 4]), HashSet::from([2])];
        let modules = ["a", "b"].map(|name| source::Module { name: name.to_owned(), is_closed: true });
        let (core, parts) = functions.divided(&modules, &behind.each_ref());
        assert_eq!(core, HashSet::from([0]));
        assert_eq!((&parts[0].gates[..], &parts[0].code), (&[1, 4][..], &HashSet::from([1, 3, 4])));
        assert_eq!((&parts[1].gates[..], &parts[1].code), (&[2][..], &HashSet::from([2, 3])), "with a copy of 3");
    }

    #[test]
    fn what_only_a_module_takes_the_address_of_is_in_the_module() {
        // The core calls the gates 1 and 2, and takes the address of 3. The first gate takes that of 4, 5 and the other gate, the
        // second one that of 5 and 6. 6 calls 7. Nobody takes the address of 8, and only 9 itself that of 9.
        let calls = vec![vec![1, 2], vec![], vec![], vec![], vec![], vec![], vec![7], vec![], vec![], vec![]];
        let addresses =
            vec![vec![3], vec![4, 5, 2], vec![5, 6], vec![], vec![], vec![], vec![], vec![], vec![], vec![9]];
        let table = (10..).zip([2, 3, 4, 5, 6, 8, 9]).collect();
        let (names, roots, small) = (vec![None; 10], HashSet::from([0, 8]), HashSet::new());
        let functions = Functions { ids: Vec::new(), names, calls, addresses, table, roots, small };
        let behind = [HashSet::from([1]), HashSet::from([2])];
        let modules = ["a", "b"].map(|name| source::Module { name: name.to_owned(), is_closed: false });
        let (core, parts) = functions.divided(&modules, &behind.each_ref());
        assert_eq!(core, HashSet::from([0, 3, 5, 8, 9]), "with 5, which both need");
        let found: Vec<_> = parts.iter().map(|part| (&part.gates[..], part.code.clone())).collect();
        assert_eq!(found, [(&[1][..], HashSet::from([1, 4])), (&[2][..], HashSet::from([2, 6, 7]))]);
        let of_core = functions.runs(|place| core.contains(&place) || place == 2);
        assert_eq!(of_core, [(10, vec![2, 3]), (13, vec![5]), (15, vec![8, 9])]);
        functions.check_addresses(&core, &[&core]).unwrap();
        functions.check_addresses(&parts[0].code, &[&core, &parts[0].code, &behind[1]]).unwrap();
        assert!(functions.check_addresses(&parts[0].code, &[&core, &parts[0].code]).is_err(), "2 is in no file");
        assert_eq!(functions.runs(|place| parts[1].code.contains(&place) && place != 2), [(14, vec![6])]);
    }

    #[test]
    fn an_address_is_a_number_in_the_code_or_in_data() {
        let mut module = Module::default();
        let memory = module.memories.add_local(false, false, 1, None, None);
        let mut made = |number: i32| {
            let mut builder = FunctionBuilder::new(&mut module.types, &[], &[walrus::ValType::I32]);
            builder.func_body().i32_const(number);
            builder.finish(Vec::new(), &mut module.funcs)
        };
        // By a number, by data, by data behind data; an address in between; nobody's.
        let all: Vec<FunctionId> = [6001, 2000, 3000, 7000, 0].map(&mut made).to_vec();
        let table = module.tables.add_local(false, 6010, None, walrus::RefType::FUNCREF);
        fill(&mut module, table, 6000, all);
        // Nobody names the last one, which is in the core.
        for (at, words) in [(2000, [6002_u32, 1]), (3000, [2, 2000]), (4000, [6001, 0])] {
            let offset = ConstExpr::Value(Value::I32(at));
            let value = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            module.data.add(DataKind::Active { memory, offset }, value);
        }
        let segments = Segments::of(&module).unwrap();
        let functions = Functions::of(&module, &segments).unwrap();
        assert_eq!(functions.addresses, [vec![1], vec![2], vec![2], vec![], vec![]]);
        assert_eq!(
            functions.roots,
            HashSet::from([0, 1, 3, 4]),
            "those that no code names, and what nobody's data names"
        );
    }

    #[test]
    fn a_small_function_in_the_table_is_no_gate() {
        let mut module = Module::default();
        let mut made = |instructions: usize| {
            let mut builder = FunctionBuilder::new(&mut module.types, &[], &[walrus::ValType::I32]);
            let mut body = builder.func_body();
            body.i32_const(1);
            for _ in 1..instructions {
                body.i32_const(1).binop(walrus::ir::BinaryOp::I32Add);
            }
            let id = builder.finish(Vec::new(), &mut module.funcs);
            module.funcs.get_mut(id).name = Some(format!("tabstore::f{instructions}"));
            id
        };
        let (small, large) = (made(1), made(4));
        let table = module.tables.add_local(false, 2, None, walrus::RefType::FUNCREF);
        fill(&mut module, table, 0, vec![small, large]);
        let segments = Segments::of(&module).unwrap();
        let functions = Functions::of(&module, &segments).unwrap();
        let named = |source| functions.named(&declared(source));
        assert_eq!(named("//! Gates of [`Module::B`].").unwrap()[1].gates, HashSet::from([1]), "the large one");
        assert!(named("/// A gate of [`Module::B`].\nfn f1() {}").is_err());
    }
}
