//! The capacity meter's counts of a second or an hour.
//!
//! ```text
//! uses    uv count · each: uv payer · uv read · uv write units · uv read · uv write units above the reserved ones
//! steps   uv count · each: uv payer · uv second · before: uv read · uv write reserved · after: likewise
//! ```
//!
//! A second is counted from 1970; the meter has none before.

use super::wire::{Decoded, Reader, put_uv};
use crate::model::ReservedThroughput;
use crate::model::meter::{Tally, ThroughputStep, Use};

/// The bytes of a tally.
#[must_use]
pub fn encode(tally: &Tally) -> Vec<u8> {
    let mut out = Vec::new();
    put_uv(tally.uses.len() as u64, &mut out);
    for Use { payer, used: [read, write], over: [read_over, write_over] } in &tally.uses {
        for number in [u64::from(*payer), *read, *write, *read_over, *write_over] {
            put_uv(number, &mut out);
        }
    }
    put_uv(tally.steps.len() as u64, &mut out);
    for ThroughputStep { payer, second, before, after } in &tally.steps {
        put_uv(u64::from(*payer), &mut out);
        put_uv(second.cast_unsigned(), &mut out);
        for units in [before.read, before.write, after.read, after.write] {
            put_uv(u64::from(units), &mut out);
        }
    }
    out
}

/// Reads a tally.
///
/// # Errors
/// Damage.
pub fn decode(bytes: &[u8]) -> Decoded<Tally> {
    let mut reader = Reader::new(bytes);
    let mut tally = Tally::default();
    for _ in 0..reader.count()? {
        let payer = reader.uv32()?;
        let used = [reader.uv()?, reader.uv()?];
        tally.uses.push(Use { payer, used, over: [reader.uv()?, reader.uv()?] });
    }
    for _ in 0..reader.count()? {
        let (payer, second) = (reader.uv32()?, reader.uv()?.cast_signed());
        let before = throughput(&mut reader)?;
        tally.steps.push(ThroughputStep { payer, second, before, after: throughput(&mut reader)? });
    }
    Ok(tally)
}

fn throughput(reader: &mut Reader<'_>) -> Decoded<ReservedThroughput> {
    Ok(ReservedThroughput { read: reader.uv32()?, write: reader.uv32()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reserved() -> impl Strategy<Value = ReservedThroughput> {
        any::<(u32, u32)>().prop_map(|(read, write)| ReservedThroughput { read, write })
    }

    fn tally() -> impl Strategy<Value = Tally> {
        let used = any::<(u32, [u64; 2], [u64; 2])>().prop_map(|(payer, used, over)| Use { payer, used, over });
        let step = (any::<u32>(), any::<i64>(), reserved(), reserved());
        let step = step.prop_map(|(payer, second, before, after)| ThroughputStep { payer, second, before, after });
        let uses = proptest::collection::vec(used, 0..9);
        (uses, proptest::collection::vec(step, 0..9)).prop_map(|(uses, steps)| Tally { uses, steps })
    }

    #[test]
    fn c3_the_bytes_of_a_tally_stay_as_they_are() {
        let throughput = |read, write| ReservedThroughput { read, write };
        let tally = Tally {
            uses: vec![Use { payer: 7, used: [120, 3], over: [20, 0] }],
            steps: vec![ThroughputStep { payer: 7, second: 300, before: throughput(0, 1), after: throughput(100, 2) }],
        };
        let bytes = [1, 7, 120, 3, 20, 0, 1, 7, 0xAC, 2, 0, 1, 100, 2];
        assert_eq!(encode(&tally), bytes);
        assert_eq!(decode(&bytes), Ok(tally));
    }

    proptest! {
        #[test]
        fn c3_a_tally_survives_its_bytes(tally in tally()) {
            prop_assert_eq!(decode(&encode(&tally)), Ok(tally));
        }

        #[test]
        fn any_bytes_are_a_tally_or_damage(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = decode(&bytes);
        }
    }
}
