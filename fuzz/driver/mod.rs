//! The fuzz targets as plain functions of an input. The test command runs them too.
//!
//! No input causes a panic, a hang, or an answer that reports a fault of the program. The store keeps working, and
//! acknowledged data can be read.

mod azure;
mod blocks;
#[expect(dead_code, reason = "the administration is for those who render the contract")]
#[path = "../../xtask/src/contract/described.rs"]
mod described;
mod draw;
mod entrance;
mod frame;
mod input;
mod tablestore;
mod world;

pub(crate) use azure::azure;
pub(crate) use blocks::blocks;
pub(crate) use tablestore::{done_at_the_door, tablestore};

use draw::Asked;
use frame::{Builder, Item};
use input::Input;
use world::World;

/// The clock at the start.
const NOW: i64 = 1_469_030_400_000;

/// Whole requests and operations of administration, built from the input's bytes.
pub(crate) fn requests(data: &[u8]) {
    done_in_transactions(data);
}

/// The same. Returns the number of operations inside transactions, and of those that succeeded.
pub(crate) fn done_in_transactions(data: &[u8]) -> (usize, usize) {
    let mut input = Input::new(data);
    let mut world = World::new(&mut input);
    let (mut known, mut inside, mut done) = (0, 0, 0);
    while !input.is_empty() {
        match input.pick(16) {
            0 => world.administer(&mut input),
            1 => world.live(&mut input),
            _ => {
                let (mut builder, count) = (Builder::default(), input.of(&[1, 1, 1, 2, 5]));
                let asked = (0..count)
                    .map(|_| draw::request(&mut builder, &mut input, &world.transactions))
                    .collect::<Vec<_>>();
                let answers = world.submit(builder.finish()).expect("a whole frame is taken");
                let asked = asked.into_iter().filter(|asked| asked.operation != "ACKNOWLEDGE").collect::<Vec<_>>();
                assert_eq!(answers.len(), asked.len(), "every request is answered once");
                for (asked, answer) in asked.iter().zip(&answers) {
                    world.follow(asked, answer);
                    inside += usize::from(asked.is_inside());
                    done += usize::from(asked.is_inside() && answer.is_ok());
                }
                if let ([Asked { operation: "PUT_ROW", transaction: None, .. }], [Ok(_)]) = (&asked[..], &answers[..]) {
                    check_put(&mut world, &asked[0]);
                }
            }
        }
        if input.one_in(16) {
            known += 1;
            world.put_known(known);
        }
    }
    world.put_known(known + 1);
    world.reopen();
    world.check_known(known + 1);
    (inside, done)
}

/// The input itself as a frame, and as the requests of a frame with names.
pub(crate) fn frames(data: &[u8]) {
    let mut world = World::new(&mut Input::new(&[]));
    let mut named = vec![1];
    named.extend((data.len() as u32 + 5).to_le_bytes());
    named.extend(data);
    named.extend([6, 3]);
    named.extend(b"two\x01p\x01q\x01a\x01b\x03one");
    for frame in [data.to_vec(), named] {
        // Damage is refused. All requests before it were done and answered.
        let _ = world.submit(frame);
    }
    world.put_known(1);
    world.reopen();
    world.check_known(1);
}

/// A read returns the cells of a successful PutRow, at least in the columns with versions of the store.
fn check_put(world: &mut World, put: &Asked) {
    if put.key.iter().any(|(_, item)| *item == Item::AutoIncrement) {
        return;
    }
    let mut builder = Builder::default();
    builder.get(&put.table, &put.key);
    let answers = world.submit(builder.finish()).expect("a whole frame is taken");
    let payload = answers.first().expect("answered").as_ref().expect("a row that was put can be read");
    let row = world::row(payload);
    let row = row.expect("a row that was put is there");
    for (column, version, item) in &put.cells {
        let alone = put.cells.iter().filter(|(other, ..)| other == column).count() == 1;
        if version.is_none() && alone {
            let read =
                row.cells.iter().filter(|(name, ..)| name == column).map(|(.., value)| value).collect::<Vec<_>>();
            assert!(matches!(&read[..], [value] if world::same(value, item)), "{column} is {read:?}, not {item:?}");
        }
    }
}
