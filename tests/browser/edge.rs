//! The edge to JavaScript: the exports that the package uses, called as JavaScript calls them.

use js_sys::{Array, BigInt, Function, Object, Promise, Reflect, Uint8Array};
use std::cell::RefCell;
use std::rc::Rc;
use tabstore::model::{KeyInput, KeyPart, TableName, ValueRef};
use tabstore::session::codec::contract::admin::Administration;
use tabstore::session::codec::{FrameWriter, responses};
use tabstore::tablestore::{Existence, Mutation, ReturnContent, RowWrite};
use tabstore::wasm::{Engine, Session, create_instance, delete_instance, describe_instance, list_instances};
use wasm_bindgen::JsCast as _;
use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::convert::TryFromJsValue as _;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

/// The arrival of a frame (ms). Only latencies depend on it.
const ARRIVAL: f64 = 1.0;

/// An object from its JSON text.
fn json(text: &str) -> JsValue {
    js_sys::JSON::parse(text).unwrap()
}

fn text(value: &JsValue) -> String {
    js_sys::JSON::stringify(value).unwrap().into()
}

fn field(value: &JsValue, name: &str) -> JsValue {
    Reflect::get(value, &name.into()).unwrap()
}

async fn answer(promise: Promise) -> Result<JsValue, JsValue> {
    JsFuture::from(promise).await
}

/// The result of an opening. `granted` tells whether it got the lock.
async fn open_with(options: &str, granted: &JsValue) -> Result<JsValue, JsValue> {
    let nothing = || Function::new_no_args("");
    let granted = Promise::resolve(granted);
    answer(Engine::open(json(options), granted, nothing(), nothing(), nothing(), nothing())).await
}

/// Asks for an operation by its name, as the package does. One that is not declared has no number.
fn ask(session: &Session, op: &str, arguments: JsValue, request: Option<f64>) -> Promise {
    let number = Administration::DECLARED.iter().position(|(name, _)| name.eq_ignore_ascii_case(op));
    session.call(number.map_or(u8::MAX, |number| u8::try_from(number).unwrap()), arguments, request)
}

/// An engine and a session of it.
struct Opened {
    engine: Engine,
    session: Session,
}

async fn open(options: &str) -> Result<Opened, JsValue> {
    let engine = Engine::try_from_js_value(open_with(options, &json(r#"{"held":true}"#)).await?).unwrap();
    let session = engine.session(1.0, Function::new_no_args(""))?;
    Ok(Opened { engine, session })
}

impl Opened {
    fn call(&self, op: &str, arguments: JsValue) -> Promise {
        ask(&self.session, op, arguments, None)
    }

    fn close(&self) -> Promise {
        self.engine.close()
    }

    /// Bytes of the engine's memory.
    fn bytes(&self, at: *const u8, length: usize) -> Uint8Array {
        let buffer = field(&self.engine.memory(), "buffer");
        Uint8Array::new_with_byte_offset_and_length(&buffer, at as u32, length as u32)
    }

    /// Hands a frame to a session; gives the frame of those responses that are ready at once.
    fn submit(&self, session: &Session, frame: &[u8]) -> Vec<u8> {
        let room = session.room(frame.len());
        self.bytes(room, frame.len()).copy_from(frame);
        let length = session.run(ARRIVAL);
        self.bytes(session.answer(), usize::try_from(length).unwrap()).to_vec()
    }
}

/// The error of a refused call.
fn refusal<T>(result: Result<T, JsValue>) -> JsValue {
    result.map(drop).unwrap_err()
}

fn code<T>(result: Result<T, JsValue>) -> String {
    field(&refusal(result), "code").as_string().unwrap()
}

const TABLE: &str = r#"{"tableName":"reading","primaryKey":[{"name":"station","type":"STRING"},{"name":"at","type":"INTEGER"}],"maxVersions":3}"#;

/// I2: without its lock, or with one that was given back meanwhile, an instance is neither made nor led.
#[wasm_bindgen_test]
async fn i2_nothing_changes_without_the_lock() {
    let attempt = async |options: &str| {
        let never = code(open_with(options, &JsValue::FALSE).await);
        assert_eq!(never, code(open_with(options, &json(r#"{"held":false}"#)).await));
        never
    };
    assert_eq!(attempt(r#"{"name":"edge-new","storage":"indexeddb"}"#).await, "Busy");
    assert!(!text(&answer(list_instances()).await.unwrap()).contains("edge-new"));
    let options = r#"{"name":"edge-led","storage":"indexeddb"}"#;
    let leader = open(options).await.unwrap();
    assert_eq!(attempt(options).await, "Busy");
    answer(leader.call("createTable", json(TABLE))).await.unwrap();
    answer(leader.close()).await.unwrap();
    answer(delete_instance("edge-led".into())).await.unwrap();
}

/// T1, T4, T5: a created table is there after reopening.
#[wasm_bindgen_test]
async fn t1_tables_survive_a_reopen() {
    let options = r#"{"name":"edge-1","storage":"indexeddb"}"#;
    let engine = open(options).await.unwrap();
    answer(engine.call("createTable", json(TABLE))).await.unwrap();
    let change = r#"{"tableName":"reading","timeToLive":86400,"reservedThroughput":{"read":5}}"#;
    answer(engine.call("updateTable", json(change))).await.unwrap();
    answer(engine.close()).await.unwrap();
    assert_eq!(code(answer(engine.call("flush", JsValue::UNDEFINED)).await), "Closed");

    let engine = open(options).await.unwrap();
    assert_eq!(text(&answer(engine.call("listTable", JsValue::UNDEFINED)).await.unwrap()), r#"["reading"]"#);
    let table = answer(engine.call("describeTable", json(r#"{"tableName":"reading"}"#))).await.unwrap();
    let key = r#"[{"name":"station","type":"STRING"},{"name":"at","type":"INTEGER"}]"#;
    assert_eq!(text(&field(&table, "primaryKey")), key);
    assert_eq!(field(&table, "maxVersions"), 3.0);
    assert_eq!(field(&table, "timeToLive"), 86400.0);
    assert_eq!(field(&field(&table, "reservedThroughput"), "read"), 5.0);
    answer(engine.call("flush", JsValue::UNDEFINED)).await.unwrap();
    let metrics = answer(engine.call("metrics", JsValue::UNDEFINED)).await.unwrap();
    assert_eq!(field(&field(&metrics, "segments"), "count"), 1.0, "{}", text(&metrics));
    let memory = field(&engine.engine.memory(), "buffer");
    assert!(field(&memory, "byteLength").as_f64().unwrap() >= 65536.0);
    answer(engine.close()).await.unwrap();
    answer(delete_instance("edge-1".into())).await.unwrap();
}

/// R5: changes that a client asks again, of the next engine, are done once, and each has the answer that it had.
#[wasm_bindgen_test]
async fn r5_changes_that_are_asked_again_have_their_answers() {
    let options = r#"{"name":"edge-again","storage":"indexeddb"}"#;
    let begin = async || {
        let engine = open(options).await.unwrap();
        answer(engine.call("keepAnswers", json(r#"{"client":1,"life":1,"stores":true}"#))).await.unwrap();
        engine
    };
    let mut engine = begin().await;
    let (mut key, mut request) = (JsValue::UNDEFINED, 0.0);
    let changes = [
        ("createTable", TABLE),
        ("updateTable", r#"{"tableName":"reading","maxVersions":1,"timeToLive":-1,"reservedThroughput":{"read":5}}"#),
        ("addDefinedColumn", r#"{"tableName":"reading","columns":[{"name":"v","type":"INTEGER"}]}"#),
        ("createIndex", r#"{"tableName":"reading","index":{"indexName":"i","primaryKey":["v"]}}"#),
        ("dropIndex", r#"{"tableName":"reading","indexName":"i"}"#),
        ("deleteDefinedColumn", r#"{"tableName":"reading","columns":["v"]}"#),
        ("createAccessKey", r#"{"rights":["read"]}"#),
        ("updateAccessKey", r#"{"enabled":false}"#),
        ("deleteAccessKey", "{}"),
        ("deleteTable", r#"{"tableName":"reading"}"#),
    ];
    let once = Administration::DECLARED.iter().filter(|(_, again)| *again == "once");
    for (name, _) in once.clone() {
        assert!(changes.iter().any(|(op, _)| op.eq_ignore_ascii_case(name)), "{name} is declared to be done once");
    }
    assert_eq!(once.count(), changes.len());
    for (op, arguments) in changes {
        request += 1.0;
        let arguments = json(arguments);
        Reflect::set(&arguments, &"accessKeyId".into(), &key).unwrap();
        let ask = async |engine: &Opened| {
            let call = ask(&engine.session, op, arguments.clone(), Some(request));
            answer(call).await.unwrap_or_else(|error| panic!("{op}: {}", text(&error)))
        };
        let first = ask(&engine).await;
        answer(engine.close()).await.unwrap();
        engine = begin().await;
        let again = ask(&engine).await;
        assert!(first.is_undefined() == again.is_undefined(), "{op}");
        if !first.is_undefined() {
            assert_eq!(text(&first), text(&again), "{op}");
        }
        if op == "createAccessKey" {
            key = field(&again, "accessKeyId");
            assert_eq!(field(&again, "accessKeySecret").as_string().unwrap().len(), 40);
        }
    }
    answer(engine.close()).await.unwrap();
    answer(delete_instance("edge-again".into())).await.unwrap();
}

/// T1, T8: the package's arguments for indexes and defined columns, and the answers.
#[wasm_bindgen_test]
async fn t1_t8_indexes_and_defined_columns_cross_the_edge() {
    let engine = open(r#"{"name":"edge","storage":"memory"}"#).await.unwrap();
    let call = async |op: &str, arguments: &str| answer(engine.call(op, json(arguments))).await;
    let table = r#"{"tableName":"t","primaryKey":[{"name":"p","type":"STRING"},{"name":"n","type":"INTEGER","autoIncrement":true}],
        "definedColumns":[{"name":"a","type":"INTEGER"},{"name":"b","type":"BOOLEAN"}],"enableLocalTransaction":false,
        "indexes":[{"indexName":"x","type":"LOCAL","primaryKey":["p","a"],"columns":["b"],"timeToLive":86400}]}"#;
    call("createTable", table).await.unwrap();
    call("addDefinedColumn", r#"{"tableName":"t","columns":[{"name":"c","type":"BINARY"}]}"#).await.unwrap();
    let index = r#"{"tableName":"t","index":{"indexName":"y","primaryKey":["c"]},"includeBaseData":false}"#;
    call("createIndex", index).await.unwrap();
    let described = call("describeTable", r#"{"tableName":"t"}"#).await.unwrap();
    let key = r#"[{"name":"p","type":"STRING"},{"name":"n","type":"INTEGER","autoIncrement":true}]"#;
    assert_eq!(text(&field(&described, "primaryKey")), key);
    let defined = r#"[{"name":"a","type":"INTEGER"},{"name":"b","type":"BOOLEAN"},{"name":"c","type":"BINARY"}]"#;
    assert_eq!(text(&field(&described, "definedColumns")), defined);
    let local = r#"{"indexName":"x","type":"LOCAL","primaryKey":["p","a"],"columns":["b"],"timeToLive":86400,"phase":"INCR","builtRows":0,"lagMs":0,"failure":null}"#;
    let global = r#"{"indexName":"y","type":"GLOBAL","primaryKey":["c"],"columns":[],"timeToLive":-1,"phase":"INCR","builtRows":0,"lagMs":0,"failure":null}"#;
    assert_eq!(text(&field(&described, "indexes")), format!("[{local},{global}]"));
    assert_eq!(field(&described, "indexOf"), JsValue::NULL);
    assert_eq!(field(&described, "enableLocalTransaction"), false);
    let described = call("describeTable", r#"{"tableName":"y"}"#).await.unwrap();
    assert_eq!(field(&described, "indexOf"), "t");
    call("dropIndex", r#"{"tableName":"t","indexName":"y"}"#).await.unwrap();
    call("deleteDefinedColumn", r#"{"tableName":"t","columns":["c"]}"#).await.unwrap();
    let wrong = [
        ("createIndex", r#"{"tableName":"t"}"#, "The argument 'index' is missing; it must be an object."),
        (
            "createIndex",
            r#"{"tableName":"t","index":{"indexName":"z","primaryKey":["a",5]}}"#,
            "The argument 'index.primaryKey[1]' is 5; it must be a string.",
        ),
        (
            "createIndex",
            r#"{"tableName":"t","index":{"indexName":"z","type":"global","primaryKey":["a"]}}"#,
            "The argument 'index.type' is 'global'; it must be GLOBAL or LOCAL.",
        ),
        (
            "addDefinedColumn",
            r#"{"tableName":"t","columns":[{"name":"z"}]}"#,
            "The argument 'columns[0].type' is missing; it must be a string.",
        ),
    ];
    for (op, arguments, message) in wrong {
        assert_eq!(field(&refusal(call(op, arguments).await), "message"), message);
    }
    answer(engine.close()).await.unwrap();
}

/// P4, I6: slices of a table and access keys.
#[wasm_bindgen_test]
async fn p4_i6_slices_and_access_keys_cross_the_edge() {
    let engine = open(r#"{"name":"edge","storage":"memory"}"#).await.unwrap();
    let call = async |op: &str, arguments: &str| answer(engine.call(op, json(arguments))).await;
    call("createTable", TABLE).await.unwrap();
    let splits = call("computeSplitPointsBySize", r#"{"tableName":"reading","splitSize":1}"#).await.unwrap();
    let first = field(&field(&splits, "splits"), "0");
    assert_eq!(text(&field(&first, "lower")), r#"[{"infinity":"min"},{"infinity":"min"}]"#);
    assert_eq!(text(&field(&first, "upper")), r#"[{"infinity":"max"},{"infinity":"max"}]"#);
    assert_eq!(field(&first, "location").as_string().unwrap().len(), 32);
    assert_eq!(text(&field(&splits, "consumed")), r#"{"read":1,"write":0}"#);
    let key = r#"[{"name":"station","type":"STRING"},{"name":"at","type":"INTEGER"}]"#;
    assert_eq!(text(&field(&splits, "primaryKey")), key);

    let made = call("createAccessKey", r#"{"rights":["write","read"]}"#).await.unwrap();
    let id = field(&made, "accessKeyId").as_string().unwrap();
    assert_eq!(field(&made, "accessKeySecret").as_string().unwrap().len(), 40);
    let change = format!(r#"{{"accessKeyId":"{id}","enabled":false,"rights":["admin"]}}"#);
    let changed = call("updateAccessKey", &change).await.unwrap();
    let listed = call("listAccessKeys", "{}").await.unwrap();
    assert_eq!(text(&listed), format!("[{}]", text(&changed)), "without the secret");
    assert_eq!(text(&field(&changed, "rights")), r#"["admin"]"#);
    assert_eq!(field(&changed, "enabled"), false);
    call("deleteAccessKey", &format!(r#"{{"accessKeyId":"{id}"}}"#)).await.unwrap();
    assert_eq!(text(&call("listAccessKeys", "{}").await.unwrap()), "[]");
    let wrong = [
        (
            "createAccessKey",
            r#"{"rights":["all"]}"#,
            "The argument 'rights' is 'all'; it must be read, write or admin.",
        ),
        ("deleteAccessKey", "{}", "The argument 'accessKeyId' is missing; it must be a string."),
        (
            "computeSplitPointsBySize",
            r#"{"tableName":"reading"}"#,
            "The argument 'splitSize' is missing; it must be an integer.",
        ),
    ];
    for (op, arguments, message) in wrong {
        assert_eq!(field(&refusal(call(op, arguments).await), "message"), message);
    }
    answer(engine.close()).await.unwrap();
}

/// Errors cross the edge as `{ code, status, retryable, message }`, and name the culprit.
#[wasm_bindgen_test]
async fn errors_are_plain_objects_that_name_the_culprit() {
    let engine = open(r#"{"name":"edge","storage":"memory"}"#).await.unwrap();
    let wrong = [
        ("createTable", r#"{"tableName":"1x","primaryKey":[]}"#, "Invalid table name: '1x'."),
        (
            "createTable",
            r#"{"tableName":"x","primaryKey":{}}"#,
            "The argument 'primaryKey' is a object; it must be an array.",
        ),
        (
            "createTable",
            r#"{"tableName":"x","primaryKey":[{"name":"a","type":5}]}"#,
            "The argument 'primaryKey[0].type' is 5; it must be a string.",
        ),
        ("createTable", r#"{"primaryKey":[]}"#, "The argument 'tableName' is missing; it must be a string."),
        (
            "updateTable",
            r#"{"tableName":"x","reservedThroughput":{"write":"5"}}"#,
            "The argument 'reservedThroughput.write' is '5'; it must be an integer.",
        ),
        (
            "updateTable",
            r#"{"tableName":"x","maxVersions":1.5}"#,
            "The argument 'maxVersions' is 1.5; it must be an integer.",
        ),
        (
            "updateTable",
            r#"{"tableName":"x","allowUpdate":null}"#,
            "The argument 'allowUpdate' is null; it must be true or false.",
        ),
        ("dance", "{}", "There is no operation 255."),
        ("setClock", r#"{"now":5}"#, "The clock cannot be set: the instance was opened without the option 'clock'."),
    ];
    for (op, arguments, message) in wrong {
        let error = refusal(answer(engine.call(op, json(arguments))).await);
        let expected =
            format!(r#"{{"code":"OTSParameterInvalid","status":400,"retryable":false,"message":"{message}""#);
        let told = text(&error);
        let rest = told.strip_prefix(&expected).unwrap_or_else(|| panic!("{told} instead of {expected}"));
        // A hint may follow, and nothing else.
        assert!(rest == "}" || (rest.starts_with(r#","hint":""#) && rest.ends_with(r#""}"#)), "{told}");
    }
    let missing = answer(engine.call("describeTable", json(r#"{"tableName":"none"}"#))).await;
    assert_eq!(code(missing), "OTSObjectNotExist");
    engine.session.room(3);
    assert_eq!(engine.session.run(ARRIVAL), -1, "zeros are no frame");
    assert_eq!(code(Err::<(), _>(engine.session.failure())), "OTSParameterInvalid");
    for options in [r#"{"name":"x"}"#, r#"{"name":"edge","storage":"disk"}"#, r#"{"name":"edge","cacheBytes":-1}"#, "5"]
    {
        assert_eq!(code(open(options).await), "OTSParameterInvalid", "{options}");
    }
}

/// I4: the kind is chosen at creation and never changed.
#[wasm_bindgen_test]
async fn i1_i4_instances_are_made_and_keep_their_kind() {
    assert_eq!(code(open(r#"{"name":"edge-2","create":false}"#).await), "OTSObjectNotExist");
    answer(create_instance("Edge-2".into(), json(r#"{"kind":"capacity"}"#))).await.unwrap();
    assert_eq!(code(answer(create_instance("edge-2".into(), JsValue::UNDEFINED)).await), "OTSObjectAlreadyExist");
    assert_eq!(code(answer(create_instance("edge-3".into(), json(r#"{"kind":"fast"}"#))).await), "OTSParameterInvalid");

    let engine = open(r#"{"name":"edge-2","create":false,"kind":"high-performance"}"#).await.unwrap();
    let metrics = answer(engine.call("metrics", JsValue::UNDEFINED)).await.unwrap();
    assert_eq!(field(&metrics, "kind"), "capacity");
    let reserved =
        r#"{"tableName":"t","primaryKey":[{"name":"a","type":"INTEGER"}],"reservedThroughput":{"read":1,"write":0}}"#;
    assert_eq!(code(answer(engine.call("createTable", json(reserved))).await), "OTSParameterInvalid");
    answer(engine.close()).await.unwrap();

    let described = answer(describe_instance("EDGE-2".into())).await.unwrap();
    assert_eq!((field(&described, "name"), field(&described, "kind")), ("Edge-2".into(), "capacity".into()));
    assert!(field(&described, "creationTime").as_f64().unwrap() > 1.7e12);
    let names: Array =
        Array::from(&answer(list_instances()).await.unwrap()).iter().map(|instance| field(&instance, "name")).collect();
    assert!(names.includes(&"Edge-2".into(), 0));
    answer(delete_instance("edge-2".into())).await.unwrap();
    assert_eq!(code(answer(delete_instance("edge-2".into())).await), "OTSObjectNotExist");
    assert_eq!(code(answer(describe_instance("edge-2".into())).await), "OTSObjectNotExist");
}

/// Two writers of one instance can never both go on: the second fences the first (the Web Lock above keeps this from
/// happening; here it is missing).
#[wasm_bindgen_test]
async fn a_second_engine_fences_the_first() {
    let options = r#"{"name":"edge-4"}"#;
    let first = open(options).await.unwrap();
    answer(first.call("createTable", json(TABLE))).await.unwrap();
    let second = open(options).await.unwrap();
    let late = r#"{"tableName":"late","primaryKey":[{"name":"a","type":"INTEGER"}]}"#;
    assert_eq!(code(answer(first.call("createTable", json(late))).await), "LeaderChanged");
    assert_eq!(text(&answer(second.call("listTable", JsValue::UNDEFINED)).await.unwrap()), r#"["reading"]"#);
    answer(second.call("createTable", json(late))).await.unwrap();
    answer(first.close()).await.unwrap();
    answer(second.close()).await.unwrap();
    answer(delete_instance("edge-4".into())).await.unwrap();
}

/// D2: integers come as numbers or bigints, and are exact. Those of an answer are the nearest numbers.
#[wasm_bindgen_test]
async fn d2_integers_cross_the_edge_as_numbers_or_bigints() {
    let engine = open(r#"{"name":"edge","storage":"memory"}"#).await.unwrap();
    answer(engine.call("createTable", json(TABLE))).await.unwrap();
    let update = async |versions: JsValue| {
        let arguments = json(r#"{"tableName":"reading"}"#);
        Reflect::set(&arguments, &"maxVersions".into(), &versions).unwrap();
        answer(engine.call("updateTable", arguments)).await
    };
    assert_eq!(field(&update(BigInt::from(7).into()).await.unwrap(), "maxVersions"), 7.0);
    let most = update(BigInt::from(i64::MAX).into()).await.unwrap();
    assert_eq!(field(&most, "maxVersions"), 9_223_372_036_854_775_807.0);
    for (versions, given) in [
        (BigInt::from(u64::MAX).into(), "a bigint"),
        (9_007_199_254_740_992.0.into(), "9007199254740992"),
        (f64::NAN.into(), "NaN"),
        (f64::INFINITY.into(), "Infinity"),
        ("5".into(), "'5'"),
        (JsValue::TRUE, "a boolean"),
    ] {
        let message = format!("The argument 'maxVersions' is {given}; it must be an integer.");
        assert_eq!(field(&refusal(update(versions).await), "message"), message.as_str());
    }
    answer(engine.close()).await.unwrap();
}

/// W3: an option is named by its path, with what it is and must be.
#[wasm_bindgen_test]
async fn w3_a_wrong_option_is_named_by_its_path() {
    let wrong = [
        (r#""partitions":{"mergeBytes":-1}"#, "partitions.mergeBytes", "-1", "an integer of at least 0"),
        (r#""quotas":{"instances":4294967296}"#, "quotas.instances", "4294967296", "an integer from 0 to 4294967295"),
        (r#""quotas":5"#, "quotas", "5", "an object"),
        (r#""prices":{"onDemand":{"read":-0.5}}"#, "prices.onDemand.read", "-0.5", "a number of at least 0"),
        (r#""kind":"fast""#, "kind", "'fast'", "high-performance or capacity"),
        (r#""storage":"disk""#, "storage", "'disk'", "indexeddb or memory or files"),
        (r#""durability":"none""#, "durability", "'none'", "relaxed or strict"),
        (r#""limits":"none""#, "limits", "'none'", "document or sdk"),
    ];
    for (option, path, given, wanted) in wrong {
        let error = refusal(open(&format!(r#"{{"name":"edge",{option}}}"#)).await);
        let message = format!("The argument '{path}' is {given}; it must be {wanted}.");
        let hint = format!("Argument '{path}': expected {wanted}, given {given}.");
        assert_eq!(field(&error, "message"), message.as_str());
        assert_eq!(field(&error, "hint"), hint.as_str());
    }
    let engine = open(r#"{"name":"edge","storage":"memory"}"#).await.unwrap();
    let period = answer(engine.call("computeConsumed", json(r#"{"period":"day"}"#))).await;
    let message = "The argument 'period' is 'day'; it must be hour or second.";
    assert_eq!(field(&refusal(period), "message"), message);
    answer(engine.close()).await.unwrap();
}

/// V10: an injected clock stands still until it is set, at once or by an operation.
#[wasm_bindgen_test]
async fn v10_an_injected_clock_is_set() {
    let engine = open(r#"{"name":"edge","storage":"memory","clock":1000}"#).await.unwrap();
    let now = async || field(&answer(engine.call("metrics", Object::new().into())).await.unwrap(), "now");
    assert_eq!(now().await, 1000.0);
    engine.engine.set_clock(500.0).unwrap();
    assert_eq!(now().await, 500.0);
    answer(engine.call("setClock", json(r#"{"now":1469030400000}"#))).await.unwrap();
    assert_eq!(now().await, 1_469_030_400_000.0);
}

/// A frame of requests that put a row each.
fn puts(station: &str, requests: std::ops::Range<u64>) -> Vec<u8> {
    let mut frame = FrameWriter::default();
    for request in requests {
        let mut key = KeyInput::new();
        key.push("station", KeyPart::Value(ValueRef::String(station)));
        key.push("at", KeyPart::Value(ValueRef::Integer(request as i64)));
        let table = TableName::parse("reading").unwrap();
        let (condition, mutation) = (Existence::Ignore, Mutation::Put(Vec::new()));
        let returns = ReturnContent::None;
        frame.row_write(request, &RowWrite { table, key, condition, column_condition: None, returns, mutation });
    }
    frame.finish()
}

/// R5: an engine has many sessions. Each gets the answers to its own requests, whatever the code of another one throws, and
/// ends by itself.
#[wasm_bindgen_test]
async fn r5_an_engine_has_many_sessions() {
    let opened = open(r#"{"name":"edge","storage":"memory"}"#).await.unwrap();
    answer(opened.call("createTable", json(TABLE))).await.unwrap();
    let throws = opened.engine.session(2.0, Function::new_no_args("throw new Error('mine')")).unwrap();
    let open_session = |client: f64| {
        let answered = Rc::<RefCell<Vec<u64>>>::default();
        let out = Rc::clone(&answered);
        let deliver = Closure::<dyn FnMut(Uint8Array)>::new(move |frame: Uint8Array| {
            out.borrow_mut().extend(responses(&frame.to_vec()).unwrap().iter().map(|response| response.id));
        });
        let session = opened.engine.session(client, deliver.into_js_value().unchecked_into()).unwrap();
        (session, answered)
    };
    let sessions: Vec<_> = (0..20).map(|number| open_session(f64::from(number + 10))).collect();
    for round in 0..5 {
        opened.submit(&throws, &puts("throws", 100 * round..100 * round + 3));
        for (number, (session, answered)) in sessions.iter().enumerate() {
            let first = 100 * round;
            let at_once = opened.submit(session, &puts(&number.to_string(), first..first + 1 + number as u64));
            assert!(at_once.is_empty() && answered.borrow().len() as u64 == round * (1 + number as u64));
        }
        // Each session's own requests come before its administration.
        for (session, _) in &sessions {
            answer(ask(session, "flush", JsValue::UNDEFINED, None)).await.unwrap();
        }
    }
    for (number, (_, answered)) in sessions.iter().enumerate() {
        let expected = (0..5).flat_map(|round| 100 * round..100 * round + 1 + number as u64).collect::<Vec<_>>();
        assert_eq!(*answered.borrow(), expected);
    }
    assert_eq!(code(opened.engine.session(10.0, Function::new_no_args(""))), "OTSParameterInvalid");
    let (first, _) = &sessions[0];
    answer(first.close()).await.unwrap();
    assert_eq!(code(answer(ask(first, "listTable", JsValue::UNDEFINED, None)).await), "Closed");
    assert_eq!(responses(&opened.submit(first, &puts("late", 7..8))).unwrap()[0].id, 7, "it is refused at once");
    let metrics = answer(opened.call("metrics", JsValue::UNDEFINED)).await.unwrap();
    let put = field(&field(&metrics, "operations"), "PutRow");
    assert_eq!((field(&put, "requests"), field(&put, "errors")), (1066.0.into(), 1.0.into()));
    let (again, answered) = open_session(10.0);
    opened.submit(&again, &puts("again", 1..2));
    answer(opened.close()).await.unwrap();
    assert_eq!(*answered.borrow(), [1]);
    assert_eq!(code(answer(ask(&again, "listTable", JsValue::UNDEFINED, None)).await), "Closed");
}
