//! Tables through the door of the Azure Table service.

use crate::azure_door::{BASE, Door};
use tabstore::azure::AzureCode;

fn create(door: &Door, name: &str) -> crate::azure_door::Answer {
    door.post("Tables", &format!(r#"{{"TableName":"{name}"}}"#))
}

fn names(door: &Door, path: &str) -> Vec<String> {
    let answer = door.get(path);
    assert_eq!(answer.status, 200, "{answer:?}");
    let json = answer.json();
    let tables = json["value"].as_array().expect("a list").clone();
    tables.iter().map(|table| table["TableName"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn azure_a1_a_table_is_created_found_listed_and_deleted() {
    let door = Door::new();
    let created = create(&door, "MixedCase");
    assert_eq!(created.status, 201);
    assert_eq!(
        created.body,
        format!(r#"{{"odata.metadata":"{BASE}/$metadata#Tables/@Element","TableName":"MixedCase"}}"#)
    );
    assert_eq!(created.header("Location"), Some(&*format!("{BASE}/Tables('MixedCase')")));
    let headers = [("Prefer", "return-no-content"), ("Content-Type", "application/json;odata=nometadata")];
    let quiet = door.send("POST", "Tables", &headers, r#"{"TableName":"another"}"#);
    assert_eq!((quiet.status, &*quiet.body), (204, ""));
    assert_eq!(quiet.header("Preference-Applied"), Some("return-no-content"));
    assert_eq!(quiet.header("DataServiceId"), quiet.header("Location"));

    assert_eq!(names(&door, "Tables"), ["another", "MixedCase"]);
    let full = door.send("GET", "Tables()?$top=1", &[("Accept", "application/json;odata=fullmetadata")], "");
    assert_eq!(
        full.body,
        format!(
            r#"{{"odata.metadata":"{BASE}/$metadata#Tables","value":[{{"odata.type":"acct.Tables","odata.id":"{BASE}/Tables('another')","odata.editLink":"Tables('another')","TableName":"another"}}]}}"#
        )
    );
    let none = door.send("GET", "Tables", &[("Accept", "application/json;odata=nometadata")], "");
    assert_eq!(none.body, r#"{"value":[{"TableName":"another"},{"TableName":"MixedCase"}]}"#);

    let deleted = door.send("DELETE", "Tables('ANOTHER')", &[("Accept", "application/json")], "");
    assert_eq!((deleted.status, &*deleted.body), (204, ""));
    door.send("DELETE", "Tables('another')", &[], "").is(AzureCode::ResourceNotFound);
    door.get("Tables('another')").is(AzureCode::ResourceNotFound);
    assert_eq!(names(&door, "Tables"), ["MixedCase"]);
}

#[test]
fn azure_t1_t2_t5_t6_t7_wrong_names_are_refused() {
    let door = Door::new();
    for (name, code) in [
        ("ab", AzureCode::OutOfRangeInput),
        (&*"a".repeat(64), AzureCode::OutOfRangeInput),
        ("my_table", AzureCode::InvalidResourceName),
        ("1abc", AzureCode::InvalidResourceName),
        ("a-bc", AzureCode::InvalidResourceName),
        ("t\u{e4}ble", AzureCode::InvalidResourceName),
        ("$MetricsX", AzureCode::InvalidResourceName),
        ("tables", AzureCode::InvalidInput),
        ("TABLES", AzureCode::InvalidInput),
    ] {
        create(&door, name).is(code);
    }
    let text = create(&door, "my_table").message();
    assert_eq!(text, "The specifed resource name contains invalid characters.", "the service's own spelling");
    door.post("Tables", "{}").is(AzureCode::PropertiesNeedValue);
    door.post("Tables", r#"{"TableName":5}"#).is(AzureCode::InvalidInput);
    door.post("Tables", "[]").is(AzureCode::InvalidInput);
    door.get("my_table()").is(AzureCode::InvalidResourceName);
    for name in ["abc", &"a".repeat(63)] {
        assert_eq!(create(&door, name).status, 201);
    }
}

#[test]
fn azure_t3_a_name_is_unique_in_any_case() {
    let door = Door::new();
    assert_eq!(create(&door, "abc").status, 201);
    create(&door, "ABC").is(AzureCode::TableAlreadyExists);
}

#[test]
fn azure_t8_a_table_is_gone_at_once_and_its_name_is_free() {
    let door = Door::new();
    create(&door, "abc");
    assert_eq!(door.post("abc", r#"{"PartitionKey":"","RowKey":""}"#).status, 201);
    assert_eq!(door.send("DELETE", "Tables('ABC')", &[], "").status, 204);
    door.get("abc()").is(AzureCode::TableNotFound);
    assert_eq!(create(&door, "abc").status, 201);
    assert_eq!(door.get("abc()").json()["value"].as_array().map(Vec::len), Some(0));
}

#[test]
fn azure_t4_a_table_keeps_the_case_of_its_creation_and_answers_to_any() {
    let door = Door::new();
    create(&door, "MixedCase");
    for path in ["mixedcase()", "MIXEDCASE()", "MixedCase"] {
        assert_eq!(door.get(path).status, 200, "{path}");
    }
    let inserted = door.post("mixedCASE", r#"{"PartitionKey":"","RowKey":""}"#);
    assert_eq!(inserted.status, 201, "{inserted:?}");
    assert_eq!(door.get("MixedCase(PartitionKey='',RowKey='')").status, 200);
    assert_eq!(door.get("Tables('mixedcase')").json()["TableName"], "MixedCase");
}

#[test]
fn azure_tables_are_listed_in_pages_and_by_a_filter() {
    let door = Door::new();
    for at in 0..5 {
        assert_eq!(create(&door, &format!("table{at}")).status, 201);
    }
    let first = door.get("Tables?$top=2");
    let next = first.header("x-ms-continuation-NextTableName").expect("more").to_owned();
    door.send("DELETE", "Tables('table2')", &[], "");
    assert_eq!(names(&door, &format!("Tables?$top=2&NextTableName={next}")), ["table3", "table4"], "it is gone");
    assert!(door.get("Tables?$top=4").header("x-ms-continuation-NextTableName").is_none());
    let filter = "Tables?$filter=TableName%20ge%20'table3'%20and%20TableName%20lt%20'table4'";
    assert_eq!(names(&door, filter), ["table3"]);
    for missing in ["PartitionKey%20eq%20''", "RowKey%20ge%20''", "Timestamp%20lt%20datetime'2020-01-01'"] {
        assert!(names(&door, &format!("Tables?$filter={missing}")).is_empty(), "a table has a name and nothing else");
    }
    door.get("Tables?NextTableName=abc").is(AzureCode::InvalidInput);
    door.get("Tables?$filter=TableName%20eq").is(AzureCode::InvalidInput);
    assert_eq!(names(&door, "Tables?$top=0"), Vec::<String>::new());
}
