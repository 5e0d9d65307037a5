//! Entities through the door of the Azure Table service: values, names, keys, limits, conditions.

use crate::azure_door::{BASE, Door, path_of};
use tabstore::azure::AzureCode;

#[test]
fn azure_a2_entities_of_a_table_share_no_schema() {
    let door = Door::with_table();
    assert_eq!(door.insert("a", r#""x":1"#).status, 201);
    assert_eq!(door.insert("b", r#""x":"one","y":true"#).status, 201);
    assert_eq!((&door.entity("a")["x"], &door.entity("b")["x"]), (&1.into(), &"one".into()));
}

#[test]
fn azure_n1_n3_n4_wrong_names_of_properties_are_refused() {
    let door = Door::with_table();
    let long = "x".repeat(255);
    assert_eq!(door.insert("a", &format!(r#""{long}":1"#)).status, 201);
    door.insert("b", &format!(r#""{long}x":1"#)).is(AzureCode::PropertyNameTooLong);
    for name in ["a-b", "a b", "1a", "a.b", "a@b", "", r"\u0001", r"\ue000"] {
        door.insert("b", &format!(r#""{name}":1"#)).is(AzureCode::PropertyNameInvalid);
    }
}

#[test]
fn azure_n2_n5_names_differ_by_case() {
    let door = Door::with_table();
    door.insert("a", r#""Birthday":1,"birthday":2,"Partitionkey":3,"timestamp":4"#);
    let entity = door.entity("a");
    assert_eq!([&entity["Birthday"], &entity["birthday"], &entity["Partitionkey"], &entity["timestamp"]], [1, 2, 3, 4]);
}

#[test]
fn azure_n6_a_name_that_comes_twice_is_refused() {
    let door = Door::with_table();
    for members in [
        r#""x":1,"y":2,"x":1"#,
        r#""x":1,"\u0078":2"#,
        r#""RowKey":"a""#,
        r#""x@odata.type":"Edm.Int32","x@odata.type":"Edm.Int32","x":1"#,
    ] {
        door.insert("a", members).is(AzureCode::DuplicatePropertiesSpecified);
    }
}

#[test]
fn azure_n7_annotations_are_not_stored() {
    let door = Door::with_table();
    let members =
        r#""odata.etag":"W/x","odata.type":"acct.Tab","odata.metadata":"m","etag":"e","gone@odata.type":"Edm.Guid""#;
    assert_eq!(door.insert("a", members).status, 201);
    let none = door.send("GET", &path_of(("p", "a")), &[("Accept", "application/json;odata=nometadata")], "");
    let names: Vec<_> = none.json().as_object().expect("members").keys().cloned().collect();
    assert_eq!(names, ["PartitionKey", "RowKey", "Timestamp", "etag"]);
}

#[test]
fn azure_l1_an_entity_has_at_most_252_properties() {
    let door = Door::with_table();
    let members = |count| (0..count).map(|at| format!(r#""x{at}":{at}"#)).collect::<Vec<_>>().join(",");
    door.insert("a", &members(253)).is(AzureCode::TooManyProperties);
    assert_eq!(door.insert("a", &members(252)).status, 201);
    door.write("PUT", ("p", "a"), None, &format!("{{{}}}", members(253))).is(AzureCode::TooManyProperties);
}

#[test]
fn azure_l2_l3_l4_large_values_and_entities_are_refused() {
    let door = Door::with_table();
    let text = |units: usize| format!(r#""x":"{}""#, "\u{e9}".repeat(units));
    assert_eq!(door.insert("a", &text(32_768)).status, 201);
    door.insert("b", &text(32_769)).is(AzureCode::PropertyValueTooLarge);
    let large = |units: usize| {
        let members = (0..16).map(|at| format!(r#""x{at:02}":"{}""#, "x".repeat(if at == 0 { units } else { 32_768 })));
        members.collect::<Vec<_>>().join(",")
    };
    // 4 for the entity, 4 for two keys; for each property 8, 6 for its name, 4, and two a character.
    let room = (1024 * 1024 - 8 - 16 * 18) / 2 - 15 * 32_768;
    assert_eq!(door.insert("c", &large(room)).status, 201);
    door.insert("d", &large(room + 1)).is(AzureCode::EntityTooLarge);
}

#[test]
fn azure_k1_k3_keys_are_texts_and_needed() {
    let door = Door::with_table();
    for body in ["{}", r#"{"PartitionKey":"a"}"#, r#"{"PartitionKey":"a","RowKey":null}"#] {
        door.post("Tab", body).is(AzureCode::PropertiesNeedValue);
    }
    for key in ["5", "true", r#""2020-01-01","RowKey@odata.type":"Edm.DateTime""#, "[]", "{}"] {
        door.post("Tab", &format!(r#"{{"PartitionKey":"a","RowKey":{key}}}"#)).is(AzureCode::InvalidInput);
    }
    let typed = r#"{"PartitionKey":"a","RowKey":"b","RowKey@odata.type":"Edm.String"}"#;
    assert_eq!(door.post("Tab", typed).status, 201);
}

#[test]
fn azure_k2_empty_keys_are_keys() {
    let door = Door::with_table();
    assert_eq!(door.post("Tab", r#"{"PartitionKey":"","RowKey":"","x":1}"#).status, 201);
    assert_eq!(door.get("Tab(PartitionKey='',RowKey='')").json()["x"], 1);
}

#[test]
fn azure_k4_k5_long_keys_and_odd_characters_are_refused() {
    let door = Door::with_table();
    let insert = |key: &str| door.post("Tab", &format!(r#"{{"PartitionKey":"{key}","RowKey":""}}"#));
    assert_eq!(insert(&"k".repeat(1024)).status, 201);
    insert(&"k".repeat(1025)).is(AzureCode::PropertyValueTooLarge);
    for key in ["a/b", r"a\\b", "a#b", "a?b", r"a\u0000", r"a\u001f", r"a\u007f", r"a\u009f"] {
        insert(key).is(AzureCode::OutOfRangeInput);
    }
    assert_eq!(insert("a/b").message(), "The 'PartitionKey' parameter of value 'a/b' is out of range.");
    for key in ["a%2Fb", "a/b", "a)/b", "(a/b"] {
        door.get(&path_of((key, ""))).is(AzureCode::OutOfRangeInput);
    }
}

#[test]
fn azure_k6_any_other_key_is_quoted_and_encoded_in_urls() {
    let door = Door::with_table();
    for key in
        ["%", "'", "''", "\"", " ", "+", "&=@$,", "\u{a0}", "\u{1F600}", "A'aaa\"_bbbb2", "%27", "a(b)='c',RowKey='d'"]
    {
        let body = serde_json::json!({ "PartitionKey": key, "RowKey": key, "x": key });
        let created = door.post("Tab", &body.to_string());
        assert_eq!(created.status, 201, "{key}: {created:?}");
        let place = created.header("Location").expect("a place");
        let found = door.get(place.strip_prefix(BASE).expect("of this account").trim_start_matches('/'));
        assert_eq!(found.json()["x"], key, "{place}");
    }
}

#[test]
fn azure_k7_the_keys_of_the_url_count_and_not_those_of_the_body() {
    let door = Door::with_table();
    for method in ["PUT", "PATCH", "MERGE"] {
        for body in [
            r#"{"x":1}"#,
            r#"{"PartitionKey":"p","x":2}"#,
            r#"{"PartitionKey":"p","RowKey":"r","x":3}"#,
            r#"{"RowKey":null,"x":4}"#,
            r#"{"PartitionKey":"q","x":5}"#,
            r#"{"PartitionKey":"q","RowKey":"s","x":6}"#,
        ] {
            assert_eq!(door.write(method, ("p", "r"), None, body).status, 204, "{method} {body}");
            assert!(body.ends_with(&format!("\"x\":{}}}", door.entity("r")["x"])), "{method} {body}");
        }
        door.write(method, ("p", "r"), None, r#"{"RowKey":5}"#).is(AzureCode::InvalidInput);
    }
    assert_eq!(door.get("Tab()").json()["value"].as_array().map(Vec::len), Some(1), "no other entity was made");
}

#[test]
fn azure_s2_s3_s4_the_server_makes_timestamps_and_etags_of_them() {
    let door = Door::with_table();
    let inserted = door.insert("a", r#""Timestamp":"1999-01-01T00:00:00Z","Timestamp@odata.type":"Edm.DateTime""#);
    let entity = door.entity("a");
    assert_eq!(entity["Timestamp"], "2016-07-20T16:00:00Z", "no zeros at the end");
    let etag = "W/\"datetime'2016-07-20T16%3A00%3A00Z'\"";
    assert_eq!((inserted.header("ETag"), entity["odata.etag"].as_str()), (Some(etag), Some(etag)));
    assert_eq!(door.get(&path_of(("p", "a"))).header("ETag"), Some(etag));
    let merged = door.write("MERGE", ("p", "a"), Some("*"), r#"{"Timestamp":5}"#);
    assert_eq!((merged.status, merged.header("ETag")), (204, Some("W/\"datetime'2016-07-20T16%3A00%3A00.0000001Z'\"")));
}

#[test]
fn azure_s5_a_timestamp_is_filtered_by() {
    let door = Door::with_table();
    door.insert("a", "");
    let found = |filter: &str| {
        door.get(&format!("Tab()?$filter=Timestamp%20{filter}")).json()["value"].as_array().map(Vec::len)
    };
    assert_eq!(found("ge%20datetime'2016-07-20T16:00:00Z'"), Some(1));
    assert_eq!(found("gt%20datetime'2016-07-20T16:00:00Z'"), Some(0));
}

/// Each value with the type that JSON or an annotation gives it, and how it comes back.
#[test]
fn azure_v1_v2_v3_v5_v6_every_type_goes_in_and_comes_out() {
    let door = Door::with_table();
    let kept = [
        (r#""x":"text""#, r#""x":"text""#),
        (r#""x":"""#, r#""x":"""#),
        (r#""x":"\u00e9\"\\\n\u0001/""#, r#""x":"é\"\\\n\u0001/""#),
        (r#""x":true"#, r#""x":true"#),
        (r#""x":-5"#, r#""x":-5"#),
        (r#""x":3.0"#, r#""x":3.0"#),
        (r#""x":1e3"#, r#""x":1000.0"#),
        (r#""x":0.1"#, r#""x":0.1"#),
        (r#""x":-0.0"#, r#""x":-0.0"#),
        (r#""x":1e300"#, r#""x":1e300"#),
        (
            r#""x@odata.type":"Edm.Int64","x":"9223372036854775807""#,
            r#""x@odata.type":"Edm.Int64","x":"9223372036854775807""#,
        ),
        (r#""x":"5","x@odata.type":"Edm.Int64""#, r#""x@odata.type":"Edm.Int64","x":"5""#),
        (r#""x":"3","x@odata.type":"Edm.Double""#, r#""x":3.0"#),
        (r#""x":3,"x@odata.type":"Edm.Double""#, r#""x":3.0"#),
        (r#""x":"NaN","x@odata.type":"Edm.Double""#, r#""x@odata.type":"Edm.Double","x":"NaN""#),
        (r#""x":"-Infinity","x@odata.type":"Edm.Double""#, r#""x@odata.type":"Edm.Double","x":"-Infinity""#),
        (r#""x":"true","x@odata.type":"Edm.Boolean""#, r#""x":true"#),
        (r#""x":"TRUE","x@odata.type":"Edm.Boolean""#, r#""x":true"#),
        (r#""x":"False","x@odata.type":"Edm.Boolean""#, r#""x":false"#),
        (r#""x":"5","x@odata.type":"Edm.Int32""#, r#""x":5"#),
        (r#""x":"5","x@odata.type":"Edm.String""#, r#""x":"5""#),
        (r#""x":"AQID","x@odata.type":"Edm.Binary""#, r#""x@odata.type":"Edm.Binary","x":"AQID""#),
        (
            r#""x":"C9DA6455-213D-42C9-9A79-3E9149A57833","x@odata.type":"Edm.Guid""#,
            r#""x@odata.type":"Edm.Guid","x":"c9da6455-213d-42c9-9a79-3e9149a57833""#,
        ),
        (
            r#""x":"2020-01-02T03:04:05.600000+01:00","x@odata.type":"Edm.DateTime""#,
            r#""x@odata.type":"Edm.DateTime","x":"2020-01-02T02:04:05.6Z""#,
        ),
    ];
    for (at, (given, expected)) in kept.into_iter().enumerate() {
        let created = door.insert(&at.to_string(), given);
        assert_eq!(created.status, 201, "{given}: {created:?}");
        let found = door.get(&path_of(("p", &at.to_string())));
        assert_eq!(found.body, created.body, "what was inserted is written as what is stored");
        let end = format!(r#""Timestamp":"{}",{expected}}}"#, found.json()["Timestamp"].as_str().expect("a time"));
        assert!(found.body.ends_with(&end), "{given}: {}", found.body);
    }
}

#[test]
fn azure_v4_v7_v8_v9_v10_v14_values_of_no_type_are_refused() {
    let door = Door::with_table();
    for members in [
        r#""x":2147483648"#,
        r#""x":-2147483649"#,
        r#""x":1e400"#,
        r#""x":[]"#,
        r#""x":{"a":1}"#,
        r#""x":5,"x@odata.type":"Edm.Int64""#,
        r#""x":"9223372036854775808","x@odata.type":"Edm.Int64""#,
        r#""x":"abc","x@odata.type":"Edm.Int64""#,
        r#""x":1.5,"x@odata.type":"Edm.Int32""#,
        r#""x":5,"x@odata.type":"Edm.String""#,
        r#""x":true,"x@odata.type":"Edm.String""#,
        r#""x":"yes","x@odata.type":"Edm.Boolean""#,
        r#""x":"1e400","x@odata.type":"Edm.Double""#,
        r#""x":"not a guid","x@odata.type":"Edm.Guid""#,
        r#""x":"=","x@odata.type":"Edm.Binary""#,
        r#""x":"yesterday","x@odata.type":"Edm.DateTime""#,
        r#""x":"5","x@odata.type":"Edm.Decimal""#,
        r#""x":"5","x@odata.type":5"#,
        r#""x":"\ud800""#,
        r#""x":01"#,
        r#""x":nul"#,
    ] {
        door.insert("a", members).is(AzureCode::InvalidInput);
    }
    let old = door.insert("a", r#""Born":"1600-12-31","Born@odata.type":"Edm.DateTime""#);
    old.is(AzureCode::OutOfRangeInput);
    assert_eq!(old.message(), "The 'Born' parameter of value '12/31/1600 00:00:00' is out of range.");
    for body in ["", "null", "5", "[]", "{", r#"{"a"}"#, "\u{0}", &"[".repeat(100_000), &r#"{"a":"#.repeat(100_000)] {
        door.post("Tab", body).is(AzureCode::InvalidInput);
    }
}

#[test]
fn azure_v11_a_null_is_no_value_and_a_merge_leaves_what_is_there() {
    let door = Door::with_table();
    door.insert("a", r#""x":1,"y":null,"z":null,"z@odata.type":"Edm.Int64""#);
    assert!(door.entity("a").get("y").is_none() && door.entity("a").get("z").is_none());
    let merge = r#"{"x":null,"x@odata.type":"Edm.Int32","w":2}"#;
    assert_eq!(door.write("PATCH", ("p", "a"), None, merge).status, 204);
    assert_eq!((&door.entity("a")["x"], &door.entity("a")["w"]), (&1.into(), &2.into()));
    assert_eq!(door.write("PUT", ("p", "a"), Some("*"), r#"{"x":null}"#).status, 204);
    assert!(door.entity("a").get("x").is_none() && door.entity("a").get("w").is_none());
}

#[test]
fn azure_v12_a_chosen_property_that_is_not_there_is_null() {
    let door = Door::with_table();
    door.insert("a", r#""x":1,"y":"2","y@odata.type":"Edm.Int64""#);
    let etag = r#""odata.etag":"W/\"datetime'2016-07-20T16%3A00%3A00Z'\"""#;
    let found = door.get(&format!("{}?$select=y,%20missing,RowKey,y", path_of(("p", "a"))));
    assert_eq!(
        found.body,
        format!(
            r#"{{"odata.metadata":"{BASE}/$metadata#Tab/@Element&$select=y,missing,RowKey",{etag},"RowKey":"a","y@odata.type":"Edm.Int64","y":"2","missing":null}}"#
        )
    );
    let page = door.get("Tab()?$select=Timestamp");
    assert_eq!(
        page.body,
        format!(
            r#"{{"odata.metadata":"{BASE}/$metadata#Tab&$select=Timestamp","value":[{{{etag},"Timestamp":"2016-07-20T16:00:00Z"}}]}}"#
        )
    );
    assert!(door.get("Tab()?$select=").body.contains(r#""x":1"#), "blank is all");
    let hidden = door.get(&format!("{}?$select=y,odata.etag,y@odata.type", path_of(("p", "a")))).body;
    assert!(!hidden.contains("null") && hidden.contains(r#""y@odata.type":"Edm.Int64","y":"2"}"#), "{hidden}");
}

#[test]
fn azure_v13_an_empty_text_is_a_value() {
    let door = Door::with_table();
    door.insert("a", r#""x":"""#);
    assert_eq!(door.entity("a")["x"], "");
}

#[test]
fn azure_the_levels_of_metadata_write_what_the_service_writes() {
    let door = Door::with_table();
    door.insert("it's", r#""d":1.5,"g":"c9da6455-213d-42c9-9a79-3e9149a57833","g@odata.type":"Edm.Guid""#);
    let get = |level: &str| {
        let accept = format!("application/json;odata={level}");
        door.send("GET", "Tab(PartitionKey='p',RowKey='it''s')", &[("Accept", &accept)], "").body
    };
    let values = r#""PartitionKey":"p","RowKey":"it's","#;
    let time = r#""Timestamp":"2016-07-20T16:00:00Z","#;
    let guid = r#""g":"c9da6455-213d-42c9-9a79-3e9149a57833""#;
    assert_eq!(get("nometadata"), format!(r#"{{{values}{time}"d":1.5,{guid}}}"#));
    let metadata = format!(r#""odata.metadata":"{BASE}/$metadata#Tab/@Element","#);
    let etag = r#""odata.etag":"W/\"datetime'2016-07-20T16%3A00%3A00Z'\"","#;
    let typed = format!(r#""d":1.5,"g@odata.type":"Edm.Guid",{guid}"#);
    assert_eq!(get("minimalmetadata"), format!("{{{metadata}{etag}{values}{time}{typed}}}"));
    let link = "Tab(PartitionKey='p',RowKey='it''s')";
    assert_eq!(
        get("fullmetadata"),
        format!(
            r#"{{{metadata}"odata.type":"acct.Tab","odata.id":"{BASE}/{link}",{etag}"odata.editLink":"{link}",{values}"Timestamp@odata.type":"Edm.DateTime",{time}{typed}}}"#
        )
    );
}

#[test]
fn azure_z3_an_insert_answers_as_it_is_preferred() {
    let door = Door::with_table();
    let place = format!("{BASE}/{}", path_of(("p", "a")));
    let inserted = door.insert("a", r#""x":1"#);
    assert_eq!((inserted.status, inserted.header("Location")), (201, Some(&*place)));
    assert_eq!((inserted.header("DataServiceId"), inserted.header("Preference-Applied")), (None, None));
    let prefer = |row: &str, prefer| {
        let headers = [("Accept", "application/json"), ("Prefer", prefer)];
        door.send("POST", "Tab", &headers, &format!(r#"{{"PartitionKey":"p","RowKey":"{row}"}}"#))
    };
    let quiet = prefer("b", "return-no-content");
    assert_eq!((quiet.status, &*quiet.body, quiet.header("Content-Length")), (204, "", Some("0")));
    assert_eq!(quiet.header("Preference-Applied"), Some("return-no-content"));
    assert!(
        quiet.header("DataServiceId").is_some() && quiet.header("Location").is_some() && quiet.header("ETag").is_some()
    );
    let content = prefer("c", "return-content");
    assert_eq!((content.status, content.header("Preference-Applied")), (201, Some("return-content")));
    door.insert("a", "").is(AzureCode::EntityAlreadyExists);
    door.post("Missing", r#"{"PartitionKey":"p","RowKey":"r"}"#).is(AzureCode::TableNotFound);
}

#[test]
fn azure_z2_conditions_choose_between_entities() {
    let door = Door::with_table();
    let stale = "W/\"datetime'2016-07-20T15%3A00%3A00Z'\"";
    for method in ["PUT", "MERGE", "PATCH", "DELETE"] {
        door.write(method, ("p", "a"), Some("*"), "{}").is(AzureCode::ResourceNotFound);
        door.write(method, ("p", "a"), Some(stale), "{}").is(AzureCode::ResourceNotFound);
        door.write(method, ("p", "a"), Some(""), "{}").is(AzureCode::InvalidInput);
        door.write(method, ("p", "a"), Some("\"abc\""), "{}").is(AzureCode::InvalidInput);
        let headers = [("Accept", "application/json"), ("If-None-Match", "*"), ("If-Match", "*")];
        door.send(method, &path_of(("p", "a")), &headers, "{}").is(AzureCode::InvalidInput);
    }
    for method in ["PUT", "MERGE", "PATCH"] {
        let row = method.to_lowercase();
        assert_eq!(door.write(method, ("p", &row), None, r#"{"x":1}"#).status, 204, "upserted");
        let again = door.write(method, ("p", &row), None, r#"{"y":1}"#);
        let etag = again.header("ETag").expect("an ETag").to_owned();
        assert_eq!(door.entity(&row).get("x").is_some(), method != "PUT");
        door.write(method, ("p", &row), Some(stale), "{}").is(AzureCode::UpdateConditionNotSatisfied);
        door.write(method, ("p", &row), Some("W/\"other\""), "{}").is(AzureCode::UpdateConditionNotSatisfied);
        assert_eq!(door.write(method, ("p", &row), Some(&etag.replace("%3A", ":")), "{}").status, 204);
        door.write("DELETE", ("p", &row), Some(&etag), "").is(AzureCode::UpdateConditionNotSatisfied);
        let deleted = door.write("DELETE", ("p", &row), Some("*"), "");
        assert_eq!((deleted.status, deleted.header("ETag")), (204, None));
    }
    let tunnelled = [("Accept", "application/json"), ("X-HTTP-Method", "MERGE"), ("If-Match", "*")];
    door.send("POST", &path_of(("p", "a")), &tunnelled, "{}").is(AzureCode::ResourceNotFound);
}

/// An entity of one write is judged unread, others are put together first. Both pass the same filters.
#[test]
fn azure_z3_a_filter_judges_an_entity_however_often_it_was_written() {
    let door = Door::with_table();
    let members = r#""n":3,"text":"é","d":2.5,"l":"7","l@odata.type":"Edm.Int64""#;
    door.insert("once", members);
    door.insert("often", r#""n":1,"text":"old""#);
    door.write("MERGE", ("p", "often"), Some("*"), r#"{"n":2,"d":1.5}"#);
    door.write("MERGE", ("p", "often"), Some("*"), &format!("{{{members}}}"));
    let filters = [
        ("n eq 3", true),
        ("n eq 2", false),
        ("text eq 'é' and RowKey ne 'x'", true),
        ("text eq 'old'", false),
        ("d gt 2.0 and l eq 7L and PartitionKey eq 'p'", true),
        ("missing eq 1", false),
        ("not (missing eq 1)", true),
        ("Timestamp gt datetime'2016-01-01T00:00:00Z'", true),
    ];
    for stored in ["in memory", "flushed"] {
        for (filter, passes) in filters {
            let page = door.get(&format!("Tab()?$filter={}", filter.replace(' ', "%20"))).json();
            let rows: Vec<_> =
                page["value"].as_array().expect("entities").iter().map(|entity| &entity["RowKey"]).collect();
            assert_eq!(rows, if passes { &["often", "once"][..] } else { &[] }, "{stored}: {filter}");
        }
        door.store.env.run(door.store.instance.flush()).expect("flushed");
    }
}

/// Some languages write `True`. A property may be called so too.
#[test]
fn azure_z3_a_literal_may_be_true_with_a_capital() {
    let door = Door::with_table();
    door.insert("a", r#""x":true,"True":5"#);
    door.insert("b", r#""x":false"#);
    let found = |filter: &str| {
        let json = door.get(&format!("Tab()?$select=RowKey&$filter={}", filter.replace(' ', "%20"))).json();
        json["value"].as_array().expect("entities").iter().map(|one| one["RowKey"].to_string()).collect::<String>()
    };
    assert_eq!(["x eq True", "x eq False", "x ne True"].map(found), [r#""a""#, r#""b""#, r#""b""#]);
    assert_eq!(["True eq 5", "True gt 5", "True"].map(found), [r#""a""#, "", ""], "the property");
    door.get("Tab()?$filter=x%20eq%20y").is(AzureCode::InvalidInput);
}

#[test]
fn azure_z3_a_query_filters_chooses_and_goes_on_page_by_page() {
    let door = Door::with_table();
    for at in 0..25 {
        assert_eq!(door.insert(&format!("r{at:02}"), &format!(r#""x":{at}"#)).status, 201);
    }
    let (mut seen, mut path) = (Vec::new(), "Tab()?$filter=x%20ge%205&$top=6&$select=x".to_owned());
    loop {
        let page = door.get(&path);
        let json = page.json();
        let values = json["value"].as_array().expect("entities").clone();
        assert!(values.len() <= 6);
        seen.extend(values.iter().map(|entity| entity["x"].as_i64().expect("a number")));
        let token = |name: &str| page.header(&format!("x-ms-continuation-{name}")).map(str::to_owned);
        let (Some(partition_key), Some(row_key)) = (token("NextPartitionKey"), token("NextRowKey")) else { break };
        assert!(row_key.starts_with("1!4!"), "{row_key}");
        path =
            format!("Tab()?$filter=x%20ge%205&$top=6&$select=x&NextPartitionKey={partition_key}&NextRowKey={row_key}");
    }
    assert_eq!(seen, (5..25).collect::<Vec<_>>());
    let none = door.get("Tab?$top=0");
    assert_eq!(none.json()["value"], serde_json::json!([]));
    assert!(none.header("x-ms-continuation-NextPartitionKey").is_some());
    for path in ["Tab()?$top=-1", "Tab()?$top=abc", "Tab()?$filter=aaa%20bbb%20ccc", "Tab()?NextPartitionKey=x"] {
        door.get(path).is(AzureCode::InvalidInput);
    }
    let text = door.get("Tab()?$filter=aaa%20bbb%20ccc").message();
    assert_eq!(text, "Syntax error at position 7 in 'aaa bbb ccc'.");
    door.get("Missing()").is(AzureCode::TableNotFound);
    door.get("Missing(PartitionKey='',RowKey='')").is(AzureCode::TableNotFound);
    door.get("Tab(PartitionKey='',RowKey='')").is(AzureCode::ResourceNotFound);
}
