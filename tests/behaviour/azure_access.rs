//! Who may pass the door of the Azure Table service (I6), and its documents: properties, statistics, policies.

use crate::azure_door::{Answer, BASE, Door, path_of};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tabstore::azure::AzureCode;
use tabstore::doors::{Access, Request};
use tabstore::tablestore::{AccessKey, Right, Rights};

const ALL: [Right; 3] = [Right::Read, Right::Write, Right::Admin];
const DATE: &str = "Wed, 20 Jul 2016 16:00:00 GMT";

fn key(door: &Door, rights: &[Right]) -> AccessKey {
    door.store.env.run(door.store.instance.access_keys().create(Rights::of(rights))).expect("made")
}

fn signature(secret: &str, text: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    STANDARD.encode(mac.chain_update(text).finalize().into_bytes())
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Sends a request that is signed with a secret.
fn signed(door: &Door, secret: &str, method: &str, path: &str, body: &str) -> Answer {
    let bare = path.split('?').next().unwrap_or_default();
    let comp = if path.contains("comp=acl") {
        "?comp=acl"
    } else if path.contains("comp=properties") {
        "?comp=properties"
    } else {
        ""
    };
    let text = format!("{method}\n\napplication/json\n{DATE}\n/acct/{bare}{comp}");
    let authorization = format!("SharedKey acct:{}", signature(secret, &text));
    let headers = vec![
        ("Accept", "application/json"),
        ("Content-Type", "application/json"),
        ("If-Match", "*"),
        ("x-ms-date", DATE),
        ("Authorization", &authorization),
    ];
    let url = format!("{BASE}/{path}");
    door.pass(&Request { method, url: &url, headers, body: body.as_bytes() }, Access::Signed)
}

/// Sends a request whose URL has a signature for a table, or for the account.
fn shared(door: &Door, secret: &str, fields: &[(&str, &str)], (method, path, body): (&str, &str, &str)) -> Answer {
    let field = |name: &str| fields.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| value);
    let text = if field("tn").is_empty() {
        let names = ["sp", "ss", "srt", "st", "se", "sip", "spr", "sv"];
        names.iter().fold("acct\n".to_owned(), |text, name| text + field(name) + "\n")
    } else {
        let resource = format!("/table/acct/{}", field("tn").to_lowercase());
        let before = ["sp", "st", "se"].map(field);
        let after = ["si", "sip", "spr", "sv", "spk", "srk", "epk", "erk"].map(field);
        [&before[..], &[&resource], &after[..]].concat().join("\n")
    };
    let query: String = fields.iter().map(|(name, value)| format!("&{name}={}", encoded(value))).collect();
    let separator = if path.contains('?') { "" } else { "?" };
    let url = format!("{BASE}/{path}{separator}{query}&sig={}", encoded(&signature(secret, &text)));
    let headers = vec![("Accept", "application/json"), ("If-Match", "*")];
    // An insert has no condition, and none is looked at.
    door.pass(&Request { method, url: &url, headers, body: body.as_bytes() }, Access::Signed)
}

/// Every operation, and the right that it needs.
fn operations() -> Vec<(Right, &'static str, String, &'static str)> {
    let entity = path_of(("p", "r"));
    vec![
        (Right::Read, "GET", "Tables".into(), ""),
        (Right::Read, "GET", "Tables('Tab')".into(), ""),
        (Right::Read, "GET", "Tab()".into(), ""),
        (Right::Read, "GET", entity.clone(), ""),
        (Right::Write, "POST", "Tab".into(), r#"{"PartitionKey":"p","RowKey":"new"}"#),
        (Right::Write, "PUT", entity.clone(), "{}"),
        (Right::Write, "MERGE", entity.clone(), "{}"),
        (Right::Write, "DELETE", entity, ""),
        (Right::Admin, "POST", "Tables".into(), r#"{"TableName":"More"}"#),
        (Right::Admin, "GET", "Tab?comp=acl".into(), ""),
        (Right::Admin, "PUT", "Tab?comp=acl".into(), ""),
        (Right::Admin, "GET", "?restype=service&comp=properties".into(), ""),
        (Right::Admin, "PUT", "?restype=service&comp=properties".into(), "<StorageServiceProperties/>"),
        (Right::Admin, "DELETE", "Tables('Tab')".into(), ""),
    ]
}

#[test]
fn i6_a_key_passes_the_azure_door_with_its_rights_and_no_others() {
    for right in ALL {
        for (needed, method, path, body) in operations() {
            let door = Door::with_table();
            door.write("PUT", ("p", "r"), None, "{}");
            let key = key(&door, &[right]);
            let by_secret = |secret: &str| {
                let url = format!("{BASE}/{path}");
                let headers = vec![("Accept", "application/json"), ("If-Match", "*")];
                door.pass(&Request { method, url: &url, headers, body: body.as_bytes() }, Access::Secret(secret))
            };
            let what = format!("{right:?}: {method} {path}");
            if right == needed {
                let answer = signed(&door, &key.secret, method, &path, body);
                assert!(answer.status < 300, "{what}: {answer:?}");
            } else {
                for answer in [signed(&door, &key.secret, method, &path, body), by_secret(&key.secret)] {
                    assert_eq!(answer.status, 403, "{what}");
                    assert!(answer.body.contains("AuthorizationPermissionMismatch"), "{what}: {answer:?}");
                }
                assert_eq!(door.get("Tab()").json()["value"].as_array().map(Vec::len), Some(1), "nothing changed");
            }
            assert_eq!(by_secret("wrong").status, 403);
        }
    }
}

#[test]
fn i6_a_wrong_signature_reveals_nothing() {
    let door = Door::with_table();
    let sound = key(&door, &ALL);
    let mut answers = Vec::new();
    for path in ["Tab()", "Missing()", "Tables('Tab')", "Tables('Missing')", "no/where", "Tab()?$top=x"] {
        let wrong = signed(&door, "wrong", "GET", path, "");
        wrong.is(AzureCode::AuthenticationFailed);
        answers.push(wrong.message());
        assert_ne!(signed(&door, &sound.secret, "GET", path, "").status, 403, "{path}");
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "one text for all");
    let url = format!("{BASE}/Tab()");
    let anonymous = Request { method: "GET", url: &url, headers: vec![], body: b"" };
    assert_eq!(door.pass(&anonymous, Access::Signed).status, 403);
    let disabled = door.store.env.run(door.store.instance.access_keys().update(&sound.id, Some(false), None));
    assert!(!disabled.expect("changed").enabled);
    signed(&door, &sound.secret, "GET", "Tab()", "").is(AzureCode::AuthenticationFailed);
}

/// I6: a right that lacks is told whatever else is wrong with the request.
#[test]
fn i6_a_request_with_mistakes_is_refused_for_the_right_that_lacks() {
    let door = Door::with_table();
    door.write("PUT", ("p", "r"), None, "{}");
    let entity = path_of(("p", "r"));
    let pass = |right, method: &str, path: &str, headers: &[(&'static str, &'static str)], body: &str| {
        let secret = key(&door, &[right]).secret;
        let url = format!("{BASE}/{path}");
        door.pass(
            &Request { method, url: &url, headers: headers.to_vec(), body: body.as_bytes() },
            Access::Secret(&secret),
        )
    };
    let json = [("Accept", "application/json"), ("Content-Type", "application/json")];
    let refused = AzureCode::AuthorizationPermissionMismatch;
    pass(Right::Read, "POST", "Tab", &json, "{").is(refused);
    pass(Right::Read, "DELETE", &entity, &json, "").is(refused);
    pass(Right::Read, "PUT", &entity, &[("If-Match", "wrong"), ("Accept", "application/json")], "{}").is(refused);
    for path in ["Tab()", &entity, "Tables", "Tables('Tab')"] {
        assert_eq!(pass(Right::Write, "GET", path, &[], "").status, 403, "{path}");
    }
    let part = format!("--c\nContent-Type: application/http\n\nDELETE {BASE}/{entity} HTTP/1.1\n\n");
    for count in [1, 101] {
        let set = part.repeat(count);
        let batch = format!("--b\nContent-Type: multipart/mixed; boundary=c\n\n{set}--c--\n--b--\n");
        let headers = [("Content-Type", "multipart/mixed; boundary=b"), ("Accept", "application/json")];
        pass(Right::Read, "POST", "$batch", &headers, &batch).is_in_xml(refused);
        assert_eq!(pass(Right::Write, "POST", "$batch", &headers, &batch).status, 202, "its changes are looked at");
    }
    assert_eq!(door.get(&entity).status, 200);
}

#[test]
fn i6_a_batch_needs_the_right_for_each_of_its_changes() {
    let door = Door::with_table();
    let reader = key(&door, &[Right::Read]);
    let body = format!(
        "--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\nContent-Type: application/http\n\nPUT {BASE}/{} HTTP/1.1\n\n{{}}\n--c--\n--b--\n",
        path_of(("p", "r"))
    );
    let url = format!("{BASE}/$batch");
    let headers = vec![("Content-Type", "multipart/mixed; boundary=b"), ("Accept", "application/json")];
    let request = Request { method: "POST", url: &url, headers, body: body.as_bytes() };
    door.pass(&request, Access::Secret(&reader.secret)).is_in_xml(AzureCode::AuthorizationPermissionMismatch);
    assert_eq!(door.get(&path_of(("p", "r"))).status, 404);
    let writer = key(&door, &[Right::Write]);
    assert_eq!(door.pass(&request, Access::Secret(&writer.secret)).status, 202);
    assert_eq!(door.get(&path_of(("p", "r"))).status, 200);
}

#[test]
fn i6_a_signature_of_a_table_gives_its_part_of_the_table() {
    let door = Door::with_table();
    let key = key(&door, &ALL);
    for row in ["a", "b", "c", "d"] {
        door.insert(row, "");
    }
    let fields = [
        ("sv", "2019-02-02"),
        ("tn", "Tab"),
        ("sp", "ru"),
        ("se", "2017-01-01T00:00:00Z"),
        ("spk", "p"),
        ("srk", "b"),
        ("epk", "p"),
        ("erk", "c"),
    ];
    let send = |method, path: &str, body| shared(&door, &key.secret, &fields, (method, path, body));
    let page = send("GET", "Tab()", "");
    let json = page.json();
    let rows: Vec<_> = json["value"].as_array().expect("entities").iter().map(|entity| &entity["RowKey"]).collect();
    assert_eq!(rows, ["b", "c"]);
    let first = send("GET", "Tab()?$top=1", "");
    assert!(first.header("x-ms-continuation-NextRowKey").is_some());
    let last = send("GET", "Tab()?$top=2", "");
    assert!(last.header("x-ms-continuation-NextRowKey").is_none(), "what comes next is not its business");
    assert_eq!(send("GET", &path_of(("p", "b")), "").status, 200);
    send("GET", &path_of(("p", "a")), "").is(AzureCode::AuthorizationFailure);
    assert_eq!(send("PUT", &path_of(("p", "c")), "{}").status, 204);
    send("PUT", &path_of(("p", "d")), "{}").is(AzureCode::AuthorizationFailure);
    send("DELETE", &path_of(("p", "c")), "").is(AzureCode::AuthorizationPermissionMismatch);
    send("POST", "Tab", r#"{"PartitionKey":"p","RowKey":"bb"}"#).is(AzureCode::AuthorizationPermissionMismatch);
    send("GET", "Other()", "").is(AzureCode::AuthorizationFailure);
    // Without row keys the range is of whole partitions, and of no others.
    for partition in ["o", "pp", "q"] {
        door.write("PUT", (partition, ""), None, "{}");
    }
    let partitions = fields.into_iter().filter(|(name, _)| !["srk", "erk"].contains(name)).collect::<Vec<_>>();
    for (query, more) in [("", false), ("?$top=3", true), ("?$top=4", false)] {
        let page = shared(&door, &key.secret, &partitions, ("GET", &format!("Tab(){query}"), ""));
        let json = page.json();
        let entities = json["value"].as_array().expect("entities");
        assert!(entities.len() > 2 && entities.iter().all(|entity| entity["PartitionKey"] == "p"), "{query}");
        assert_eq!(page.header("x-ms-continuation-NextPartitionKey").is_some(), more, "{query}");
    }
    send("GET", "Tables", "").is(AzureCode::AuthorizationResourceTypeMismatch);
    shared(&door, "wrong", &fields, ("GET", "Tab()", "")).is(AzureCode::AuthenticationFailed);
    door.store.env.set_now(1_483_228_800_000);
    send("GET", "Tab()", "").is(AzureCode::AuthenticationFailed);
}

#[test]
fn i6_a_signature_of_the_account_gives_what_it_says() {
    let door = Door::with_table();
    let key = key(&door, &ALL);
    let fields = |sp, srt, ss, spr| {
        [("sv", "2019-02-02"), ("ss", ss), ("srt", srt), ("sp", sp), ("se", "2017-01-01"), ("spr", spr)]
    };
    let send = |fields: [_; 6], path| shared(&door, &key.secret, &fields, ("GET", path, ""));
    assert_eq!(send(fields("l", "c", "t", "https,http"), "Tables").status, 200);
    send(fields("r", "c", "t", "https"), "Tables").is(AzureCode::AuthorizationPermissionMismatch);
    send(fields("l", "so", "t", "https"), "Tables").is(AzureCode::AuthorizationResourceTypeMismatch);
    send(fields("l", "c", "bq", "https"), "Tables").is(AzureCode::AuthorizationServiceMismatch);
    send(fields("l", "c", "t", "ftp"), "Tables").is(AzureCode::AuthenticationFailed);
    let policies = send(fields("rwdlacu", "sco", "t", "https"), "Tab?comp=acl&x");
    assert_eq!(policies.xml_code(), (403, "AuthorizationPermissionMismatch".into()));
    let away = [("sip", "10.0.0.1")].iter().chain(&fields("l", "c", "t", "https")).copied().collect::<Vec<_>>();
    shared(&door, &key.secret, &away, ("GET", "Tables", "")).is(AzureCode::AuthorizationSourceIPMismatch);
}

#[test]
fn i6_policies_of_a_table_are_set_read_and_used_by_signatures() {
    let door = Door::with_table();
    let key = key(&door, &ALL);
    let policy = "<SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy><Start>2016-01-01T00:00:00Z</Start>\
                  <Expiry>2017-01-01</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>";
    let fields = [("sv", "2019-02-02"), ("tn", "Tab"), ("si", "readers")];
    let read = || shared(&door, &key.secret, &fields, ("GET", "Tab()", ""));
    read().is(AzureCode::AuthenticationFailed);
    assert_eq!(door.send("PUT", "Tab?comp=acl", &[], policy).status, 204);
    let found = door.send("GET", "TAB?comp=acl", &[], "");
    assert_eq!((found.status, found.header("Content-Type")), (200, Some("application/xml")));
    assert!(
        found.body.contains("<Expiry>2017-01-01T00:00:00.0000000Z</Expiry><Permission>r</Permission>"),
        "{found:?}"
    );
    assert_eq!(read().status, 200);
    let write = shared(&door, &key.secret, &fields, ("DELETE", &path_of(("p", "r")), ""));
    write.is(AzureCode::AuthorizationPermissionMismatch);
    assert_eq!(door.send("PUT", "Tab?comp=acl", &[], "").status, 204);
    read().is(AzureCode::AuthenticationFailed);

    for wrong in [&policy.replace(">r<", ">x<"), &policy.replace("<Id>", "<Id"), "<Other/>"] {
        assert_eq!(door.send("PUT", "Tab?comp=acl", &[], wrong).xml_code(), (400, "InvalidXmlDocument".into()));
    }
    for method in ["GET", "PUT"] {
        assert_eq!(door.send(method, "Missing?comp=acl", &[], "").xml_code(), (404, "TableNotFound".into()));
    }
    door.send("PUT", "Tab?comp=acl", &[], policy);
    door.send("DELETE", "Tables('Tab')", &[], "");
    assert_eq!(door.post("Tables", r#"{"TableName":"Tab"}"#).status, 201);
    read().is(AzureCode::AuthenticationFailed);
}

#[test]
fn azure_properties_of_the_service_are_set_part_by_part() {
    let door = Door::new();
    let path = "?restype=service&comp=properties";
    let first = door.send("GET", path, &[], "");
    assert!(first.body.contains("<Logging><Version>1.0</Version><Delete>false</Delete>"), "{first:?}");
    let cors = "<Cors><CorsRule><AllowedOrigins>http://a.example</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods>\
                <AllowedHeaders>*</AllowedHeaders><ExposedHeaders>*</ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds></CorsRule></Cors>";
    let set = |parts: &str| {
        door.send("PUT", path, &[], &format!("<StorageServiceProperties>{parts}</StorageServiceProperties>"))
    };
    assert_eq!(set(cors).status, 202);
    let minute = "<MinuteMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>\
                  <RetentionPolicy><Enabled>true</Enabled><Days>5</Days></RetentionPolicy></MinuteMetrics>";
    assert_eq!(set(minute).status, 202);
    let both = door.send("GET", path, &[], "");
    assert!(both.body.contains(cors) && both.body.contains(minute), "{both:?}");
    assert_eq!(set("<Logging/>").xml_code(), (400, "InvalidXmlDocument".into()));
    assert_eq!(door.send("POST", path, &[], "").xml_code(), (405, "MethodNotAllowed".into()));
    let stats = door.send("GET", "?restype=service&comp=stats", &[], "");
    assert_eq!(stats.xml_code(), (400, "InvalidQueryParameterValue".into()));
    let url = "https://acct-secondary.table.core.windows.net/?restype=service&comp=stats";
    let secondary = door.pass(&Request { method: "GET", url, headers: vec![], body: b"" }, Access::Off);
    assert!(secondary.body.contains("<Status>live</Status><LastSyncTime>Wed, 20 Jul 2016 16:00:00 GMT</LastSyncTime>"));

    let ask = |origin, method| {
        let headers = [("Origin", origin), ("Access-Control-Request-Method", method)];
        door.send("OPTIONS", "Tables", &headers, "")
    };
    let allowed = ask("http://a.example", "PUT");
    assert_eq!((allowed.status, allowed.header("Access-Control-Allow-Origin")), (200, Some("http://a.example")));
    assert_eq!(ask("http://b.example", "PUT").xml_code(), (403, "CorsPreflightFailure".into()));
    assert_eq!(ask("http://a.example", "DELETE").xml_code(), (403, "CorsPreflightFailure".into()));
    let read = door.send("GET", "Tables", &[("Origin", "http://a.example"), ("Accept", "application/json")], "");
    assert_eq!(read.header("Access-Control-Allow-Origin"), Some("http://a.example"));
    assert!(read.header("Access-Control-Expose-Headers").is_some_and(|names| names.contains("x-ms-request-id")));
    let failed = door.send("GET", "Missing()", &[("Origin", "http://a.example"), ("Accept", "application/json")], "");
    assert_eq!((failed.status, failed.header("Vary")), (404, Some("Origin")), "pages see errors too");
}

#[test]
fn i6_a_policy_of_an_id_alone_is_an_id_alone() {
    let door = Door::with_table();
    let empty = "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy/></SignedIdentifier></SignedIdentifiers>";
    assert_eq!(door.send("PUT", "Tab?comp=acl", &[], empty).status, 204);
    let found = door.send("GET", "Tab?comp=acl", &[], "").body;
    assert!(found.contains("<SignedIdentifier><Id>a</Id></SignedIdentifier>"), "{found}");
}

/// The rules for other origins of the service, as it tells caches of them: which headers an answer has, by method and origin.
#[test]
fn azure_reads_tell_caches_of_rules_for_origins_and_other_methods_do_not() {
    let door = Door::with_table();
    let path = "?restype=service&comp=properties";
    let set = |origins: &[&str]| {
        let rules = origins.iter().map(|origin| {
            format!(
                "<CorsRule><AllowedOrigins>{origin}</AllowedOrigins><AllowedMethods>GET,PUT,OPTIONS</AllowedMethods>\
                 <AllowedHeaders/><ExposedHeaders>x-ms-*</ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds></CorsRule>"
            )
        });
        let rules = rules.collect::<String>();
        let body = format!("<StorageServiceProperties><Cors>{rules}</Cors></StorageServiceProperties>");
        assert_eq!(door.send("PUT", path, &[], &body).status, 202);
    };
    let told = |method: &str, origin: Option<&str>| {
        let origin = origin.map(|origin| ("Origin", origin));
        let headers: Vec<_> = [("Accept", "application/json")].into_iter().chain(origin).collect();
        let path = if method == "GET" { "Tab()".to_owned() } else { path_of(("p", "r")) };
        let answer = door.send(method, &path, &headers, "{}");
        let header = |name| answer.header(name).map(str::to_owned);
        let exposed = header("Access-Control-Expose-Headers").is_some();
        (header("Vary"), header("Access-Control-Allow-Origin"), exposed)
    };
    let a = Some("http://a.example");
    let (nothing, vary) = ((None, None, false), Some("Origin".to_owned()));
    let (open, own) = (Some("*".to_owned()), a.map(str::to_owned));
    for method in ["GET", "PUT"] {
        assert_eq!((told(method, None), told(method, a)), (nothing.clone(), nothing.clone()), "no rules: {method}");
    }
    set(&["http://b.example"]);
    assert_eq!(told("GET", None), (vary.clone(), None, false), "no origin, and no rule for all");
    assert_eq!(told("GET", a), (vary.clone(), None, false), "no rule fits");
    assert_eq!((told("PUT", None), told("PUT", a)), (nothing.clone(), nothing.clone()));
    set(&["http://a.example"]);
    assert_eq!(told("GET", a), (vary, own.clone(), true), "a rule for this origin");
    assert_eq!(told("PUT", a), (None, own, true));
    set(&["http://b.example", "*"]);
    for origin in [None, a] {
        assert_eq!(told("GET", origin), (None, open.clone(), true), "a rule for all");
    }
    assert_eq!((told("PUT", None), told("PUT", a)), (nothing.clone(), (None, open, true)));
    set(&[]);
    assert_eq!(told("GET", None), nothing);
}
