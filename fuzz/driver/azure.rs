//! The door of the Azure Table service: requests of any bytes, and sound ones that were damaged.

use super::entrance::Entrance;
use super::input::Input;
use tabstore::doors::azure::answer;
use tabstore::doors::{Access, Request, Response};

/// An entity of an account that no input names.
const KNOWN: &str = "https://knownaccount.table.core.windows.net/Known(PartitionKey='p',RowKey='r')";
const JSON: &str = "application/json;odata=fullmetadata";

const CHANGES: &str = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n\
    POST inproc://acct/Tab HTTP/1.1\r\nAccept: application/json\r\n\r\n{\"PartitionKey\":\"p\",\"RowKey\":\"x\",\"n\":1.50}\r\n\
    --c\r\nContent-Type: application/http\r\nContent-ID: 1\r\n\r\nDELETE /Tab(PartitionKey='p',RowKey='r') HTTP/1.1\r\nIf-Match: *\r\n\r\n\
    --c\r\nContent-Type: application/http\r\n\r\nPATCH Tab(PartitionKey='p',RowKey='s') HTTP/1.1\r\n\r\n{}\r\n--c--\r\n--b--\r\n";
const READ: &str =
    "--b\nContent-Type: application/http\n\nGET Tab()?$top=3&$select=n HTTP/1.1\nAccept: application/json\n\n--b--";
const ENTITY: &str = r#"{"PartitionKey":"p","RowKey":"r","s":"\u00e9\n","n":-12,"d":1.5e3,"t@odata.type":"Edm.DateTime",
    "t":"2020-02-29T23:59:59.1234567+05:30","g":"c9da6455-213d-42c9-9a79-3e9149a57833","g@odata.type":"Edm.Guid","b":"AQID",
    "b@odata.type":"Edm.Binary","l@odata.type":"Edm.Int64","l":"9223372036854775807","x":null,"y":true,"odata.etag":"W/\"x\""}"#;
const POLICIES: &str = "<?xml version=\"1.0\"?><SignedIdentifiers><SignedIdentifier><Id>a&amp;b</Id><AccessPolicy><Start>2016-01-01</Start>\
    <Expiry>2020-01-01T00:00:00Z</Expiry><Permission>raud</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>";
const PROPERTIES: &str = "<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>true</Read><Write>true\
    </Write><RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></Logging><Cors><CorsRule><AllowedOrigins>*\
    </AllowedOrigins><AllowedMethods>GET</AllowedMethods><AllowedHeaders>x-*</AllowedHeaders><ExposedHeaders>*</ExposedHeaders>\
    <MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>";

/// A header of a request.
type Header = (&'static str, &'static str);

/// Sound requests: method, path with query, headers, body.
const SOUND: [(&str, &str, &[Header], &str); 20] = [
    ("POST", "Tables", &[("Content-Type", "application/json")], r#"{"TableName":"Tab"}"#),
    (
        "GET",
        "Tables()?$filter=TableName%20ge%20'a'&$top=2&NextTableName=1!4!VGFi",
        &[("x-ms-version", "2019-02-02")],
        "",
    ),
    ("GET", "Tables('Tab')", &[("DataServiceVersion", "3.0;NetFx")], ""),
    ("DELETE", "Tables('Tab')", &[("x-ms-client-request-id", "x")], ""),
    ("POST", "Tab", &[("Prefer", "return-content")], ENTITY),
    ("PUT", "Tab(PartitionKey='p',RowKey='r')", &[("Content-Type", "application/json")], ENTITY),
    ("POST", "Tab(RowKey='s''%F0%9F%98%80',PartitionKey='p')", &[("X-HTTP-Method", "MERGE")], r#"{"n":2147483648}"#),
    ("MERGE", "Tab(PartitionKey='p',RowKey='r')", &[("If-Match", "W/\"datetime'2016-07-20T16%3A00%3A00Z'\"")], ENTITY),
    ("DELETE", "Tab(PartitionKey='p',RowKey='r')", &[("If-Match", "*")], ""),
    (
        "GET",
        "Tab(PartitionKey='p',RowKey='r')?$select=n,no,RowKey",
        &[("Accept", "application/json;odata=nometadata")],
        "",
    ),
    (
        "GET",
        "Tab()?$filter=not%20(n%20le%205L%20or%20t%20gt%20datetime'2020-01-01')%20and%20PartitionKey%20eq%20'p'",
        &[("Origin", "o")],
        "",
    ),
    ("GET", "Tab?$top=2&NextPartitionKey=1!4!cA--&NextRowKey=1!4!cg--", &[("Accept", "application/json")], ""),
    ("POST", "$batch", &[("Content-Type", "multipart/mixed; boundary=b")], CHANGES),
    ("POST", "$batch", &[("content-type", "multipart/mixed; boundary=\"b\"")], READ),
    ("PUT", "Tab?comp=acl", &[("x-ms-date", "x")], POLICIES),
    ("GET", "Tab?comp=acl", &[("Accept", "application/xml")], ""),
    ("PUT", "?restype=service&comp=properties", &[("Accept", "application/xml")], PROPERTIES),
    ("GET", "?restype=service&comp=properties", &[("Origin", "http://a.example")], ""),
    (
        "OPTIONS",
        "Tab",
        &[
            ("Access-Control-Request-Headers", "x-a"),
            ("Origin", "http://a.example"),
            ("Access-Control-Request-Method", "GET"),
        ],
        "",
    ),
    (
        "GET",
        "Tab()?sv=2019-02-02&tn=Tab&sp=r&se=2020-01-01&spk=a&srk=b&spr=https&sip=127.0.0.1&sig=AAAA",
        &[("Authorization", "SharedKey acct:AAAA")],
        "",
    ),
];

/// Each request gets an answer of the protocol, none a fault of the program, and a stranger gets nothing.
pub(crate) fn azure(data: &[u8]) {
    let mut input = Input::new(data);
    let entrance = Entrance::new();
    let Entrance { env, instance, .. } = &entrance;
    let pass = |request: &Request<'_>, access| env.run(answer(instance, request, access, None)).expect("answered");
    let send = |method, url: &str, body: &str| {
        let headers = vec![("Accept", JSON)];
        pass(&Request { method, url, headers, body: body.as_bytes() }, entrance.known()).status
    };
    let (base, _) = KNOWN.rsplit_once('/').expect("a place");
    assert_eq!(send("POST", &format!("{base}/Tables"), r#"{"TableName":"Known"}"#), 201);
    assert_eq!(send("PUT", KNOWN, "{}"), 204);
    send("POST", "inproc://acct/Tables", r#"{"TableName":"Tab"}"#);
    while !input.is_empty() {
        let (method, url, headers, body) = if input.one_in(8) { any(&mut input) } else { damaged(&mut input) };
        let headers = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let request = Request { method: &method, url: &url, headers, body: &body };
        let access = entrance.any(&mut input);
        let response = pass(&request, access);
        check(&response);
        if access == Access::Signed {
            assert!(response.status >= 400 || method == "OPTIONS", "a stranger passed: {request:?}");
        }
    }
    assert_eq!(send("GET", KNOWN, ""), 200, "nobody touched it");
}

/// A request: method, URL, headers, body.
type Asked = (String, String, Vec<(String, String)>, Vec<u8>);

/// Anything.
fn any(input: &mut Input<'_>) -> Asked {
    let headers = (0..input.pick(4)).map(|_| (input.text(), input.text())).collect();
    let start = input.of(&["", "inproc://acct/", "http://h/acct/", "https://acct.table.x/"]);
    (input.text(), start.to_owned() + &input.text(), headers, input.bytes())
}

/// A sound request with some damage.
fn damaged(input: &mut Input<'_>) -> Asked {
    let (method, path, sound, body) = input.of(&SOUND);
    let base = input.of(&["inproc://acct", "http://127.0.0.1:10002/acct", "https://acct.table.core.windows.net"]);
    let (first, others) = sound.split_first().expect("a header");
    let mut texts = [format!("{base}/{path}"), first.1.to_owned(), body.to_owned()];
    for _ in 0..input.of(&[0, 0, 1, 1, 2, 8]) {
        let at = input.of(&[0, 1, 2, 2]);
        damage(&mut texts[at], input);
    }
    let [url, value, body] = texts;
    let mut headers = vec![(first.0.to_owned(), value)];
    headers.extend(others.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    if !input.one_in(8) {
        headers.push(("accept".into(), JSON.into()));
    }
    let method = if input.one_in(16) { input.of(&["GET", "PUT", "POST", "DELETE", "FOO"]) } else { method };
    (method.to_owned(), url, headers, body.into_bytes())
}

/// Takes some letters out, doubles them, or puts others in.
fn damage(text: &mut String, input: &mut Input<'_>) {
    let pieces = [
        "'", "''", "%", "%27", "\"", "\\", "(", ")", "&", "=", "\r\n", "{", "}", "[", ",", "<", ">", "&#", "-", "é",
        "\0", "9", "--b", "--c--",
    ];
    let letters: Vec<char> = text.chars().collect();
    let at = (input.pick(256) * 256 + input.pick(256)) % (letters.len() + 1);
    let end = (at + input.pick(12)).min(letters.len());
    let mut changed: String = letters[..at].iter().collect();
    match input.pick(3) {
        0 => {}
        1 => changed.extend(&letters[at..end].repeat(2)),
        _ => {
            changed.push_str(input.of(&pieces));
            changed.extend(&letters[at..end]);
        }
    }
    changed.extend(&letters[end..]);
    *text = changed;
}

/// An answer that a client can read: no fault, texts in its headers, and the body that they say.
fn check(response: &Response) {
    let Response { status, headers, body } = response;
    assert!(matches!(status, 200..=204 | 400..=415 | 501), "a fault of the program: {response:?}");
    let text = std::str::from_utf8(body).expect("text");
    for (name, value) in headers {
        let is_printable = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        assert!(is_printable && !name.is_empty(), "{name}: {value:?}");
    }
    let content_type = headers.iter().find(|(name, _)| name == "Content-Type").map(|(_, value)| value.as_str());
    match content_type {
        Some(value) if value.starts_with("application/json") => {
            serde_json::from_str::<serde::de::IgnoredAny>(text).expect("JSON");
        }
        Some("application/xml") => assert!(text.starts_with("<?xml ") && text.ends_with('>'), "{text}"),
        Some(value) => {
            let (_, boundary) = value.split_once("boundary=").expect("a batch");
            assert!(text.ends_with(&format!("--{boundary}--\r\n")), "{text}");
        }
        None => assert_eq!(text, "", "a body without a type"),
    }
}
