//! Access keys: made, listed, changed and deleted (I6; their rights: `tablestore/state/access.rs`).

use crate::store::*;
use tabstore::Result;
use tabstore::tablestore::{AccessKey, Right, Rights, authorize};

const READ: &[Right] = &[Right::Read];

fn create(store: &Store, rights: &[Right]) -> Result<AccessKey> {
    store.env.run(store.instance.access_keys().create(Rights::of(rights)))
}

fn update(store: &Store, id: &str, enabled: Option<bool>, rights: Option<&[Right]>) -> Result<AccessKey> {
    store.env.run(store.instance.access_keys().update(id, enabled, rights.map(Rights::of)))
}

#[test]
fn i6_access_keys_are_made_listed_changed_and_deleted_and_survive() {
    let mut store = Store::with_table(Default::default());
    let reader = create(&store, READ).expect("made");
    let admin = create(&store, &[Right::Read, Right::Write, Right::Admin]).expect("made");
    assert_eq!((reader.id.len(), reader.secret.len(), reader.enabled, reader.created), (20, 40, true, NOW));
    assert!(reader.id != admin.id && reader.secret != admin.secret && reader.secret[..20] != *reader.id);
    assert!(!format!("{reader:?}").contains(&reader.secret), "secrets are not for logs");
    let off = update(&store, &reader.id, Some(false), None).expect("turned off");
    assert_eq!(off, AccessKey { enabled: false, ..reader.clone() });
    let more = update(&store, &reader.id, None, Some(&[Right::Read, Right::Write])).expect("changed");
    assert_eq!((more.enabled, more.rights), (false, Rights::of(&[Right::Write, Right::Read])));
    store.reopen();
    let mut expected = vec![more.clone(), admin.clone()];
    expected.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(store.instance.access_keys().all(), expected);
    assert_eq!(store.instance.list_table(), ["t"], "keys are no tables");
    let found = store.instance.access_keys().find(&reader.id);
    assert_eq!(refused(authorize(found.as_ref(), Right::Read)), "OTSAuthFailed: The AccessKeyID is disabled.");
    store.env.run(store.instance.access_keys().delete(&reader.id)).expect("deleted");
    store.reopen();
    assert_eq!(store.instance.access_keys().all(), [admin]);
    let missing = "OTSObjectNotExist: Requested access key does not exist.";
    assert_eq!(refused(update(&store, &reader.id, Some(true), None)), missing);
    assert_eq!(refused(store.env.run(store.instance.access_keys().delete("no"))), missing);
}

#[test]
fn i6_a_key_without_rights_and_one_too_many_are_refused() {
    let store = Store::new();
    let none = "OTSParameterInvalid: An access key needs at least one of the rights read, write and admin.";
    assert_eq!(refused(create(&store, &[])), none);
    let keys: Vec<_> = (0..64).map(|_| create(&store, READ).expect("made")).collect();
    assert_eq!(refused(create(&store, READ)), "OTSQuotaExhausted: Number of access keys exceeds the quota:64.");
    assert_eq!(refused(update(&store, &keys[0].id, None, Some(&[]))), none);
    assert_eq!(store.instance.access_keys().all().len(), 64);
}

fn choose(store: &Store, id: &str, secret: &str) -> Result<AccessKey> {
    store.env.run(store.instance.access_keys().create_chosen(id.into(), secret.into(), Rights::of(READ)))
}

#[test]
fn i6_a_key_may_have_an_id_and_a_secret_that_its_clients_know_already() {
    let mut store = Store::new();
    let made = choose(&store, "test.id_-1", "test secret".replace(' ', "/").as_str()).expect("made");
    assert_eq!(
        (&*made.id, &*made.secret, made.rights, made.enabled),
        ("test.id_-1", "test/secret", Rights::of(READ), true)
    );
    store.reopen();
    assert_eq!(store.instance.access_keys().all(), [made]);
    let taken = "OTSObjectAlreadyExist: Requested access key already exists.";
    assert_eq!(refused(choose(&store, "test.id_-1", "other")), taken, "its secret stays");
    let id = "OTSParameterInvalid: The id of an access key must be 1 to 64 letters, digits, '.', '_' and '-'.";
    for wrong in ["", "a b", "a:b", "é", "a\n", &"x".repeat(65)] {
        assert_eq!(refused(choose(&store, wrong, "secret")), id, "{wrong:?}");
    }
    let secret = "OTSParameterInvalid: The secret of an access key must be 1 to 128 visible ASCII characters.";
    for wrong in ["", "a b", "é", "a\n", &"x".repeat(129)] {
        assert_eq!(refused(choose(&store, "other", wrong)), secret, "{wrong:?}");
    }
    choose(&store, &"x".repeat(64), &"x".repeat(128)).expect("the longest ones");
    assert_eq!(store.instance.access_keys().all().len(), 2);
}
