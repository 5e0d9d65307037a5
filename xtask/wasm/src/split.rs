//! Splits a wasm file into the core and modules that are loaded on first use: `tabstore-split IN.wasm OUT_DIR`. It writes
//! `core.wasm` and a file for each module, and prints the functions and bytes of each.
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
mod gates;

use anyhow::{Context, Result, ensure};
use data::{Needed, Segments};
use gates::MODULES;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use walrus::ir::{Call, RefFunc, Value, Visitor, dfs_in_order};
use walrus::{
    ConstExpr, ElementItems, ElementKind, ExportItem, FunctionBuilder, FunctionId, FunctionKind, GlobalKind,
    ImportKind, ImportedFunction, MemoryId, Module, ModuleConfig, TableId,
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

/// A function in the table with at most so many instructions and no call may be several functions in one.
const SMALL: u64 = 4;

/// A module to be written.
struct Part {
    name: &'static str,
    /// The gates that others reach, in the order of their places in the table.
    gates: Vec<Place>,
    first_slot: usize,
    /// The functions of the core that may call the gates; all, if none is named.
    callers: &'static [&'static str],
    /// Its functions: those that its gates reach and the core does not.
    code: HashSet<Place>,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let wasm = fs::read(arguments.next().context("the wasm file is missing")?)?;
    let output = arguments.next().context("the output folder is missing")?;
    let write = |name: &str, code: &HashSet<Place>, module: &mut Module| -> Result<()> {
        let bytes = module.emit_wasm();
        println!("{name} {} {}", code.len(), bytes.len());
        Ok(fs::write(Path::new(&output).join(name).with_extension("wasm"), bytes)?)
    };
    let mut core = read(&wasm)?;
    let segments = Segments::of(&core)?;
    let functions = Functions::of(&core, &segments)?;
    let table = core.tables.main_function_table()?.context("the file has no table of functions")?;

    let mut behind: Vec<HashSet<Place>> =
        MODULES.iter().map(|(_, gates, _)| functions.behind(gates)).collect::<Result<_>>()?;
    // What two modules name belongs to the later one.
    for at in 1..behind.len() {
        let (earlier, later) = behind.split_at_mut(at);
        earlier.iter_mut().for_each(|gates| gates.retain(|gate| !later[0].contains(gate)));
    }
    // The memory's name for the modules. Another build has another one, so its modules cannot be linked.
    let mut hasher = DefaultHasher::new();
    wasm.hash(&mut hasher);
    let memory = format!("m{:x}", hasher.finish());

    let (in_core, mut parts) = functions.divided(&MODULES.map(|(name, _, callers)| (name, callers)), &behind);
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
    for (at, part) in parts.iter().enumerate() {
        functions.check_callers(&in_core, &behind[at], part.callers)?;
        for other in parts.iter().filter(|other| !other.is_closed()) {
            functions.check_callers(&other.code, &behind[at], part.callers)?;
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
        let mut module = part.module(&wasm, &memory, &slots, |memory, module| {
            segments.write(module, memory, |start| needed.contains(&start) && !is_in_core(start));
        })?;
        exported.extend(module.imports.iter().filter(|import| import.module == CORE).map(|import| import.name.clone()));
        write(part.name, &part.code, &mut module)?;
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

    /// The functions that gates name, without the small ones. Each gate has to name one.
    fn behind(&self, gates: &[&str]) -> Result<HashSet<Place>> {
        let mut behind = HashSet::new();
        for gate in gates {
            let before = behind.len();
            let named =
                self.names.iter().enumerate().filter(|(_, name)| name.as_ref().is_some_and(|name| is_gate(name, gate)));
            behind.extend(named.map(|(place, _)| place).filter(|place| !self.small.contains(place)));
            ensure!(behind.len() > before, "no function is called {gate}: it was renamed, or inlined into its callers");
        }
        Ok(behind)
    }

    /// The functions that some functions call.
    fn called(&self, by: &HashSet<Place>) -> HashSet<Place> {
        by.iter().flat_map(|&place| self.calls[place].iter().copied()).collect()
    }

    /// The functions that some functions take the address of.
    fn addressed(&self, by: &HashSet<Place>) -> HashSet<Place> {
        by.iter().flat_map(|&place| self.addresses[place].iter().copied()).collect()
    }

    /// The functions of the core, and the parts of modules with these names and callers, given the functions `behind` their gates.
    fn divided(
        &self,
        modules: &[(&'static str, &'static [&'static str])],
        behind: &[HashSet<Place>],
    ) -> (HashSet<Place>, Vec<Part>) {
        let part = |&(name, callers)| Part { name, callers, gates: Vec::new(), first_slot: 0, code: HashSet::new() };
        let mut parts: Vec<Part> = modules.iter().map(part).collect();
        let all = behind.iter().flatten().copied().collect();
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
        behind: &[HashSet<Place>],
        (in_core, roots): (&HashSet<Place>, &HashSet<Place>),
    ) {
        loop {
            let before: Vec<usize> = parts.iter().map(|part| part.code.len()).collect();
            for at in 0..parts.len() {
                let others: Vec<usize> = (0..parts.len()).filter(|&other| other != at).collect();
                // Those with which it has no copies: it calls their gates, and they call its.
                let is_apart = |&&other: &&usize| parts[at].is_closed() || parts[other].is_closed();
                let apart: Vec<usize> = others.iter().filter(is_apart).copied().collect();
                let not_its = apart.iter().flat_map(|&other| &behind[other]).chain(in_core).copied().collect();
                // Through the table a gate is called as such: the place there is the core's.
                let not_its_table = others.iter().flat_map(|&other| &behind[other]).chain(in_core).copied().collect();
                let mut called = &self.called(in_core) | &self.addressed(in_core);
                called.extend(apart.iter().flat_map(|&other| self.called(&parts[other].code)));
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

    /// Checks that of some functions only the callers call the gates, if any are named.
    fn check_callers(&self, code: &HashSet<Place>, gates: &HashSet<Place>, callers: &[&str]) -> Result<()> {
        let name = |place: Place| self.names[place].as_deref().unwrap_or_default();
        for &place in code.iter().filter(|_| !callers.is_empty()) {
            if let Some(&gate) = self.calls[place].iter().find(|called| gates.contains(called)) {
                let (caller, gate) = (name(place), name(gate));
                ensure!(callers.iter().any(|known| is_gate(caller, known)), "{caller} calls the gate {gate}");
            }
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

/// Whether a gate names the function that the compiler calls `name`: a path and a hash.
fn is_gate(name: &str, gate: &str) -> bool {
    let path = name.rsplit_once("::h").filter(|(_, hash)| hash.len() == 16).map_or(name, |(path, _)| path);
    gate.strip_suffix('*').map_or(path == gate, |start| path.starts_with(start))
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

/// The functions in the table, by their places there.
fn in_table(module: &Module) -> Result<BTreeMap<u32, FunctionId>> {
    let mut all = BTreeMap::new();
    for elements in module.elements.iter() {
        let ElementKind::Active { offset: ConstExpr::Value(Value::I32(first)), .. } = elements.kind else {
            anyhow::bail!("places of the table have no fixed numbers");
        };
        let ElementItems::Functions(functions) = &elements.items else {
            anyhow::bail!("a table is filled with something else than functions");
        };
        all.extend((first.cast_unsigned()..).zip(functions.iter().copied()));
    }
    Ok(all)
}

/// Takes all functions out of all tables.
fn empty_tables(module: &mut Module) {
    for id in module.elements.iter().map(walrus::Element::id).collect::<Vec<_>>() {
        module.elements.delete(id);
    }
    module.tables.iter_mut().for_each(|table| table.elem_segments.clear());
}

/// Fills places of a table, from `slot` on.
fn fill(module: &mut Module, table: TableId, slot: u32, functions: Vec<FunctionId>) {
    let kind = ElementKind::Active { table, offset: ConstExpr::Value(Value::I32(slot.cast_signed())) };
    let elements = module.elements.add(kind, ElementItems::Functions(functions));
    module.tables.get_mut(table).elem_segments.insert(elements);
}

/// Makes a gate of a function of the core: it calls what is in a place of the table.
fn make_gate(core: &mut Module, gate: FunctionId, table: TableId, slot: usize) -> Result<()> {
    let ty = core.funcs.get(gate).ty();
    let (parameters, results) = core.types.params_results(ty);
    let (parameters, results) = (parameters.to_vec(), results.to_vec());
    let arguments: Vec<_> = parameters.iter().map(|&ty| core.locals.add(ty)).collect();
    let mut builder = FunctionBuilder::new(&mut core.types, &parameters, &results);
    let mut body = builder.func_body();
    for &argument in &arguments {
        body.local_get(argument);
    }
    body.i32_const(i32::try_from(slot)?).call_indirect(ty, table);
    core.funcs.get_mut(gate).kind = FunctionKind::Local(builder.local_func(arguments));
    Ok(())
}

impl Part {
    /// See [`MODULES`].
    fn is_closed(&self) -> bool {
        !self.callers.is_empty()
    }

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
    use walrus::DataKind;

    #[test]
    fn a_gate_names_a_path_or_all_that_begin_so() {
        assert!(is_gate("a::b::work::h0123456789abcdef", "a::b::work") && is_gate("a::b::work", "a::b::work"));
        assert!(!is_gate("a::b::work::{{closure}}::h0123456789abcdef", "a::b::work"));
        assert!(is_gate("a::b::work::{{closure}}::h0123456789abcdef", "a::b::work*"));
        assert!(!is_gate("z::a::b::work", "a::b::*"));
    }

    #[test]
    fn a_module_has_what_only_its_gates_reach() {
        // An export 0 calls 1 and the gate 2; the gate calls 3, and 4, which 1 calls too.
        let calls = vec![vec![1, 2], vec![4], vec![3, 4], vec![], vec![]];
        let names = (0..5).map(|place| Some(format!("f{place}"))).collect();
        let (addresses, roots) = (vec![Vec::new(); 5], HashSet::from([0]));
        let (table, small) = (BTreeMap::new(), HashSet::new());
        let functions = Functions { ids: Vec::new(), names, calls, addresses, table, roots, small };
        let gates = functions.behind(&["f2"]).unwrap();
        let core = functions.reached(vec![0], (&gates, &gates));
        assert_eq!(core, HashSet::from([0, 1, 4]));
        assert_eq!(functions.reached(vec![2], (&core, &core)), HashSet::from([2, 3]));
        assert!(functions.behind(&["f2", "f9"]).is_err(), "a gate that is nowhere");
        functions.check_callers(&core, &gates, &[]).unwrap();
        functions.check_callers(&core, &gates, &["f1", "f0"]).unwrap();
        assert!(functions.check_callers(&core, &gates, &["f1"]).is_err(), "another caller");
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
        let (core, parts) = functions.divided(&[("a", &[]), ("b", &[])], &behind);
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
            module.funcs.get_mut(id).name = Some(format!("f{instructions}"));
            id
        };
        let (small, large) = (made(1), made(4));
        let table = module.tables.add_local(false, 2, None, walrus::RefType::FUNCREF);
        fill(&mut module, table, 0, vec![small, large]);
        let segments = Segments::of(&module).unwrap();
        let functions = Functions::of(&module, &segments).unwrap();
        assert_eq!(functions.behind(&["f*"]).unwrap(), HashSet::from([1]), "the large one");
        assert!(functions.behind(&["f1"]).is_err());
    }
}
