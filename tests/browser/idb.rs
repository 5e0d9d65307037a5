//! IndexedDB when things go wrong: lost connections, deleted databases, foreign hands.

use js_sys::{Array, Function, Promise, Uint8Array};
use std::cell::RefCell;
use std::rc::Rc;
use tabstore::Code;
use tabstore::storage::{BlockId, Commit, Durability, LogNumber, ManifestId, SegmentId, Storage};
use tabstore::wasm::idb::IdbStorage;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

fn append(number: u64) -> Commit {
    Commit { log: vec![(LogNumber(number), vec![7; 10].into())], ..Commit::default() }
}

/// Runs JavaScript that returns a promise, with IndexedDB as a stranger sees it: `body` has `open(name)`.
async fn script(body: &str, arguments: &[JsValue]) -> JsValue {
    let prelude = "const open = name => new Promise((done, fail) => { const request = indexedDB.open(name);
        request.onsuccess = () => done(request.result); request.onerror = () => fail(request.error) });
        const done = request => new Promise((done, fail) => {
            request.onsuccess = () => done(request.result); request.onerror = () => fail(request.error) });
        return (async () => {";
    let function = Function::new_with_args("a, b", &format!("{prelude} {body} }})()"));
    let arguments: Array = arguments.iter().collect();
    let promise = function.apply(&JsValue::NULL, &arguments).expect("the script runs");
    JsFuture::from(Promise::from(promise)).await.expect("the script succeeds")
}

/// FORMAT: the database as a stranger (or our own later version) finds it. Database, version, stores, keys and values
/// are fixed for ever.
#[wasm_bindgen_test]
async fn the_database_is_as_the_format_says() {
    let storage = IdbStorage::open("Layout").await.unwrap();
    storage.stage(SegmentId(4), vec![(2, vec![1, 2, 3].into())], Durability::Relaxed).await.unwrap();
    storage.commit(Commit { manifest: Some((ManifestId(7), vec![9].into())), ..append(3) }).await.unwrap();
    storage.close().await;
    let body = "const db = await open('tabstore/layout');
        const all = async name => { const store = db.transaction(name).objectStore(name);
            const keys = await done(store.getAllKeys()), values = await done(store.getAll());
            return `${name} ${JSON.stringify(keys)} ${values.map(v => `${v.constructor.name} ${v}`)}`; };
        const text = [db.version, [...db.objectStoreNames], await all('log'), await all('blocks'), await all('manifest')];
        db.close(); return text.join('; ');";
    let found = script(body, &[]).await.as_string().unwrap();
    let expected = "1; blocks,log,manifest; log [3] Uint8Array 7,7,7,7,7,7,7,7,7,7; blocks [[4,2]] Uint8Array 1,2,3; \
                    manifest [7] Uint8Array 9";
    assert_eq!(found, expected);
}

/// `deleteInstance` from another tab, or a stranger: the storage says so instead of going on with an empty database.
#[wasm_bindgen_test]
async fn a_database_deleted_under_us_is_told_and_not_made_again() {
    let storage = IdbStorage::open("deleted").await.unwrap();
    storage.commit(append(1)).await.unwrap();
    // Succeeds only because the storage closes its connection when it hears of it.
    IdbStorage::delete("deleted").await.unwrap();
    for _ in 0..2 {
        let error = storage.commit(append(2)).await.unwrap_err();
        assert_eq!(error.code(), Code::Closed, "{error}");
        let error = storage.read_log(LogNumber(1)).await.unwrap_err();
        assert_eq!(error.code(), Code::Closed, "{error}");
    }
    let names =
        script("return (await indexedDB.databases()).map(db => db.name).join()", &[]).await.as_string().unwrap();
    assert!(!names.split(',').any(|name| name == "tabstore/deleted"), "{names}");
}

/// A foreign record is never returned as data. It has no bytes, so it is damaged alone, and its reader names it.
#[wasm_bindgen_test]
async fn a_foreign_record_has_no_bytes() {
    let storage = IdbStorage::open("foreign").await.unwrap();
    storage.commit(append(1)).await.unwrap();
    let body = "const db = await open('tabstore/foreign');
        const tx = db.transaction(['log', 'blocks', 'manifest'], 'readwrite');
        tx.objectStore('log').put('text', 2); tx.objectStore('blocks').put({}, [1, 0]);
        await new Promise(done => tx.oncomplete = done); db.close();";
    script(body, &[]).await;
    let log = storage.read_log(LogNumber(1)).await.unwrap();
    assert_eq!(
        log.iter().map(|(number, bytes)| (number.0, bytes.is_empty())).collect::<Vec<_>>(),
        [(1, false), (2, true)]
    );
    let block = BlockId { segment: SegmentId(1), block: 0 };
    assert_eq!(storage.get_blocks(&[block]).await.unwrap(), [Some(bytes::Bytes::new())]);
    let place = tabstore::format::record::Place::Log(LogNumber(2));
    assert!(tabstore::format::record::open(place, &log[1].1).is_err());
}

/// The fact that architecture FIXED 2 rests on, as this browser has it: with `commit()` called while requests are
/// pending, a failed request may leave the others stored (Firefox). Whatever it answers, our way has to be safe; the
/// contract's trap shows that. This shows that the answer is still the known one.
#[wasm_bindgen_test]
async fn commit_with_requests_pending_is_never_relied_on() {
    let storage = IdbStorage::open("trap").await.unwrap();
    storage.commit(append(2)).await.unwrap();
    let body = "const db = await open('tabstore/trap');
        const end = (tx) => new Promise(done => { tx.oncomplete = () => done('complete'); tx.onabort = () => done('abort') });
        const run = async early => {
            const tx = db.transaction(['log'], 'readwrite'), log = tx.objectStore('log');
            for (const number of [1, 2, 3]) log.add(a, number);
            if (early) tx.commit();
            const how = await end(tx);
            const kept = await done(db.transaction('log').objectStore('log').getAllKeys());
            await end(db.transaction('log', 'readwrite').objectStore('log').delete(IDBKeyRange.bound(1, 3)).transaction);
            await end(db.transaction('log', 'readwrite').objectStore('log').put(a, 2).transaction);
            return `${how} ${kept}`;
        };
        const both = [await run(false), await run(true)]; db.close(); return both.join('; ');";
    let found = script(body, &[Uint8Array::new_with_length(10).into()]).await.as_string().unwrap();
    let known = ["abort 2; abort 2", "abort 2; complete 1,2,3", "abort 2; complete 1,2", "abort 2; complete 2,3"];
    assert!(known.contains(&found.as_str()), "{found}");
}

/// A client hears without a call that the data is lost for good, and why. Every call says the same then.
#[wasm_bindgen_test]
async fn the_end_of_the_data_is_told_once() {
    let hands = [
        ("ended", "await done(indexedDB.deleteDatabase('tabstore/ended'));", "was deleted"),
        ("raised", "(await done(indexedDB.open('tabstore/raised', 2))).close();", "a version of its own"),
    ];
    for (name, hand, words) in hands {
        let storage = IdbStorage::open(name).await.unwrap();
        let told = Rc::<RefCell<Vec<String>>>::default();
        let listener = Rc::clone(&told);
        storage.on_end(move |error| listener.borrow_mut().push(error.message().to_owned()));
        script(&format!("{hand} await new Promise(done => setTimeout(done, 20));"), &[]).await;
        let error = storage.commit(append(1)).await.unwrap_err();
        assert_eq!(error.code(), Code::Closed, "{error}");
        assert!(error.message().contains(words), "{error}");
        assert_eq!(*told.borrow(), [error.message()]);
    }
}

/// A writer that was fenced off hears it from the first record that it writes, also when the other one wrote its record
/// between the two requests of a commit.
#[wasm_bindgen_test]
async fn a_taken_number_is_fenced_whoever_took_it() {
    let storage = IdbStorage::open("taken").await.unwrap();
    storage.commit(append(1)).await.unwrap();
    let body = "const db = await open('tabstore/taken');
        const tx = db.transaction(['log'], 'readwrite'); tx.objectStore('log').add(a, 2);
        await new Promise(done => tx.oncomplete = done); db.close();";
    script(body, &[Uint8Array::new_with_length(1).into()]).await;
    assert_eq!(storage.commit(append(2)).await.unwrap_err().code(), Code::Fenced);
    assert_eq!(storage.read_log(LogNumber(1)).await.unwrap().len(), 2);
}

/// Until dropped, IndexedDB's `transaction` is what `patch` makes of the real one: a function of `(real, db, args)`.
struct Patched;

impl Patched {
    async fn transactions(patch: &str) -> Self {
        let body = "globalThis.realTransaction ??= IDBDatabase.prototype.transaction;
            const real = globalThis.realTransaction, patch = eval(a);
            IDBDatabase.prototype.transaction = function (...args) { return patch(real, this, args); };";
        script(body, &[patch.into()]).await;
        Self
    }
}

impl Drop for Patched {
    fn drop(&mut self) {
        let restore = "IDBDatabase.prototype.transaction = globalThis.realTransaction";
        Function::new_no_args(restore).call0(&JsValue::NULL).unwrap();
    }
}

/// Safari loses its server, site data are cleared, a page was frozen. The connection is opened again, once,
/// and the caller hears nothing of it.
#[wasm_bindgen_test]
async fn a_lost_connection_is_opened_again() {
    let storage = IdbStorage::open("lost").await.unwrap();
    storage.commit(append(1)).await.unwrap();
    for (number, name) in [(2, "InvalidStateError"), (3, "UnknownError")] {
        let patch = format!(
            "let left = 1; (real, db, args) => {{ if (left-- > 0) throw new DOMException('closing', '{name}');
             return real.apply(db, args); }}"
        );
        let patched = Patched::transactions(&patch).await;
        storage.commit(append(number)).await.unwrap();
        drop(patched);
    }
    assert_eq!(storage.read_log(LogNumber(1)).await.unwrap().len(), 3);
}

/// One retry, not five: a connection that stays lost is told, and the storage works again when IndexedDB does.
#[wasm_bindgen_test]
async fn a_connection_that_stays_lost_is_told() {
    let storage = IdbStorage::open("gone").await.unwrap();
    let patch = "globalThis.calls = 0; () => { calls++; throw new DOMException('server lost', 'UnknownError'); }";
    let patched = Patched::transactions(patch).await;
    let error = storage.commit(append(1)).await.unwrap_err();
    assert_eq!((error.code(), error.retryable()), (Code::Unavailable, true), "{error}");
    assert!(error.message().contains("server lost"), "{error}");
    assert_eq!(script("return globalThis.calls", &[]).await, 2.0);
    drop(patched);
    storage.commit(append(1)).await.unwrap();
}

/// The transaction completed, but its `complete` was never heard. Made again without a look, it would fail as fenced,
/// although it is our own record that is in the way.
#[wasm_bindgen_test]
async fn a_commit_whose_end_was_not_heard_is_not_made_twice() {
    let storage = IdbStorage::open("unheard").await.unwrap();
    storage.stage(SegmentId(1), vec![(0, vec![1].into())], Durability::Relaxed).await.unwrap();
    for commit in [append(1), Commit { manifest: Some((ManifestId(1), vec![1].into())), ..Commit::default() }] {
        let patch = "let left = 1; (real, db, args) => {
            const tx = real.apply(db, args);
            if (left-- > 0) Object.defineProperty(tx, 'oncomplete', { set(listener) {
                if (listener) tx.addEventListener('complete', () => tx.onabort(new Event('abort'))); } });
            return tx; }";
        let patched = Patched::transactions(patch).await;
        storage.commit(commit).await.unwrap();
        drop(patched);
    }
    assert_eq!(storage.read_log(LogNumber(1)).await.unwrap().len(), 1);
    assert_eq!(storage.load(&|_| Ok(LogNumber(1))).await.unwrap().manifests.len(), 1);
}

/// Chromium tells a full origin by the transaction's error, Firefox by the request's, the transaction
/// saying no more than `AbortError`. Either way the caller reads `QuotaExceeded`, and nothing was stored.
#[wasm_bindgen_test]
async fn a_full_origin_keeps_its_name() {
    let storage = IdbStorage::open("full").await.unwrap();
    storage.commit(append(1)).await.unwrap();
    let chromium = "queueMicrotask(() => { error = full; tx.abort(); });";
    let firefox = "queueMicrotask(() => { const request = store.put(new Uint8Array(1), 99);
            Object.defineProperty(request, 'error', { value: full }); request.dispatchEvent(new Event('error', { bubbles: true }));
            error = new DOMException('aborted', 'AbortError'); tx.abort(); });";
    for way in [chromium, firefox] {
        let patch = format!(
            "(real, db, args) => {{
                const tx = real.apply(db, args), store = tx.objectStore('log');
                // What has been committed cannot be aborted here.
                tx.commit = () => {{}};
                const full = new DOMException('exceeded its quota', 'QuotaExceededError');
                let error = null; Object.defineProperty(tx, 'error', {{ get: () => error }});
                {way} return tx; }}"
        );
        let patched = Patched::transactions(&patch).await;
        let error = storage.commit(append(2)).await.unwrap_err();
        assert_eq!(error.code(), Code::QuotaExceeded, "{way}: {error}");
        drop(patched);
        assert_eq!(storage.read_log(LogNumber(1)).await.unwrap().len(), 1, "{way}");
    }
    storage.commit(append(2)).await.unwrap();
}

/// A page that may not use IndexedDB, or a browser that has none: told by its own code, never replaced by memory.
#[wasm_bindgen_test]
async fn a_forbidden_indexeddb_is_told() {
    let patch = "globalThis.realOpen = IDBFactory.prototype.open;
        IDBFactory.prototype.open = () => { throw new DOMException('denied', 'SecurityError'); };";
    script(patch, &[]).await;
    let error = IdbStorage::open("denied").await.map(drop).unwrap_err();
    script("IDBFactory.prototype.open = globalThis.realOpen;", &[]).await;
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    IdbStorage::open("denied").await.unwrap();
}

/// Were two writing transactions open at once and the browser killed, Chromium would take the data of the whole origin
/// for corrupt and delete it. A store that all of them name keeps them one after another.
#[wasm_bindgen_test]
async fn no_two_writing_transactions_are_open_at_once() {
    let storage = IdbStorage::open("one by one").await.unwrap();
    let patch = "globalThis.names = []; (real, db, args) => {
        if (args[1] === 'readwrite') names.push([].concat(args[0]));
        return real.apply(db, args); }";
    let patched = Patched::transactions(patch).await;
    storage.stage(SegmentId(1), vec![(0, vec![1].into())], Durability::Relaxed).await.unwrap();
    storage.commit(append(1)).await.unwrap();
    storage.commit(Commit { manifest: Some((ManifestId(1), vec![1].into())), ..Commit::default() }).await.unwrap();
    storage.commit(Commit { trim_log: vec![LogNumber(1)], ..Commit::default() }).await.unwrap();
    storage.delete_segments(&[SegmentId(1)]).await.unwrap();
    drop(patched);
    let apart =
        script("return [names.length, names.filter(stores => !stores.includes('log')).length].join()", &[]).await;
    assert_eq!(apart, "5,0", "writing transactions, and those of them that can overlap others");
}
