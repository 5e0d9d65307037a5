//! Numbers and names: `contract.ts`.

use super::described::{
    Again, Codec, DECLARATIONS, Declaration, Field, IN_TRANSACTION, Operation, Shape, Variant, shape,
};
use super::{camel, constant};
use std::fmt::Write as _;

pub fn render() -> String {
    DECLARATIONS.iter().filter_map(declared).collect::<Vec<_>>().join("\n")
}

/// The numbers and names that request.ts, filter.ts and others need. Records and responses have no numbers.
fn declared(&Declaration { name, shape }: &Declaration) -> Option<String> {
    let mut out = String::new();
    match shape {
        Shape::Operations(operations) => {
            numbers(&mut out, "Numbers of operations.", "OP", operations.iter().map(|one| (one.name, one.number)));
            let _ = write!(
                out,
                "\n/** Added to the number of an operation that belongs to a transaction; the id of that is behind it. */\n\
                 export const IN_TRANSACTION = {IN_TRANSACTION};\n"
            );
            let _ = write!(out, "\n{}", rows(operations));
        }
        Shape::Tags(tags) => {
            numbers(&mut out, "Tags of values, in requests and in pages.", "TAG", tags.iter().copied())
        }
        Shape::Choice(_, choices) => {
            let most = choices.iter().map(|one| usize::from(one.number)).max().unwrap_or(0);
            let mut texts = vec![String::new(); most + 1];
            choices.iter().for_each(|one| texts[usize::from(one.number)] = format!("{:?}", one.text));
            let texts = texts.join(", ");
            let _ = writeln!(out, "/** The names of {name}, each at the place of its number. */");
            let _ = writeln!(out, "export const {} = [{texts}] as string[];", constant(name));
        }
        Shape::Flags(variants) => {
            let bits = variants.iter().map(|one| (camel(one.name), one.number));
            numbers(&mut out, &format!("Bits of {name}."), &constant(name), bits);
        }
        Shape::Union(_, variants) => {
            let named = variants.iter().map(|Variant { name, number, .. }| (*name, *number));
            numbers(&mut out, &format!("Numbers of {name}."), &constant(name), named);
        }
        Shape::Administration(_) | Shape::Arguments(_) | Shape::Record(_) | Shape::Rows(..) | Shape::Response => {
            return None;
        }
    }
    Some(out)
}

/// Constants. The bundler replaces their names by the numbers.
fn numbers<N: std::fmt::Display>(out: &mut String, what: &str, name: &str, all: impl Iterator<Item = (N, u8)>) {
    let _ = writeln!(out, "/** {what} */\nexport const enum {name} {{");
    all.for_each(|(name, number)| {
        let _ = writeln!(out, "  {name} = {number},");
    });
    out.push_str("}\n");
}

/// The codec of rows that writer.ts writes one by one.
const ROW_BY_ROW: &str = "RowOfLoad";

/// Whether a request is about one row. Its table and key come first.
fn is_row(operation: &Operation) -> bool {
    match shape(operation.request.name()) {
        Some(Shape::Rows(fields, _) | Shape::Record(fields)) => {
            matches!(fields, [table, key, ..] if table.codec.0 == "Table" && key.codec.0 == "Key")
        }
        _ => false,
    }
}

/// Whether a request has a list of rows to write.
fn is_batch(operation: &Operation) -> bool {
    operation.request.0 == "Batch<Row>" || is_load(operation.request)
}

fn is_load(request: Codec) -> bool {
    let of_load = |field: &Field| field.codec.inner().is_some_and(|inner| inner.name() == ROW_BY_ROW);
    matches!(shape(request.name()), Some(Shape::Record(fields)) if fields.iter().any(of_load))
}

/// The operations that call.ts and retry.ts can tell apart.
fn rows(operations: &[Operation]) -> String {
    let test = |what: &str, name: &str, about: fn(&Operation) -> bool| {
        let some = operations.iter().filter(|one| about(one)).map(|one| format!("op === OP.{}", one.name));
        let tests = some.collect::<Vec<_>>().join(" || ");
        format!("/** {what} */\nexport function {name}(op: number): boolean {{\n  return {tests};\n}}\n")
    };
    let row = test("Whether a request begins with the table and the key of one row.", "isRow", is_row);
    let batch = test("Whether a request has rows, each of which is laid out as a request.", "isBatch", is_batch);
    let repeatable =
        test("Whether it may be done twice.", "isRepeatable", |operation| operation.again == Again::Repeatable);
    format!("{row}\n{batch}\n{repeatable}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::described::{Choice, Unknown, operations};

    #[test]
    fn a_name_stands_at_the_place_of_its_number() {
        let choices = &[Choice { number: 1, text: "RED" }, Choice { number: 3, text: "BLUE" }];
        let rendered =
            declared(&Declaration { name: "Colour", shape: Shape::Choice(Unknown::Request, choices) }).unwrap();
        assert!(rendered.ends_with("export const COLOUR = [, \"RED\", , \"BLUE\"] as string[];\n"), "{rendered}");
    }

    #[test]
    fn rows_that_can_be_sent_again_alone_are_known_by_their_layout() {
        let some = |about: fn(&Operation) -> bool| {
            operations().iter().filter(|one| about(one)).map(|one| one.name).collect::<Vec<_>>()
        };
        assert_eq!(some(is_row), ["PUT_ROW", "UPDATE_ROW", "DELETE_ROW", "GET_ROW"]);
        assert_eq!(some(is_batch), ["BATCH_WRITE_ROW", "BATCH_WRITE_ROW_ATOMIC", "PUT_ROWS", "ATOMIC"]);
    }
}
