//! The list of instances: I1, I2, I3.

use tabstore::Code;
use tabstore::model::InstanceName;
use tabstore::wasm::idb::IdbStorage;
use tabstore::wasm::idb::catalogue::{self, Instance};
use wasm_bindgen_test::wasm_bindgen_test;

fn instance(name: &str) -> (InstanceName, Instance) {
    let row =
        Instance { name: name.to_owned(), kind: "capacity".to_owned(), created: 1_469_030_400_000, opened: false };
    (InstanceName::parse(name).unwrap(), row)
}

/// One test, because all instances of an origin share one list.
#[wasm_bindgen_test]
async fn i1_i2_i3_instances_are_created_listed_described_and_deleted() {
    for old in catalogue::list().await.unwrap() {
        catalogue::delete(&InstanceName::parse(&old.name).unwrap()).await.unwrap();
    }
    let (name, row) = instance("Demo-1");
    assert_eq!(catalogue::describe(&name).await.unwrap_err().code(), Code::ObjectNotExist);
    catalogue::add(&name, &row, 10).await.unwrap();
    assert_eq!(catalogue::describe(&name).await.unwrap(), row);
    assert_eq!(catalogue::list().await.unwrap(), std::slice::from_ref(&row));

    // I2: unique without regard to case; the name stays as it was given first.
    let (again, shouted) = instance("DEMO-1");
    let error = catalogue::add(&again, &shouted, 10).await.unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (Code::ObjectAlreadyExist, "Requested instance 'DEMO-1' already exists.")
    );
    assert_eq!(catalogue::describe(&again).await.unwrap(), row);

    // I3: at most so many.
    for number in 2..=10 {
        let (name, row) = instance(&format!("demo-{number}"));
        catalogue::add(&name, &row, 10).await.unwrap();
    }
    let (eleventh, row) = instance("demo-11");
    assert_eq!(catalogue::add(&eleventh, &row, 10).await.unwrap_err().code(), Code::QuotaExhausted);
    assert_eq!(catalogue::list().await.unwrap().len(), 10, "the refused one is not there");
    catalogue::add(&eleventh, &row, 11).await.unwrap();

    // Deletion takes the data too, also from under an open storage.
    let storage = IdbStorage::open("demo-11").await.unwrap();
    catalogue::delete(&eleventh).await.unwrap();
    assert_eq!(catalogue::delete(&eleventh).await.unwrap_err().code(), Code::ObjectNotExist);
    drop(storage);
    for left in catalogue::list().await.unwrap() {
        catalogue::delete(&InstanceName::parse(&left.name).unwrap()).await.unwrap();
    }
}
