//! Opens an instance.

use super::build::start_builds;
use crate::collections::small_map::SmallMap;
use crate::engine::{Engine, TreeId};
use crate::error::Result;
use crate::model::version::Retention;
use crate::modules::Module;
use crate::tablestore::state::access::AccessKeys;
use crate::tablestore::state::{InstanceOptions, State, answers, catalog_rows, salvage};
use crate::tablestore::stream::trim::trim_streams;
use crate::tablestore::stream::write::recorder;
use crate::tablestore::table::Table;
use crate::tablestore::units::meter;
use std::rc::Rc;

/// Reads the catalog of an engine, and starts what goes on in the background.
///
/// # Errors
/// `Corrupt` if the stored catalog is damaged; errors of reading it.
pub(crate) async fn open(engine: Rc<Engine>, options: InstanceOptions) -> Result<Rc<State>> {
    let mut catalog = catalog_rows::load(&engine).await?;
    // Writes of tables with streams need it at once. A salvage reads all trees.
    if catalog.tables.iter().any(Table::is_streamed) || engine.is_read_only() && engine.awaits_recorder() {
        engine.env().load(Module::Streams).await?;
        engine.set_recorder(recorder);
    }
    if engine.is_read_only() {
        Box::pin(salvage::find_tables(&engine, &mut catalog)).await?;
    }
    meter::keep(&engine);
    engine.set_retention(answers::TREE, Retention { max_versions: 1, time_to_live: None });
    // Documents of the layer above never expire.
    engine.set_retention(TreeId::DOCUMENTS, Retention { max_versions: 1, time_to_live: None });
    let mut live = vec![catalog_rows::TREE, meter::TREE, answers::TREE, TreeId::DOCUMENTS];
    let mut tables = SmallMap::default();
    for table in catalog.tables {
        engine.set_retention(table.tree(), table.options().retention());
        live.push(table.tree());
        if let Some(stream) = table.stream() {
            stream.keep(&engine);
            live.push(stream.tree);
        }
        tables.insert(table.name().to_owned(), Rc::new(table));
    }
    engine.retain_trees(&live);
    let state = State::new(engine, options, tables, catalog.next_tree, AccessKeys::new(catalog.keys));
    let names: Vec<_> = state.catalog.all().keys().cloned().collect();
    names.iter().for_each(|name| state.relink(name));
    start_builds(&state);
    trim_streams(&state);
    Ok(state)
}
