//! Readers of responses: `contract-responses.ts`.

use super::camel;
use super::described::{Codec, DECLARATIONS, Field, Shape, Variant, shape};
use super::requests::import;
use crate::run::Failure;
use std::fmt::Write as _;

/// The way to read one field: its codec, its type in TypeScript, and the expression.
const READERS: [(&str, &str, &str); 11] = [
    ("Blob", "Uint8Array", "reader.binary()"),
    ("Consumed", "Consumed", "readConsumed(reader)"),
    ("Failure", "TabStoreError", "readFailure(reader, context, request)"),
    ("Flag", "boolean", "reader.u8() === 1"),
    ("NamedKey", "Record<string, KeyValue>", "readNamedKey(reader, context)"),
    ("NextKey", "KeyValue[]", "readNextKey(reader, context)"),
    ("Page", "Page", "readPage(reader, context)"),
    ("Pages", "Pages", "readPages(reader, context)"),
    ("ReturnedRow", "Row", "readReturnedRow(reader, context)"),
    ("Text", "string", "reader.str()"),
    ("Unsigned", "number", "reader.uv()"),
];

/// The parameters of readers. Each reader takes the first few of them.
const PARAMETERS: [(&str, &str); 3] = [("reader", "Reader"), ("context", "DecodeContext"), ("request", "number")];

pub fn render() -> Result<String, Failure> {
    let mut parts = Vec::new();
    for declared in DECLARATIONS {
        match declared.shape {
            Shape::Response(fields) => parts.push(response(declared.name, fields)?),
            Shape::Outcome(variants) => parts.push(outcome(declared.name, variants)?),
            _ => {}
        }
    }
    let body = parts.join("\n");
    Ok(format!(
        "{}{}{}{}{}{}{}\n{body}",
        import(&body, true, &["TabStoreError"], "../types/errors.js"),
        import(&body, true, &["Row"], "../types/row.js"),
        import(&body, true, &["Consumed", "KeyValue"], "../types/rows.js"),
        import(&body, true, &["Page"], "./page.js"),
        import(&body, true, &["DecodeContext", "Pages"], "./parts.js"),
        import(
            &body,
            false,
            &[
                "readConsumed",
                "readFailure",
                "readNamedKey",
                "readNextKey",
                "readPage",
                "readPages",
                "readReturnedRow",
                "unknownOutcome"
            ],
            "./parts.js"
        ),
        import(&body, true, &["Reader"], "./reader.js"),
    ))
}

/// The type of a field, the expression that reads it, and the number of [`PARAMETERS`] that it needs.
fn reader(codec: Codec) -> Result<(String, String, usize), Failure> {
    if let Some((_, kind, call)) = READERS.iter().find(|(name, ..)| *name == codec.0) {
        let needs = PARAMETERS.iter().filter(|(name, _)| call.contains(name)).count();
        return Ok(((*kind).to_owned(), (*call).to_owned(), needs));
    }
    if let (name, Some(inner)) = (codec.name(), codec.inner()) {
        let (kind, call, needs) = reader(inner)?;
        match name {
            "Maybe" => return Ok((format!("{kind} | null"), format!("reader.u8() === 1 ? {call} : null"), needs)),
            "List" => return Ok((format!("{kind}[]"), call, needs)),
            _ => {}
        }
    }
    let needs = match shape(codec.0) {
        Some(Shape::Response(fields)) => most(fields)?,
        Some(Shape::Outcome(variants)) => variants
            .iter()
            .map(|variant| most(variant.fields))
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .max()
            .unwrap_or(1),
        _ => {
            return Err(Failure::new(format!(
                "nothing says how {:?} is read: add its reader to pkg/src/codec/parts.ts, and a line about it to READERS \
                 in xtask/src/contract/responses.rs",
                codec.0
            )));
        }
    };
    let given = PARAMETERS[..needs].iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    Ok((codec.0.to_owned(), format!("read{}({given})", codec.0), needs))
}

fn most(fields: &[Field]) -> Result<usize, Failure> {
    let needs = fields.iter().map(|field| reader(field.codec).map(|(.., needs)| needs));
    Ok(needs.collect::<Result<Vec<_>, _>>()?.into_iter().max().unwrap_or(1))
}

fn head(name: &str, needs: usize) -> String {
    let parameters =
        PARAMETERS[..needs].iter().map(|(name, kind)| format!("{name}: {kind}")).collect::<Vec<_>>().join(", ");
    format!("export function read{name}({parameters}): {name} {{\n")
}

/// Fields of a type. Each ends with a mark.
fn members(fields: &[Field], mark: &str) -> Result<String, Failure> {
    let member = |field: &Field| Ok(format!("readonly {}: {}", camel(field.name), reader(field.codec)?.0));
    Ok(fields.iter().map(member).collect::<Result<Vec<_>, Failure>>()?.join(mark))
}

/// Statements that read fields in order, and the members of an object of them.
fn fields_of(fields: &[Field], indent: &str) -> Result<(String, String), Failure> {
    let mut statements = String::new();
    for field in fields {
        let (kind, call, _) = reader(field.codec)?;
        let name = camel(field.name);
        let _ = if field.codec.name() == "List" {
            write!(
                statements,
                "{indent}const {name}: {kind} = [];\n{indent}for (let left = reader.uv(); left > 0; left--) {name}.push({call});\n"
            )
        } else {
            writeln!(statements, "{indent}const {name} = {call};")
        };
    }
    let names = fields.iter().map(|field| camel(field.name)).collect::<Vec<_>>().join(", ");
    Ok((statements, names))
}

fn response(name: &str, fields: &[Field]) -> Result<String, Failure> {
    let (statements, names) = fields_of(fields, "  ")?;
    Ok(format!(
        "export interface {name} {{\n  {};\n}}\n\n{}{statements}  return {{ {names} }};\n}}\n",
        members(fields, ";\n  ")?,
        head(name, most(fields)?)
    ))
}

fn outcome(name: &str, variants: &[Variant]) -> Result<String, Failure> {
    let (mut kinds, mut cases) = (String::new(), String::new());
    let mut needs = 1;
    for variant in variants {
        let (statements, names) = fields_of(variant.fields, "      ")?;
        let _ = write!(kinds, "\n  | {{ readonly kind: \"{}\"; {} }}", variant.name, members(variant.fields, "; ")?);
        let _ = write!(
            cases,
            "    case {}: {{\n{statements}      return {{ kind: \"{}\", {names} }};\n    }}\n",
            variant.number, variant.name
        );
        needs = needs.max(most(variant.fields)?);
    }
    Ok(format!(
        "export type {name} ={kinds};\n\n{}  switch (reader.u8()) {{\n{cases}    default:\n      throw unknownOutcome();\n  }}\n}}\n",
        head(name, needs)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::described::operations;

    #[test]
    fn every_response_has_a_reader() {
        let rendered = render().unwrap();
        for operation in operations() {
            // A number has the reader of its kind.
            let is_plain = READERS.iter().any(|(name, ..)| *name == operation.response);
            let is_read = is_plain || rendered.contains(&format!("export function read{}(", operation.response));
            assert!(is_read, "{}", operation.name);
        }
    }

    #[test]
    fn fields_are_read_in_their_order() {
        const FIELDS: [Field; 2] = [
            Field { name: "units", codec: Codec("Unsigned") },
            Field { name: "last_row", codec: Codec("Maybe<ReturnedRow>") },
        ];
        let expected = "\
export interface Any {
  readonly units: number;
  readonly lastRow: Row | null;
}

export function readAny(reader: Reader, context: DecodeContext): Any {
  const units = reader.uv();
  const lastRow = reader.u8() === 1 ? readReturnedRow(reader, context) : null;
  return { units, lastRow };
}
";
        assert_eq!(response("Any", &FIELDS).unwrap(), expected);
    }

    #[test]
    fn a_part_that_nobody_reads_is_refused_and_says_what_to_add() {
        let refused = reader(Codec("List<Colour>")).unwrap_err().to_string();
        assert!(refused.contains("Colour") && refused.contains("READERS"), "{refused}");
    }
}
