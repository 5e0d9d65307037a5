//! Entity group transactions through the door of the Azure Table service.

use crate::azure_door::{Answer, BASE, Door, path_of};
use crate::streams::on;
use tabstore::azure::AzureCode;
use tabstore::tablestore::UpdateTable;

/// A change of a set: method, path below the account, headers, body.
type Change<'c> = (&'c str, String, Vec<(&'c str, &'c str)>, &'c str);

/// The body of a batch, as @azure/data-tables writes it.
fn batch(changes: &[Change<'_>]) -> String {
    let mut body = "--batch_1\r\ncontent-type: multipart/mixed; boundary=changeset_1\r\n\r\n\r\n".to_owned();
    for (method, path, headers, content) in changes {
        body.push_str("--changeset_1\r\ncontent-type: application/http\r\ncontent-transfer-encoding: binary\r\n\r\n");
        body.push_str(&format!("{method} {BASE}/{path} HTTP/1.1\r\naccept: application/json\r\n"));
        headers.iter().for_each(|(name, value)| body.push_str(&format!("{name}: {value}\r\n")));
        body.push_str(&format!("\r\n\r\n{content}\r\n"));
    }
    body.push_str("--changeset_1--\r\n--batch_1--\r\n");
    body
}

fn send(door: &Door, body: &str) -> Answer {
    let headers = [("Content-Type", "multipart/mixed; boundary=batch_1"), ("Accept", "application/json")];
    door.send("POST", "$batch", &headers, body)
}

fn submit(door: &Door, changes: &[Change<'_>]) -> Answer {
    let answer = send(door, &batch(changes));
    let content_type = answer.header("Content-Type").unwrap_or_default();
    assert!(content_type.starts_with("multipart/mixed; boundary=batchresponse_"), "{answer:?}");
    assert_eq!(answer.status, 202);
    answer
}

/// The parts of an answer, as the SDK finds them: between the boundaries of the set.
fn parts(answer: &Answer) -> Vec<String> {
    let pieces: Vec<_> = answer.body.split("--changesetresponse_").collect();
    let parts = pieces.get(1..pieces.len() - 1).expect("a set");
    parts.iter().map(|part| part.split_once("\r\n").expect("lines").1.to_owned()).collect()
}

fn insert(content: &str) -> Change<'_> {
    ("POST", "Tab".into(), vec![("prefer", "return-no-content")], content)
}

/// The only part of an answer is this error.
fn failed(answer: &Answer, code: AzureCode, text: &str) {
    let parts = parts(answer);
    assert_eq!(parts.len(), 1, "{answer:?}");
    assert!(parts[0].contains(&format!("HTTP/1.1 {} ", code.status())), "{parts:?}");
    let line = parts[0].lines().find(|line| line.starts_with('{')).expect("JSON on one line");
    let json: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(json["odata.error"]["code"], code.as_str());
    let message = json["odata.error"]["message"]["value"].as_str().expect("a text");
    assert_eq!(message.split('\n').next(), Some(text));
}

const A: &str = r#"{"PartitionKey":"p","RowKey":"a","x":1}"#;
const B: &str = r#"{"PartitionKey":"p","RowKey":"b","x":1}"#;

#[test]
fn azure_z3_a_set_of_changes_answers_each_in_order() {
    let door = Door::with_table();
    door.insert("gone", "");
    door.insert("old", r#""x":1"#);
    let answer = submit(
        &door,
        &[
            ("POST", "Tab".into(), vec![("Prefer", "return-no-content"), ("Content-ID", "5")], A),
            ("PUT", path_of(("p", "b")), vec![], r#"{"y":2}"#),
            ("PATCH", path_of(("p", "old")), vec![("If-Match", "*")], r#"{"y":3}"#),
            ("POST", path_of(("p", "m")), vec![("X-HTTP-Method", "MERGE")], "{}"),
            ("DELETE", path_of(("p", "gone")), vec![("If-Match", "*")], ""),
        ],
    );
    let parts = parts(&answer);
    assert_eq!(parts.len(), 5);
    let place = format!("{BASE}/{}", path_of(("p", "a")));
    for part in &parts {
        assert!(
            part.starts_with(
                "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 204 No Content\r\n"
            ),
            "{part}"
        );
        assert!(!part.contains('{'), "the SDK would take it for an error");
    }
    for line in [
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-cache",
        "Preference-Applied: return-no-content",
        "DataServiceVersion: 3.0;",
        &format!("Location: {place}"),
        &format!("DataServiceId: {place}"),
        "ETag: W/\"datetime'2016-07-20T16%3A00%3A00.0000002Z'\"",
    ] {
        assert!(parts[0].lines().any(|other| other == line), "{line} in {}", parts[0]);
    }
    assert!(
        parts[1].contains("ETag: ") && parts[1].contains("DataServiceVersion: 1.0;") && !parts[1].contains("Location")
    );
    assert!(!parts[4].contains("ETag"));
    assert_eq!((&door.entity("old")["x"], &door.entity("old")["y"]), (&1.into(), &3.into()));
    assert_eq!(door.get(&path_of(("p", "gone"))).status, 404);
}

#[test]
fn azure_z3_content_ids_come_back_and_content_if_it_is_preferred() {
    let door = Door::with_table();
    let outside =
        |body: String| body.replace("content-transfer-encoding", "Content-ID: 8\r\ncontent-transfer-encoding");
    let headers = vec![("Prefer", "return-content"), ("Content-ID", "7")];
    let answer = send(&door, &outside(batch(&[("POST", "Tab".into(), headers, A)])));
    let parts = parts(&answer);
    assert!(parts[0].contains("HTTP/1.1 201 Created\r\nContent-ID: 7\r\n"), "that of the request: {parts:?}");
    assert!(parts[0].contains("Preference-Applied: return-content\r\n"), "{parts:?}");
    assert!(parts[0].contains(r#""PartitionKey":"p","RowKey":"a""#));
    let alone = send(&door, &outside(batch(&[insert(B)])));
    assert!(!alone.body.contains("Content-ID"), "that of the part is for the part alone: {alone:?}");
}

#[test]
fn azure_z3_an_insert_of_a_set_answers_with_the_entity_unless_that_is_declined() {
    let door = Door::with_table();
    let parts = parts(&submit(&door, &[("POST", "Tab".into(), vec![], A), insert(B)]));
    assert!(parts[0].contains("HTTP/1.1 201 Created\r\n") && parts[0].contains(r#""RowKey":"a""#), "{parts:?}");
    assert!(parts[0].contains(&format!("Location: {BASE}/{}\r\n", path_of(("p", "a")))), "{parts:?}");
    assert!(parts[0].contains("ETag: W/") && !parts[0].contains("Preference-Applied"), "{parts:?}");
    assert!(parts[1].contains("HTTP/1.1 204 No Content\r\n") && !parts[1].contains('{'), "{parts:?}");
}

#[test]
fn azure_z3_an_empty_set_of_changes_has_an_empty_answer() {
    let door = Door::with_table();
    assert_eq!(parts(&submit(&door, &[])), [""; 0]);
}

#[test]
fn azure_z3_a_change_without_a_table_is_told_by_its_place() {
    let door = Door::with_table();
    let text = "The requested method is not allowed on the specified resource.";
    for method in ["POST", "PUT", "DELETE"] {
        let nowhere: Change<'_> = (method, String::new(), vec![], A);
        let answer = submit(&door, std::slice::from_ref(&nowhere));
        failed(&answer, AzureCode::MethodNotAllowed, &format!("0:{text}"));
        let answer = submit(&door, &[insert(A), nowhere]);
        failed(&answer, AzureCode::MethodNotAllowed, &format!("1:{text}"));
    }
    let missing: Change<'_> = ("POST", "Missing".into(), vec![], A);
    failed(&submit(&door, &[missing]), AzureCode::TableNotFound, "0:The table specified does not exist.");
}

#[test]
fn azure_z3_a_set_that_fails_changes_nothing_and_names_the_change() {
    let door = Door::with_table();
    door.insert("old", r#""x":1"#);
    let key = |row: &str| path_of(("p", row));
    let stale = "W/\"datetime'2016-07-20T15%3A00%3A00Z'\"";
    let upsert = |row: &str| ("PUT", path_of(("p", row)), vec![], "{}");
    let check = |changes: &[Change<'_>], code: AzureCode, text: &str| {
        failed(&submit(&door, changes), code, text);
        assert_eq!(door.get("Tab()").json()["value"].as_array().map(Vec::len), Some(1), "nothing was done");
    };
    check(
        &[insert(A), ("PUT", key("no"), vec![("If-Match", "*")], "{}")],
        AzureCode::ResourceNotFound,
        "1:The specified resource does not exist.",
    );
    check(
        &[insert(A), ("DELETE", key("old"), vec![("If-Match", stale)], "")],
        AzureCode::UpdateConditionNotSatisfied,
        "1:The update condition specified in the request was not satisfied.",
    );
    check(
        &[insert(A), insert(&B.replace("\"b\"", "\"old\""))],
        AzureCode::EntityAlreadyExists,
        "1:The specified entity already exists.",
    );
    check(
        &[insert(&B.replace("\"b\"", "\"old\""))],
        AzureCode::EntityAlreadyExists,
        "The specified entity already exists.",
    );
    check(
        &[insert(A), upsert("b"), upsert("a")],
        AzureCode::InvalidDuplicateRow,
        "2:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.",
    );
    check(
        &[insert(A), ("PUT", path_of(("q", "b")), vec![], "{}")],
        AzureCode::CommandsInBatchActOnDifferentPartitions,
        "1:All commands in a batch must operate on same entity group.",
    );
    let invalid = "1:One of the request inputs is not valid.";
    check(
        &[insert(A), ("PUT", "Other(PartitionKey='p',RowKey='b')".into(), vec![], "{}")],
        AzureCode::InvalidInput,
        invalid,
    );
    check(&[insert(A), ("GET", key("old"), vec![], "")], AzureCode::InvalidInput, invalid);
    check(&[insert(A), ("PUT", key("b"), vec![], "{")], AzureCode::InvalidInput, invalid);
    check(
        &[insert(A), ("PUT", key("b"), vec![], "{"), ("GET", "no/where".into(), vec![], "")],
        AzureCode::InvalidInput,
        invalid,
    );
    check(
        &[("PUT", path_of(("a%2Fb", "b")), vec![], "{}"), insert(A)],
        AzureCode::OutOfRangeInput,
        "0:The 'PartitionKey' parameter of value 'a/b' is out of range.",
    );
    let many: Vec<_> = (0..101).map(|at| upsert(&at.to_string())).collect();
    check(
        &many,
        AzureCode::InvalidInput,
        "99:The batch request operation exceeds the maximum 100 changes per change set.",
    );
    let missing: Vec<Change<'_>> =
        ["a", "b"].map(|row| ("PUT", format!("Missing(PartitionKey='p',RowKey='{row}')"), vec![], "{}")).into();
    check(&missing, AzureCode::TableNotFound, "0:The table specified does not exist.");
    assert_eq!(parts(&submit(&door, &many[..100])).len(), 100);
}

#[test]
fn azure_z3_a_batch_may_have_one_read_and_nothing_else() {
    let door = Door::with_table();
    door.insert("a", r#""x":1"#);
    let read = |path: &str| {
        format!(
            "--batch_1\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\nGET /{path} HTTP/1.1\nAccept: application/json;odata=nometadata\n\n--batch_1--\n"
        )
    };
    let answer = send(&door, &read("Tab()?$filter=x%20eq%201"));
    assert_eq!(answer.status, 202);
    assert!(answer.body.contains("HTTP/1.1 200 OK\r\nContent-Type: application/json;odata=nometadata"), "{answer:?}");
    assert!(answer.body.contains(r#"{"value":[{"PartitionKey":"p","RowKey":"a","#));
    let missing = send(&door, &read("Tab(PartitionKey='p',RowKey='no')"));
    assert!(
        missing.body.contains("HTTP/1.1 404 Not Found") && missing.body.contains("ResourceNotFound"),
        "{missing:?}"
    );
    let two = read("Tab()").replace("--batch_1--\n", &read("Tab()"));
    send(&door, &two).is_in_xml(AzureCode::InvalidInput);
    // A change outside a set is refused, and not made.
    for condition in ["", "If-Match: *\n"] {
        let change =
            read(&path_of(("p", "a"))).replace("GET", "DELETE").replace("Accept:", &format!("{condition}Accept:"));
        let refused = send(&door, &change);
        assert_eq!(refused.status, 202, "{refused:?}");
        assert!(refused.body.contains("HTTP/1.1 400 ") && refused.body.contains("\"InvalidInput\""), "{refused:?}");
        assert_eq!(door.entity("a")["x"], 1);
    }
}

#[test]
fn azure_z3_broken_batches_are_refused_as_a_whole() {
    let door = Door::with_table();
    let whole = batch(&[insert(A), insert(B)]);
    for body in ["", "--batch_1--", &whole[..whole.len() - 6], &whole.replace("HTTP/1.1", "HTTP")] {
        send(&door, body).is_in_xml(AzureCode::InvalidInput);
    }
    for path in ["$batch", "%24batch"] {
        door.post(path, &whole).is_in_xml(AzureCode::InvalidInput);
        door.post(&format!("{path}?$format=json"), &whole).is(AzureCode::InvalidInput);
    }
    assert_eq!(door.get("Tab()").json()["value"], serde_json::json!([]));
    let large = "x".repeat(4 * 1024 * 1024 + 1);
    send(&door, &large).is_in_xml(AzureCode::RequestBodyTooLarge);
    assert_eq!(parts(&send(&door, &whole.replace("\r\n", "\n"))).len(), 2, "line ends of old clients");
}

/// ours: memory. The bodies are small; the old values of all deleted entities are held until the commit.
#[test]
fn azure_z3_a_set_is_refused_if_its_old_values_for_a_stream_are_too_many() {
    let door = Door::with_table();
    let set = |columns: &[&str]| {
        let request = UpdateTable { name: "acct/Tab".into(), stream: on(24, columns), ..UpdateTable::default() };
        door.store.env.run(door.store.instance.update_table(request)).expect("a stream");
    };
    let names = ["a", "b", "c", "d", "e", "f"];
    // Each character counts two bytes in a property, and has three where it is stored.
    let text = "文".repeat(30_000);
    let members = names.map(|name| format!(r#""{name}":"{text}""#)).join(",");
    for row in 0..80 {
        assert_eq!(door.insert(&row.to_string(), &members).status, 201);
    }
    let delete = |row: usize| ("DELETE", path_of(("p", &row.to_string())), vec![("If-Match", "*")], "");
    set(&names);
    send(&door, &batch(&(0..80).map(delete).collect::<Vec<_>>())).is_in_xml(AzureCode::RequestBodyTooLarge);
    assert_eq!(["0", "79"].map(|row| door.get(&path_of(("p", row))).status), [200; 2], "nothing is deleted");
    assert_eq!(parts(&submit(&door, &(0..50).map(delete).collect::<Vec<_>>())).len(), 50);
    set(&["a"]);
    assert_eq!(parts(&submit(&door, &(50..80).map(delete).collect::<Vec<_>>())).len(), 30);
}
