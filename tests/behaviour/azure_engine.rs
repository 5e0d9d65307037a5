//! Errors of the engine at the door of the Azure Table service: those that are answers, and those that are not.

use crate::azure_door::{Answer, BASE, Door, path_of};
use crate::store::*;
use tabstore::Code;
use tabstore::azure::AzureCode;
use tabstore::doors::azure::answer;
use tabstore::doors::{Access, Request};
use tabstore::engine::{ClockMode, Options};
use tabstore::tablestore::{InstanceOptions, ThrottleOptions};

/// A door with the table `Tab` to a store that is throttled.
fn throttled(throttle: ThrottleOptions) -> Door {
    let options = InstanceOptions { throttle, ..InstanceOptions::default() };
    let door = Door { store: Store::with(options, Options { clock: ClockMode::Injected, ..Options::default() }) };
    let created = door.post("Tables", r#"{"TableName":"Tab"}"#);
    assert_eq!(created.status, 201, "{created:?}");
    door
}

/// A batch of one insertion.
fn batch(door: &Door, row: &str, text: &str) -> Answer {
    let body = format!(
        "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n--changeset_1\r\n\
         Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST {BASE}/Tab HTTP/1.1\r\n\
         Content-Type: application/json\r\nPrefer: return-no-content\r\n\r\n\
         {{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\",\"x\":\"{text}\"}}\r\n--changeset_1--\r\n--batch_1--\r\n"
    );
    door.send("POST", "$batch", &[("Content-Type", "multipart/mixed; boundary=batch_1")], &body)
}

/// Q: writes on a full disk are refused with a status of their own, one by one and in batches. Reads go on.
#[test]
fn azure_q_a_full_disk_is_told_with_507_and_reads_go_on() {
    let door = Door::with_table();
    let noise = |at: u64| -> String {
        let word = |word: u64| format!("{:016x}", (at * 1000 + word).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        (0..1000).map(word).collect()
    };
    assert_eq!(door.insert("a", r#""x":1"#).status, 201);
    door.store.storage.set_quota(Some(door.store.storage.bytes()));
    let mut full = None;
    for at in 0..10_000 {
        let answer = door.insert(&format!("r{at}"), &format!(r#""x":"{}""#, noise(at)));
        if answer.status != 201 {
            full = Some(answer);
            break;
        }
    }
    full.expect("the disk is full").is(AzureCode::InsufficientStorage);
    door.write("PUT", ("p", "a"), None, &format!(r#"{{"x":"{}"}}"#, noise(1))).is(AzureCode::InsufficientStorage);
    batch(&door, "b", &noise(2)).is_in_xml(AzureCode::InsufficientStorage);
    door.post("Tables", r#"{"TableName":"Other"}"#).is(AzureCode::InsufficientStorage);
    assert_eq!(door.entity("a")["x"], 1);
    assert_eq!(door.get("Tab()?$filter=x%20eq%201").json()["value"].as_array().map(Vec::len), Some(1));
    door.store.storage.set_quota(None);
    // Room is looked for again after a while.
    for _ in 0..120 {
        door.store.env.run_until_idle();
        door.store.env.advance(1000);
    }
    assert_eq!(door.insert("c", "").status, 201);
    let answer = batch(&door, "d", "x");
    assert!(answer.status == 202 && answer.body.contains("HTTP/1.1 204"), "{answer:?}");
}

/// C5: too much for a second is refused with the status after which clients wait and try again.
#[test]
fn azure_c5_more_than_a_second_has_is_told_with_503() {
    let door = throttled(ThrottleOptions { units_per_second: Some(5), ..ThrottleOptions::default() });
    let large = format!(r#"{{"x":"{}"}}"#, "x".repeat(30_000));
    let put = || door.write("PUT", ("p", "a"), None, &large);
    assert_eq!(put().status, 204, "the first of its second");
    put().is(AzureCode::ServerBusy);
    door.get(&path_of(("p", "a"))).is(AzureCode::ServerBusy);
    door.get("Tab()").is(AzureCode::ServerBusy);
    batch(&door, "b", "x").is_in_xml(AzureCode::ServerBusy);
    assert_eq!(door.write("PUT", ("q", "a"), None, "{}").status, 204, "another partition");
    door.store.env.advance(1000);
    assert_eq!(door.get(&path_of(("p", "a"))).status, 200);
}

/// C5: the same for operations on tables.
#[test]
fn azure_c5_more_tables_than_a_second_has_are_told_with_503() {
    let limit = Some(2);
    let door = throttled(ThrottleOptions { table_operations_per_second: limit, ..ThrottleOptions::default() });
    let create = |name: &str| door.post("Tables", &format!(r#"{{"TableName":"{name}"}}"#));
    assert_eq!(create("Second").status, 201);
    create("Third").is(AzureCode::ServerBusy);
    door.send("DELETE", "Tables('Tab')", &[("Accept", "application/json")], "").is(AzureCode::ServerBusy);
    door.store.env.advance(1000);
    assert_eq!(create("Third").status, 201);
}

/// What is no fault of a request is no answer either: the caller gets the engine's error, whatever was asked for.
#[test]
fn azure_errors_about_the_instance_go_to_the_caller() {
    let door = Door::with_table();
    assert_eq!(door.insert("a", "").status, 201);
    door.store.env.run(door.store.instance.close());
    for (method, path, body) in [
        ("POST", "Tab", r#"{"PartitionKey":"p","RowKey":"b"}"#),
        ("PUT", "Tab(PartitionKey='p',RowKey='a')", "{}"),
        ("POST", "Tables", r#"{"TableName":"Other"}"#),
    ] {
        let url = format!("{BASE}/{path}");
        let headers = vec![("Accept", "application/json"), ("Content-Type", "application/json")];
        let request = Request { method, url: &url, headers, body: body.as_bytes() };
        let answered = door.store.env.run(answer(&door.store.instance, &request, Access::Off, None));
        assert_eq!(answered.expect_err("closed").code(), Code::Closed, "{method} {path}");
    }
}
