//! The functions at which the wasm file is split.

/// The modules and their gates: functions, by their paths as the compiler writes them. A `*` at the end stands for every
/// ending. A gate of several paths comes from a boxed future: the function that makes it, and its state machine.
///
/// A module whose gates are whole parts of the crate is closed: it names the functions of the core that may call them, and
/// no other module has copies of them, nor it of theirs. Another caller would be code that runs without the module, and traps:
/// either it is written so, or the compiler made one function of two equal ones. Closed modules may call each other's gates.
pub(crate) const MODULES: [(&str, &[&str], &[&str]); 13] = [
    (
        "compaction",
        &[
            "tabstore::engine::background::compaction::pick::pick",
            "tabstore::engine::background::compaction::work_of_compaction*",
            "tabstore::engine::background::rewrite::merge_large*",
            "tabstore::engine::background::rewrite::Rewriter::merge_large*",
        ],
        &[],
    ),
    (
        "dense",
        &[
            "tabstore::format::columns::dense::compress",
            "tabstore::format::columns::column::Values::put_dense",
            "tabstore::format::columns::column::put_dense_integers",
        ],
        &[],
    ),
    (
        "rules",
        &[
            "regex_lite::*",
            "<regex_lite::error::Error as core::fmt::*",
            "tabstore::model::filter::transfer::Rule::compile_now",
            "tabstore::model::filter::transfer::Rule::find",
        ],
        &[],
    ),
    (
        "answers",
        &[
            "tabstore::tablestore::answers::Client::*",
            "tabstore::tablestore::answers::remove::*",
            "tabstore::tablestore::answers::stored::*",
            "tabstore::tablestore::answering::<impl tabstore::tablestore::instance::Instance>::forget_answers::*",
            "tabstore::wasm::admin::run_answers*",
            "tabstore::wasm::admin::run_once*",
        ],
        &[],
    ),
    (
        "streams",
        &[
            "tabstore::engine::memory::memtable::Memtable::make_records",
            "tabstore::engine::store::change_records::for_flush*",
            "tabstore::engine::store::change_records::<impl tabstore::engine::store::Store>::make_for_*",
            "tabstore::tablestore::stream::Stream::record",
            "tabstore::tablestore::stream::Stream::write*",
            "tabstore::tablestore::stream::Stream::append*",
            "tabstore::tablestore::stream::Stream::follow*",
            "tabstore::tablestore::stream::load::StreamLoad::*",
            "tabstore::tablestore::stream::recorder",
            "tabstore::tablestore::stream::record::old_cells",
            "tabstore::tablestore::stream::admin::<impl tabstore::tablestore::instance::Instance>::new_stream*",
            "tabstore::tablestore::stream::admin::set_stream*",
            "tabstore::tablestore::stream::admin::<impl tabstore::tablestore::instance::Instance>::set_stream::*",
            "tabstore::tablestore::stream::read::trim*",
            "tabstore::tablestore::stream::read::<impl tabstore::tablestore::instance::Instance>::trim::*",
            "tabstore::tablestore::stream::read::<impl tabstore::tablestore::instance::Instance>::records::*",
            "tabstore::tablestore::stream::read::<impl tabstore::tablestore::instance::Instance>::take_loaded::*",
            "tabstore::wasm::admin::run_streams*",
            "tabstore::wasm::admin::streams::run*",
        ],
        &[],
    ),
    (
        "azure",
        &[
            "tabstore::azure::*",
            "<tabstore::azure::*",
            "tabstore::doors::*",
            "<tabstore::doors::*",
            "tabstore::tablestore::foreign::<impl*",
            "tabstore::tablestore::foreign::ForeignChange*",
            "<tabstore::tablestore::foreign::ForeignChange as tabstore::engine::write::decide::Decide>::*",
            "<tabstore::tablestore::foreign::DocumentPut as tabstore::engine::write::decide::Decide>::*",
            "core::ptr::drop_in_place<tabstore::azure::*",
            "core::ptr::drop_in_place<tabstore::doors::*",
            "core::ptr::drop_in_place<tabstore::tablestore::foreign::*",
            "core::ptr::drop_in_place<core::pin::Pin<alloc::boxed::Box<tabstore::doors::*",
        ],
        &["tabstore::session::job::Job::azure*", "core::ops::function::FnOnce::call_once{{vtable.shim}}"],
    ),
    (
        "access",
        &[
            "tabstore::doors::azure::acl::*",
            "tabstore::doors::azure::auth::signed",
            "tabstore::doors::azure::auth::signer",
            "tabstore::doors::azure::cors::*",
            "tabstore::doors::azure::documents::*",
            "tabstore::doors::azure::properties::*",
            "tabstore::doors::azure::sas::Sas::*",
            "tabstore::doors::azure::xml::Element::*",
            "tabstore::doors::azure::xml::push_text",
        ],
        &["core::ops::function::FnOnce::call_once{{vtable.shim}}"],
    ),
    (
        "batches",
        &["tabstore::doors::azure::batch::*", "tabstore::doors::azure::multipart::*"],
        &["core::ops::function::FnOnce::call_once{{vtable.shim}}"],
    ),
    (
        "transactions",
        &[
            "tabstore::session::job::transact",
            "tabstore::session::job::Job::transact*",
            "tabstore::tablestore::batch::<impl tabstore::tablestore::instance::Instance>::write_all*",
            "tabstore::tablestore::delete_range::<impl tabstore::tablestore::instance::Instance>::delete_range*",
        ],
        &[],
    ),
    (
        "loads",
        &[
            "tabstore::tablestore::ingest::<impl tabstore::tablestore::instance::Instance>::load_rows*",
            "tabstore::tablestore::ingest::<impl tabstore::tablestore::instance::Instance>::store_loads*",
            "tabstore::engine::write::loads::Loads::ask*",
            "tabstore::engine::write::bulk_loader::BulkLoader::push_beside",
            "tabstore::engine::write::loads::Loads::give_up*",
        ],
        &[
            "tabstore::session::job::Job::put_rows*",
            "tabstore::session::job::Job::store_rows*",
            "tabstore::engine::write::loads::Loads::after_loads*",
            "tabstore::engine::write::loads::Loads::end_loads*",
            "<tabstore::engine::write::bulk_loader::BulkLoader as core::ops::drop::Drop>::drop",
            "tabstore::tablestore::stream::load::StreamLoad::push",
        ],
    ),
    (
        "files",
        &[
            "<tabstore::storage::files::FileStorage<D> as tabstore::storage::Storage>::*",
            "<tabstore::storage::files::FileStorage<D> as tabstore::storage::any::BoxedStorage>::*",
            "<tabstore::storage::files::beside::LogInFiles<S,D> as tabstore::storage::Storage>::*",
            "<tabstore::storage::files::beside::LogInFiles<S,D> as tabstore::storage::any::BoxedStorage>::*",
            "tabstore::storage::files::beside::takeover::<impl tabstore::storage::files::beside::Shared<S,D>>::*",
            "<tabstore::wasm::idb::IdbStorage as tabstore::storage::FencedStorage>::*",
            "tabstore::wasm::idb::issue_fence",
            "tabstore::wasm::files::open_folder*",
            "tabstore::wasm::files::open_log_folder*",
            "core::ptr::drop_in_place<tabstore::storage::files::*",
            "core::ptr::drop_in_place<<tabstore::storage::files::*",
            "core::ptr::drop_in_place<tabstore::wasm::files::open_folder*",
            "core::ptr::drop_in_place<tabstore::wasm::files::open_log_folder*",
            "core::ptr::drop_in_place<tabstore::wasm::files::resolved*",
        ],
        &[],
    ),
    (
        "occasional",
        &[
            "<tabstore::storage::memory::MemoryStorage as tabstore::storage::Storage>::*",
            "<tabstore::storage::memory::MemoryStorage as tabstore::storage::any::BoxedStorage>::*",
            "tabstore::engine::segment::cache::rebuilt",
            "tabstore::engine::segment::cache::BlockCache::rebuil*",
            "tabstore::engine::opening::recover::salvage",
            "tabstore::engine::opening::recover::open_damaged*",
            "tabstore::tablestore::build::build_index",
            "tabstore::tablestore::build::<impl tabstore::tablestore::instance::Instance>::build::*",
            "<tabstore::tablestore::build::Slice as tabstore::engine::write::decide::Decide>::*",
            "tabstore::tablestore::index_admin::<impl tabstore::tablestore::instance::Instance>::add_defined_column::*",
            "tabstore::tablestore::index_admin::<impl tabstore::tablestore::instance::Instance>::delete_defined_column::*",
            "tabstore::tablestore::stored::<impl tabstore::tablestore::instance::Instance>::compute_storage::*",
            "tabstore::wasm::idb::squeeze*",
            "tabstore::wasm::engine::Opened::metrics",
            "tabstore::wasm::admin::run_occasional",
            "tabstore::wasm::admin::occasional*",
            "tabstore::wasm::instances::list_instances::*",
            "tabstore::wasm::instances::create_instance::*",
            "tabstore::wasm::instances::describe_instance::*",
            "tabstore::wasm::instances::delete_instance::*",
        ],
        &[],
    ),
    // Only operations of the module before lead there, not the core.
    (
        "inspection",
        &[
            "tabstore::engine::inspect::*",
            "<tabstore::engine::inspect::*",
            "tabstore::tablestore::inspect::*",
            "tabstore::session::inspect::*",
            "tabstore::wasm::admin::inspect::*",
            "tabstore::wasm::admin::run_inspection*",
            "core::ptr::drop_in_place<tabstore::engine::inspect::*",
            "core::ptr::drop_in_place<tabstore::wasm::admin::inspect::*",
        ],
        &["tabstore::wasm::admin::occasional*", "tabstore::wasm::admin::run_occasional*"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// The file of a path of the crate, and the segments behind it: names that the file declares or implements.
    fn file_of(path: &str) -> (String, Vec<&str>) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src");
        let (mut folder, mut file) = (source.clone(), source.join("lib.rs"));
        let mut names = path.split("::").filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.peek() {
            folder.push(name);
            let found = [folder.with_extension("rs"), folder.join("mod.rs")].into_iter().find(|file| file.exists());
            let Some(found) = found else { break };
            file = found;
            names.next();
        }
        (fs::read_to_string(file).expect("a source file"), names.collect())
    }

    /// A build takes minutes, and this a moment. What a gate names may have got another name.
    #[test]
    fn what_gates_name_is_in_the_source() {
        let has = |text: &str, name: &str, is_start: bool| {
            let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            words.any(|word| word == name || is_start && word.starts_with(name))
        };
        for gate in MODULES.iter().flat_map(|(_, gates, callers)| gates.iter().chain(*callers)) {
            let mut around = None;
            for path in gate.split(['<', '>', ' ']) {
                let is_start = gate.ends_with(path) && path.ends_with('*');
                let names = path.trim_end_matches('*');
                let (text, names) = match names.strip_prefix("tabstore::") {
                    Some(path) => file_of(path),
                    // Behind an `impl` block: the file is the one that has it.
                    None => match (&around, names.strip_prefix("::")) {
                        (Some(text), Some(names)) => {
                            (String::clone(text), names.split("::").filter(|name| !name.is_empty()).collect())
                        }
                        _ => continue,
                    },
                };
                for (at, name) in names.iter().enumerate() {
                    assert!(
                        has(&text, name, is_start && at + 1 == names.len()),
                        "the gate `{gate}` names `{name}`, which is not there"
                    );
                }
                around.get_or_insert(text);
            }
        }
    }
}
