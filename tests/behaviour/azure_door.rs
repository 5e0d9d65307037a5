//! The door of the Azure Table service: how tests pass it, and what every answer has.

use crate::store::*;
use serde_json::Value as Json;
use tabstore::azure::AzureCode;
use tabstore::doors::azure::answer;
use tabstore::doors::{Access, Request, Response};

/// The account of all tests.
pub(crate) const BASE: &str = "https://acct.table.core.windows.net";
const JSON: (&str, &str) = ("Accept", "application/json;odata=minimalmetadata");

/// An instance behind a door.
pub(crate) struct Door {
    pub(crate) store: Store,
}

/// An answer, as tests look at it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Door {
    /// A door that everybody may pass, without a table.
    pub(crate) fn new() -> Self {
        Self { store: Store::new() }
    }

    /// The same with the table `Tab`.
    pub(crate) fn with_table() -> Self {
        let door = Self::new();
        let created = door.post("Tables", r#"{"TableName":"Tab"}"#);
        assert_eq!(created.status, 201, "{created:?}");
        door
    }

    pub(crate) fn pass(&self, request: &Request<'_>, access: Access<'_>) -> Answer {
        let response = self.store.env.run(answer(&self.store.instance, request, access, None)).expect("answered");
        let Response { status, headers, body } = response;
        Answer { status, headers, body: String::from_utf8(body).expect("text") }
    }

    /// Sends a request about a path of the account, with these headers.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let url = format!("{BASE}/{path}");
        let request = Request { method, url: &url, headers: headers.to_vec(), body: body.as_bytes() };
        self.pass(&request, Access::Off)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[JSON], "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, &[JSON, ("Content-Type", "application/json")], body)
    }

    /// Writes an entity: PUT, MERGE, PATCH or DELETE, with a condition if there is one.
    pub(crate) fn write(&self, method: &str, key: (&str, &str), condition: Option<&str>, body: &str) -> Answer {
        let condition = condition.map(|condition| ("If-Match", condition));
        let headers: Vec<_> = [JSON].into_iter().chain(condition).collect();
        self.send(method, &path_of(key), &headers, body)
    }

    /// Inserts an entity with the keys `p` and `row`, and these members of JSON behind them.
    pub(crate) fn insert(&self, row: &str, members: &str) -> Answer {
        let comma = if members.is_empty() { "" } else { "," };
        self.post("Tab", &format!(r#"{{"PartitionKey":"p","RowKey":"{row}"{comma}{members}}}"#))
    }

    /// The members of an entity with the keys `p` and `row`.
    pub(crate) fn entity(&self, row: &str) -> Json {
        let answer = self.get(&path_of(("p", row)));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The status and the code of an error in JSON.
    pub(crate) fn code(&self) -> (u16, String) {
        let json = self.json();
        (self.status, json["odata.error"]["code"].as_str().unwrap_or_default().to_owned())
    }

    /// The text of an error, without the lines about its request.
    pub(crate) fn message(&self) -> String {
        let json = self.json();
        let text = json["odata.error"]["message"]["value"].as_str().unwrap_or_default().to_owned();
        text.split('\n').next().unwrap_or_default().to_owned()
    }

    /// The code of an error in XML.
    pub(crate) fn xml_code(&self) -> (u16, String) {
        assert_eq!(self.header("Content-Type"), Some("application/xml"), "{self:?}");
        let start = "<m:error xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><m:code>";
        let (_, rest) = self.body.split_once(start).unwrap_or_else(|| panic!("{self:?}"));
        (self.status, rest.split('<').next().unwrap_or_default().to_owned())
    }

    /// Asserts that it is this error, in XML.
    pub(crate) fn is_in_xml(&self, code: AzureCode) {
        assert_eq!(self.xml_code(), (code.status(), code.as_str().to_owned()), "{self:?}");
    }

    /// Asserts that it is this error, in JSON.
    pub(crate) fn is(&self, code: AzureCode) {
        assert_eq!(self.code(), (code.status(), code.as_str().to_owned()), "{self:?}");
    }
}

pub(crate) fn path_of((partition_key, row_key): (&str, &str)) -> String {
    format!("Tab(PartitionKey='{partition_key}',RowKey='{row_key}')")
}

#[test]
fn azure_every_answer_has_the_headers_of_the_service() {
    let door = Door::with_table();
    let headers = [JSON, ("x-ms-client-request-id", "my id"), ("x-ms-version", "2020-12-06")];
    let answer = door.send("GET", "Tables", &headers, "");
    for (name, value) in [
        ("Cache-Control", "no-cache"),
        ("X-Content-Type-Options", "nosniff"),
        ("Date", "Wed, 20 Jul 2016 16:00:00 GMT"),
        ("x-ms-version", "2020-12-06"),
        ("x-ms-client-request-id", "my id"),
        ("Content-Type", "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    let id = answer.header("x-ms-request-id").expect("an id").to_owned();
    assert_eq!(id.len(), 36);
    let other = door.get("Tables");
    assert_ne!(other.header("x-ms-request-id"), Some(&*id), "each has its own");
    assert_eq!((other.header("x-ms-version"), other.header("x-ms-client-request-id")), (Some("2019-02-02"), None));
}

#[test]
fn azure_an_error_is_json_on_one_line_with_its_request_and_time() {
    let door = Door::new();
    let answer = door.get("Missing()");
    answer.is(AzureCode::TableNotFound);
    let id = answer.header("x-ms-request-id").expect("an id");
    let text = format!(r"The table specified does not exist.\nRequestId:{id}\nTime:2016-07-20T16:00:00Z");
    let body = format!(r#"{{"odata.error":{{"code":"TableNotFound","message":{{"lang":"en-US","value":"{text}"}}}}}}"#);
    assert_eq!(answer.body, body);
    let lines = door.get("Tab(PartitionKey='a%E2%80%A8b%E2%80%A9c%E2%82%AC%23',RowKey='')");
    lines.is(AzureCode::OutOfRangeInput);
    assert!(lines.body.contains(r"'a\u2028b\u2029c€#'"), "some clients end a line there: {}", lines.body);
    let none = door.send("GET", "Missing()", &[("Accept", "application/json;odata=nometadata")], "");
    assert_eq!(none.header("Content-Type"), Some("application/json;odata=nometadata;streaming=true;charset=utf-8"));
}

#[test]
fn azure_an_error_in_xml_has_the_names_of_the_service_and_a_language() {
    let door = Door::new();
    let answer = door.send("GET", "Missing?comp=acl", &[], "");
    answer.is_in_xml(AzureCode::TableNotFound);
    let id = answer.header("x-ms-request-id").expect("an id");
    let text = format!("The table specified does not exist.\nRequestId:{id}\nTime:2016-07-20T16:00:00Z");
    let end = format!("<m:code>TableNotFound</m:code><m:message xml:lang=\"en-US\">{text}</m:message></m:error>");
    assert!(answer.body.starts_with("<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error "), "{}", answer.body);
    assert!(answer.body.ends_with(&end), "{}", answer.body);
}

#[test]
fn azure_a_version_of_the_data_service_may_have_no_point() {
    let door = Door::with_table();
    for version in ["3", "3.0", "3;NetFx"] {
        assert_eq!(door.send("GET", "Tab()", &[JSON, ("DataServiceVersion", version)], "").status, 200, "{version}");
    }
}

#[test]
fn azure_atom_is_refused_and_json_is_asked_for_by_name() {
    let door = Door::with_table();
    for headers in [vec![], vec![("Accept", "application/atom+xml")]] {
        let answer = door.send("GET", "Tab()", &headers, "");
        assert_eq!(answer.xml_code(), (415, "AtomFormatNotSupported".into()));
    }
    let old = door.send("GET", "Tab()", &[JSON, ("x-ms-version", "2011-08-18")], "");
    assert_eq!(old.xml_code(), (415, "JsonFormatNotSupported".into()));
    assert_eq!(door.send("GET", "Tab()?$format=json", &[], "").status, 200);
    let without = door.send("PUT", &path_of(("p", "r")), &[], "{}");
    assert_eq!(without.status, 204, "nothing is sent back, so no format is needed: {without:?}");
    let atom = door.send("POST", "Tab", &[JSON, ("Content-Type", "application/atom+xml")], "<entry/>");
    assert_eq!(atom.xml_code(), (415, "AtomFormatNotSupported".into()));
}

#[test]
fn azure_requests_that_name_nothing_get_their_codes() {
    let door = Door::with_table();
    let send = |method, path, headers: &[(&'static str, &'static str)]| {
        let headers: Vec<_> = [JSON].iter().chain(headers).copied().collect();
        door.send(method, path, &headers, "")
    };
    let entity = path_of(("p", "r"));
    send("GET", "Tab()?$orderby=a", &[]).is(AzureCode::NotImplemented);
    send("GET", "Tab()/$count", &[]).is(AzureCode::NotImplemented);
    send("GET", "Tab(PartitionKey='p',RowKey='r')/name", &[]).is(AzureCode::NotImplemented);
    send("DELETE", "Tab", &[]).is(AzureCode::MethodNotAllowed);
    send("FOO", "Tab", &[]).is(AzureCode::MethodNotAllowed);
    send("GET", "Tab('a')", &[]).is(AzureCode::InvalidInput);
    send("GET", "", &[]).is(AzureCode::InvalidQueryParameterValue);
    send("POST", "", &[]).is(AzureCode::MethodNotAllowed);
    send("GET", "Tab()?$top=1&$top=1", &[]).status.eq(&400).then_some(()).expect("refused");
    send("PUT", &entity, &[("X-HTTP-Method", "MERGE")]).is(AzureCode::XMethodNotUsingPost);
    send("POST", &entity, &[("X-HTTP-Method", "GO")]).is(AzureCode::XMethodIncorrectValue);
    send("POST", &entity, &[("X-HTTP-Method", "PUT"), ("X-HTTP-Method", "PUT")]).is(AzureCode::XMethodIncorrectCount);
    send("GET", "Tab()", &[("DataServiceVersion", "9.0")]).is(AzureCode::InvalidHeaderValue);
    send("DELETE", &entity, &[]).is(AzureCode::MissingRequiredHeader);
    let send = |url: &str| door.pass(&Request { method: "GET", url, headers: vec![JSON], body: b"" }, Access::Off);
    send("/acct/Tab()").is(AzureCode::HostInformationNotPresent);
    send("https://UP-per.table.core.windows.net/Tab()").is(AzureCode::InvalidResourceName);
}

#[test]
fn azure_l5_a_body_has_at_most_4_mib() {
    let door = Door::with_table();
    let body = |bytes: usize| format!(r#"{{"PartitionKey":"p","RowKey":"r"{}}}"#, " ".repeat(bytes - 33));
    door.post("Tab", &body(4 * 1024 * 1024 + 1)).is(AzureCode::RequestBodyTooLarge);
    assert_eq!(door.post("Tab", &body(4 * 1024 * 1024)).status, 201);
}

#[test]
fn azure_a1_an_account_is_named_in_the_host_or_in_the_path() {
    let door = Door::with_table();
    let send = |method: &str, url: &str, headers: &[(&str, &str)]| {
        door.pass(&Request { method, url, headers: headers.to_vec(), body: b"" }, Access::Off)
    };
    for url in [
        "http://127.0.0.1:10002/acct/Tab()",
        "inproc://acct/Tab()",
        "http://inproc/acct/Tab()",
        "https://ACCT.table.x/Tab()",
    ] {
        let answer = send("GET", url, &[JSON]);
        assert_eq!(answer.status, 200, "{url}: {answer:?}");
        let base = url.trim_end_matches("/Tab()");
        assert_eq!(answer.json()["odata.metadata"], format!("{base}/$metadata#Tab"));
    }
    assert_eq!(send("GET", "/acct/Tab()", &[JSON, ("Host", "localhost")]).status, 200);
    send("GET", "inproc://other/Tab()", &[JSON]).is(AzureCode::TableNotFound);
    let secondary = "https://acct-secondary.table.core.windows.net/Tab()";
    assert_eq!(send("GET", secondary, &[JSON]).status, 200, "the secondary reads");
    send("POST", secondary, &[JSON]).is(AzureCode::AuthorizationFailure);
}
