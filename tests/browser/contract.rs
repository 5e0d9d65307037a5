//! The storage contract, on IndexedDB and on memory.

use std::cell::RefCell;
use std::collections::HashMap;
use tabstore::Code;
use tabstore::Result;
use tabstore::storage::contract::{self, Stores};
use tabstore::storage::{AnyStorage, Commit, Fence, FencedStorage, LogNumber, MemoryStorage, Storage};
use tabstore::wasm::idb::IdbStorage;

/// Databases whose names no other test has: the browser's profile is shared by all tests of a run.
pub(crate) struct Idb(pub(crate) &'static str);

impl Stores for Idb {
    async fn open(&self, name: &str) -> Result<AnyStorage> {
        Ok(IdbStorage::open(&format!("{} {name}", self.0)).await?.into())
    }
}

#[derive(Default)]
struct Memory(RefCell<HashMap<String, MemoryStorage>>);

impl Stores for Memory {
    async fn open(&self, name: &str) -> Result<AnyStorage> {
        Ok(self.0.borrow_mut().entry(name.to_owned()).or_default().clone().into())
    }
}

mod on_indexeddb {
    use super::*;
    use wasm_bindgen_test::wasm_bindgen_test;

    macro_rules! each {
        ($($rule:ident)*) => { $(
            #[wasm_bindgen_test]
            async fn $rule() {
                contract::$rule(&Idb(stringify!($rule))).await.unwrap();
            }
        )* };
    }
    tabstore::storage_contract_rules!(each);
}

/// With a note, versions that know no fence refuse the store.
#[wasm_bindgen_test::wasm_bindgen_test]
async fn a_raised_fence_keeps_others_out() {
    let one = IdbStorage::open("fence").await.unwrap();
    let other = IdbStorage::open("fence").await.unwrap();
    contract::a_raised_fence_keeps_others_out(&one, &other).await.unwrap();
    assert!(!one.has_log_elsewhere().await.unwrap());
    let noted = Fence { number: 4, note: vec![1].into() };
    one.commit_behind(Commit::default(), 3, Some(&noted)).await.unwrap();
    assert!(other.has_log_elsewhere().await.unwrap());
    let third = IdbStorage::open("fence").await.unwrap();
    let refused = third.load(&|_| Ok(LogNumber(1))).await.unwrap_err();
    assert_eq!(refused.code(), Code::Fenced, "who has not asked for the fence does not know where the log is");
}

mod on_memory {
    use super::*;
    use wasm_bindgen_test::wasm_bindgen_test;

    macro_rules! each {
        ($($rule:ident)*) => { $(
            #[wasm_bindgen_test]
            async fn $rule() {
                contract::$rule(&Memory::default()).await.unwrap();
            }
        )* };
    }
    tabstore::storage_contract_rules!(each);
}

/// A closed storage closes its connection: the database can be deleted at once.
#[wasm_bindgen_test::wasm_bindgen_test]
async fn a_closed_storage_lets_its_database_go() {
    let storage = IdbStorage::open("let go").await.unwrap();
    storage.close().await;
    IdbStorage::delete("let go").await.unwrap();
    let storage = IdbStorage::open("let go").await.unwrap();
    assert_eq!(storage.list_segments().await.unwrap(), []);
}
