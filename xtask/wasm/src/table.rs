//! The table of functions: what the linker has put there, and what the files of core and modules put there.

use anyhow::Result;
use std::collections::BTreeMap;
use walrus::ir::Value;
use walrus::{ConstExpr, ElementItems, ElementKind, FunctionBuilder, FunctionId, FunctionKind, Module, TableId};

/// The functions in the table, by their places there.
pub(crate) fn in_table(module: &Module) -> Result<BTreeMap<u32, FunctionId>> {
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
pub(crate) fn empty_tables(module: &mut Module) {
    for id in module.elements.iter().map(walrus::Element::id).collect::<Vec<_>>() {
        module.elements.delete(id);
    }
    module.tables.iter_mut().for_each(|table| table.elem_segments.clear());
}

/// Fills places of a table, from `slot` on.
pub(crate) fn fill(module: &mut Module, table: TableId, slot: u32, functions: Vec<FunctionId>) {
    let kind = ElementKind::Active { table, offset: ConstExpr::Value(Value::I32(slot.cast_signed())) };
    let elements = module.elements.add(kind, ElementItems::Functions(functions));
    module.tables.get_mut(table).elem_segments.insert(elements);
}

/// Makes a gate of a function of the core: it calls what is in a place of the table.
pub(crate) fn make_gate(core: &mut Module, gate: FunctionId, table: TableId, slot: usize) -> Result<()> {
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
