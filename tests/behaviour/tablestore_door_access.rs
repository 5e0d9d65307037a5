//! Who may pass the door of Table Store (I6).

use crate::tablestore_door::*;
use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use sha1::Sha1;
use tabstore::doors::{Access, Request, Response};
use tabstore::tablestore::{AccessKey, Right, Rights};

/// The time of the store's clock, as headers have it.
const DATE: &str = "2016-07-20T16:00:00.000Z";
const OPERATIONS: [(&str, Right); 25] = [
    ("GetRow", Right::Read),
    ("BatchGetRow", Right::Read),
    ("GetRange", Right::Read),
    ("ListTable", Right::Read),
    ("DescribeTable", Right::Read),
    ("ComputeSplitPointsBySize", Right::Read),
    ("ListStream", Right::Read),
    ("DescribeStream", Right::Read),
    ("GetShardIterator", Right::Read),
    ("GetStreamRecord", Right::Read),
    ("ListSearchIndex", Right::Read),
    ("PutRow", Right::Write),
    ("UpdateRow", Right::Write),
    ("DeleteRow", Right::Write),
    ("BatchWriteRow", Right::Write),
    ("StartLocalTransaction", Right::Write),
    ("CommitTransaction", Right::Write),
    ("AbortTransaction", Right::Write),
    ("CreateTable", Right::Admin),
    ("UpdateTable", Right::Admin),
    ("DeleteTable", Right::Admin),
    ("CreateIndex", Right::Admin),
    ("DropIndex", Right::Admin),
    ("AddDefinedColumn", Right::Admin),
    ("DeleteDefinedColumn", Right::Admin),
];

/// Names and values.
type Headers = Vec<(String, String)>;

fn made(door: &Door, rights: &[Right]) -> AccessKey {
    door.store.env.run(door.store.instance.access_keys().create(Rights::of(rights))).expect("made")
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn hmac_sha1(key: &str, text: &str) -> String {
    let mut mac = Hmac::<Sha1>::new_from_slice(key.as_bytes()).expect("any length");
    mac.update(text.as_bytes());
    base64(&mac.finalize().into_bytes())
}

/// The headers of a signed request.
fn signed(operation: &str, body: &[u8], id: &str, secret: &str, date: &str) -> Headers {
    let md5 = base64(&Md5::digest(body));
    let mut headers: Headers = [
        ("x-ots-accesskeyid", id),
        ("x-ots-apiversion", "2015-12-31"),
        ("x-ots-contentmd5", &md5),
        ("x-ots-date", date),
        ("x-ots-instancename", "demo"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    headers.push(("x-ots-signature".into(), hmac_sha1(secret, &format!("/{operation}\nPOST\n\n{lines}"))));
    headers
}

fn send(door: &Door, operation: &str, headers: &[(String, String)], body: &[u8]) -> Response {
    let url = format!("http://127.0.0.1/{operation}");
    let headers = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    door.pass(&Request { method: "POST", url: &url, headers, body }, Access::Signed)
}

/// I6: a key does what its rights say; the refusal says nothing of what there is.
#[test]
fn i6_a_key_does_what_its_rights_say() {
    let door = Door::with_table();
    for own in [Right::Read, Right::Write, Right::Admin] {
        let key = made(&door, &[own]);
        for (operation, right) in OPERATIONS {
            let headers = signed(operation, b"", &key.id, &key.secret, DATE);
            let response = send(&door, operation, &headers, b"");
            let code = Got::of(&response.body).text(1).unwrap_or_default();
            let denied = response.status == 403 && code == "OTSNoPermissionAccess";
            assert_eq!(denied, own != right, "{operation} with {own:?}: {}", refusal(&response));
        }
    }
}

/// I6: whatever is wrong with a request, it gets 403 or 400, changes nothing, and no table is named.
#[test]
fn i6_a_request_that_is_not_signed_changes_nothing() {
    let door = Door::new();
    let key = made(&door, &[Right::Read, Right::Write, Right::Admin]);
    let body = create("t", &[("id", 1)]).0;
    let refused = |change: &dyn Fn(&mut Headers)| {
        let mut headers = signed("CreateTable", &body, &key.id, &key.secret, DATE);
        change(&mut headers);
        let response = send(&door, "CreateTable", &headers, &body);
        assert_eq!(header(&response, "Authorization"), None, "nobody is known");
        refusal(&response)
    };
    let auth = |text: &str| format!("403 OTSAuthFailed: {text}");
    assert_eq!(refused(&|headers| headers.truncate(5)), auth("Signature mismatch."));
    assert_eq!(refused(&|headers| headers[5].1.insert(0, 'x')), auth("Signature mismatch."));
    assert_eq!(refused(&|headers| headers[4].1.push('x')), auth("Signature mismatch."));
    assert_eq!(refused(&|headers| headers[0].1.push('x')), auth("The AccessKeyID does not exist."));
    let other = "2016-07-20T16:15:01.000Z";
    assert_eq!(
        refused(&|headers| *headers = signed("CreateTable", &body, &key.id, &key.secret, other)),
        auth(&format!("Mismatch between system time and x-ots-date: {other}."))
    );
    assert_eq!(refused(&|headers| headers[3].1 = "soon".into()), "400 OTSParameterInvalid: Invalid date format: soon.");
    for at in 0..5 {
        let text = refused(&|headers| drop(headers.remove(at)));
        assert!(text.starts_with("400 OTSParameterInvalid: Missing header: x-ots-"), "{text}");
    }
    let md5 = "Mismatch between MD5 value of request body and x-ots-contentmd5 in header.";
    assert_eq!(refused(&|headers| *headers = signed("CreateTable", b"x", &key.id, &key.secret, DATE)), auth(md5));
    let missing = signed("GetRow", b"", "nobody", "x", DATE);
    assert_eq!(refusal(&send(&door, "GetRow", &missing, b"")), auth("The AccessKeyID does not exist."));
    assert!(door.store.instance.list_table().is_empty());
    assert_eq!(
        send(&door, "CreateTable", &signed("CreateTable", &body, &key.id, &key.secret, DATE), &body).status,
        200
    );
    let keys = door.store.instance.access_keys();
    door.store.env.run(keys.update(&key.id, Some(false), None)).expect("turned off");
    let off = send(&door, "ListTable", &signed("ListTable", b"", &key.id, &key.secret, DATE), b"");
    assert_eq!(refusal(&off), auth("The AccessKeyID is disabled."));
    door.store.env.run(keys.delete(&key.id)).expect("deleted");
    let gone = send(&door, "ListTable", &signed("ListTable", b"", &key.id, &key.secret, DATE), b"");
    assert_eq!(refusal(&gone), auth("The AccessKeyID does not exist."));
}

/// I6: clients know the service by its signature, also behind a refusal.
#[test]
fn i6_responses_are_signed_with_the_key_of_the_client() {
    let door = Door::with_table();
    let key = made(&door, &[Right::Read]);
    for (operation, status) in [("ListTable", 200), ("GetRow", 400), ("PutRow", 403)] {
        let response = send(&door, operation, &signed(operation, b"", &key.id, &key.secret, DATE), b"");
        assert_eq!(response.status, status);
        let own = response.headers.iter().filter(|(name, _)| name.starts_with("x-ots-"));
        let mut lines: Vec<_> = own.map(|(name, value)| format!("{name}:{value}\n")).collect();
        lines.sort();
        let expected = hmac_sha1(&key.secret, &format!("{}/{operation}", lines.concat()));
        assert_eq!(header(&response, "Authorization"), Some(&*format!("OTS {}:{expected}", key.id)));
        assert_eq!(header(&response, "x-ots-contentmd5"), Some(&*base64(&Md5::digest(&response.body))));
        assert_eq!(header(&response, "x-ots-date"), Some(DATE));
    }
}

/// I6: a secret opens the door for its key alone, and an open door signs with the id of whoever is unknown.
#[test]
fn i6_a_secret_or_nobody_may_open_the_door() {
    let door = Door::with_table();
    let key = made(&door, &[Right::Read]);
    let pass = |operation: &str, headers: &[(&str, &str)], access| {
        let url = format!("/{operation}");
        door.pass(&Request { method: "POST", url: &url, headers: headers.to_vec(), body: b"" }, access)
    };
    assert_eq!(pass("ListTable", &[], Access::Secret(&key.secret)).status, 200);
    assert!(refusal(&pass("CreateTable", &[], Access::Secret(&key.secret))).contains("OTSNoPermissionAccess"));
    for secret in ["", "x"] {
        let refused = refusal(&pass("ListTable", &[], Access::Secret(secret)));
        assert_eq!(refused, "403 OTSAuthFailed: The AccessKeyID does not exist.");
    }
    let date = "2030-01-01T00:00:00.000Z";
    for (id, secret) in [(&*key.id, &*key.secret), ("anybody", "anybody")] {
        let response = pass("ListTable", &[("X-Ots-AccessKeyId", id), ("x-ots-date", date)], Access::Off);
        assert_eq!(header(&response, "x-ots-date"), Some(date), "its own clock is told");
        let own = response.headers.iter().filter(|(name, _)| name.starts_with("x-ots-"));
        let mut lines: Vec<_> = own.map(|(name, value)| format!("{name}:{value}\n")).collect();
        lines.sort();
        let expected = hmac_sha1(secret, &format!("{}/ListTable", lines.concat()));
        assert_eq!(header(&response, "Authorization"), Some(&*format!("OTS {id}:{expected}")));
    }
    let damaged = refusal(&pass("ListTable", &[("x-ots-contentmd5", "x")], Access::Off));
    assert!(damaged.contains("Mismatch between MD5 value"), "also at an open door: {damaged}");
}
