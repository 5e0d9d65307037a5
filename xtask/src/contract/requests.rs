//! Writers of requests: `contract-requests.ts`.

use super::described::{Branch, Codec, Field, Operation, Shape, operations, shape};
use super::{camel, constant, lower_first};
use crate::run::Failure;
use std::fmt::Write as _;

/// The way to write fields that a caller gives.
struct Writer {
    /// Its operation or record; empty for all others.
    place: &'static str,
    codecs: &'static [&'static str],
    /// The arguments that it writes. `{field}` is the name of the field.
    arguments: &'static [&'static str],
    /// The call of the hand-written writer, which checks the argument and names it in messages. `given` has the arguments.
    call: &'static str,
}

const fn writer(
    place: &'static str,
    codecs: &'static [&'static str],
    arguments: &'static [&'static str],
    call: &'static str,
) -> Writer {
    Writer { place, codecs, arguments, call }
}

const WRITERS: [Writer; 16] = [
    writer("", &["Table"], &["tableName"], "writeTable(w, given.tableName)"),
    writer("", &["Key"], &["primaryKey"], "writeKey(w, given.primaryKey, \"primaryKey\", \"read\")"),
    writer("RowWrite", &["Key"], &["primaryKey"], "writeKey(w, given.primaryKey, \"primaryKey\", \"write\")"),
    writer("DELETE_ROW", &["Key"], &["primaryKey"], "writeKey(w, given.primaryKey, \"primaryKey\", \"delete\")"),
    writer("", &["PartitionKey"], &["partitionKey"], "writeKey(w, given.partitionKey, \"partitionKey\", \"read\")"),
    writer("", &["Batch<Key>"], &["primaryKeys"], "writeKeys(w, given.primaryKeys, \"primaryKeys\")"),
    writer("", &["RangeEnd"], &["{field}"], "writeRangeEnd(w, given.{field}, \"{field}\")"),
    writer("", &["Direction"], &["{field}"], "writeDirection(w, given.{field}, \"{field}\")"),
    writer("", &["Limit"], &["{field}"], "writeLimit(w, given.{field}, \"{field}\")"),
    writer("", &["Maybe<Filter>"], &["{field}"], "writeFilterOrNone(w, given.{field}, \"{field}\")"),
    writer("", &["ReadOptions"], &["...READ"], "writeReadOptions(w, given)"),
    writer("", &["Existence", "Maybe<Boxed<Filter>>"], &["condition"], "writeCondition(w, given.condition)"),
    writer("", &["ReturnContent"], &["returnContent"], "writeReturn(w, given.returnContent)"),
    writer("UPDATE_ROW", &["ReturnContent"], &["returnContent"], "writeReturnOrColumns(w, given.returnContent)"),
    writer("", &["List<PutCell>"], &["attributes"], "writeAttributes(w, given.attributes)"),
    writer(
        "",
        &["List<ColumnChange>"],
        &["put", "deleteVersions", "deleteColumns", "increment"],
        "writeChanges(w, given)",
    ),
];

/// Requests of one field: the argument, its type, and the writing expression.
const SINGLE: [(&str, &str, &str, &str); 3] = [
    ("Blob", "bytes", "Uint8Array", "w.binary(bytes)"),
    ("Text", "id", "string", "w.str(id, \"the transaction's id\")"),
    ("Unsigned", "number", "number", "w.uv(number)"),
];

/// Requests that are a list: the item's codec, the argument, and the type of an entry.
const LISTS: [(&str, &str, &str); 2] = [("TableRead", "tables", "BatchGetItem"), ("Row", "rows", "BatchWriteItem")];

/// The codec of rows that writer.ts writes one by one.
const ROW_BY_ROW: &str = "RowOfLoad";

/// Messages that refuse an unknown argument name the known ones in this order: these, those of other names, and the last.
const FIRST_TOLD: [&str; 14] = [
    "primaryKey",
    "primaryKeys",
    "attributes",
    "put",
    "deleteVersions",
    "deleteColumns",
    "increment",
    "condition",
    "returnContent",
    "direction",
    "start",
    "end",
    "limit",
    "...READ",
];
const LAST_TOLD: [&str; 3] = ["tableName", "partitionKey", "signal"];

/// The place of an argument in messages.
fn told(argument: &str) -> usize {
    let place = |all: &[&str]| all.iter().position(|one| *one == argument);
    let behind = FIRST_TOLD.len() + 1;
    place(&FIRST_TOLD).or_else(|| Some(behind + place(&LAST_TOLD)?)).unwrap_or(FIRST_TOLD.len())
}

/// Whether a request is about one row. Its table and key come first.
pub fn is_row(operation: &Operation) -> bool {
    match shape(operation.request.name()) {
        Some(Shape::Rows(fields, _) | Shape::Record(fields)) => {
            matches!(fields, [table, key, ..] if table.codec.0 == "Table" && key.codec.0 == "Key")
        }
        _ => false,
    }
}

/// Whether a request has a list of rows to write.
pub fn is_batch(operation: &Operation) -> bool {
    operation.request.0 == "Batch<Row>" || is_load(operation.request)
}

fn is_load(request: Codec) -> bool {
    let of_load = |field: &Field| field.codec.inner().is_some_and(|inner| inner.name() == ROW_BY_ROW);
    matches!(shape(request.name()), Some(Shape::Record(fields)) if fields.iter().any(of_load))
}

pub fn render() -> Result<String, Failure> {
    let mut parts = vec![rows()?];
    for operation in operations().iter().filter(|one| !is_load(one.request)) {
        parts.push(call(operation)?);
    }
    let body = parts.join("\n");
    Ok(format!(
        "{}{}{}{}{}{}\n{body}",
        import(&body, false, &["checkCall", "list"], "./check.js"),
        import(&body, false, &["IN_TRANSACTION", "OP"], "./contract.js"),
        import(&body, true, &["FrameWriter"], "./frame.js"),
        import(&body, false, &hand_written(&body), "./request.js"),
        import(&body, false, &["writeKey"], "./value.js"),
        import(&body, true, &types(&body), "../types/rows.js"),
    ))
}

/// An import of those names that occur in the text.
pub fn import(body: &str, types: bool, names: &[impl AsRef<str>], from: &str) -> String {
    let mut used = names.iter().map(AsRef::as_ref).filter(|name| mentions(body, name)).collect::<Vec<_>>();
    used.sort_unstable_by_key(|name| name.to_ascii_lowercase());
    used.dedup();
    if used.is_empty() {
        return String::new();
    }
    let import = if types { "import type" } else { "import" };
    format!("{import} {{ {} }} from \"{from}\";\n", used.join(", "))
}

fn mentions(body: &str, name: &str) -> bool {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    body.match_indices(name).any(|(at, _)| {
        let (before, after) = (body[..at].chars().next_back(), body[at + name.len()..].chars().next());
        !before.is_some_and(letter) && !after.is_some_and(letter)
    })
}

/// The functions of request.ts that are used.
fn hand_written(body: &str) -> Vec<String> {
    let calls = WRITERS.iter().filter_map(|one| one.call.split('(').next());
    let own = ["writeKey"];
    let others = ["READ", "checkOne", "writeOp", "writeTable"];
    calls.chain(others).filter(|name| !own.contains(name) && mentions(body, name)).map(str::to_owned).collect()
}

fn types(body: &str) -> Vec<String> {
    let words = body.split(|letter: char| !letter.is_ascii_alphanumeric());
    let rows = branches().iter().map(|branch| format!("{}Row", branch.name)).collect::<Vec<_>>();
    let types = |word: &&str| {
        word.ends_with("Request") || LISTS.iter().any(|(.., item)| item == word) || rows.iter().any(|row| row == word)
    };
    words.filter(types).map(str::to_owned).collect()
}

/// The layout of rows, and the differences between operations.
fn row_layout() -> (&'static [Field], &'static [Branch]) {
    match shape("RowWrite") {
        Some(Shape::Rows(fields, branches)) => (fields, branches),
        _ => (&[], &[]),
    }
}

fn branches() -> &'static [Branch] {
    row_layout().1
}

/// The writer of the next fields, and the number of these fields.
fn find(places: &[&str], fields: &[Field]) -> Result<(&'static Writer, usize), Failure> {
    for place in places {
        for writer in WRITERS.iter().filter(|writer| writer.place == *place) {
            let fits = writer.codecs.iter().zip(fields).filter(|(codec, field)| **codec == field.codec.0).count();
            if fits == writer.codecs.len() {
                return Ok((writer, fits));
            }
        }
    }
    let field = fields.first().map_or("", |field| field.codec.0);
    Err(Failure::new(format!(
        "nothing says how {} writes {field:?}: add its writer to pkg/src/codec/request.ts, and a line about it to WRITERS \
         in xtask/src/contract/requests.rs",
        places.first().unwrap_or(&"")
    )))
}

/// Statements that write fields, and their arguments.
fn statements(places: &[&str], mut fields: &[Field]) -> Result<(Vec<String>, Vec<String>), Failure> {
    let (mut calls, mut arguments) = (Vec::new(), Vec::new());
    while let Some(first) = fields.first() {
        let (writer, count) = find(places, fields)?;
        let name = camel(first.name);
        calls.push(format!("{};", writer.call.replace("{field}", &name)));
        arguments.extend(writer.arguments.iter().map(|argument| argument.replace("{field}", &name)));
        fields = &fields[count..];
    }
    Ok((calls, arguments))
}

/// A set of known arguments, in the order of messages.
fn known(name: &str, mut arguments: Vec<String>) -> String {
    arguments.sort_by_key(|argument| told(argument));
    known_as_it_is(name, &arguments)
}

fn known_as_it_is(name: &str, arguments: &[String]) -> String {
    let quoted = |argument: &String| match argument.as_str() {
        spread if spread.starts_with("...") => spread.to_owned(),
        name => format!("{name:?}"),
    };
    let names = arguments.iter().map(quoted).collect::<Vec<_>>().join(", ");
    format!("const {name} = /* @__PURE__ */ new Set([{names}]);\n")
}

/// A function with these statements.
fn function(docs: &str, head: &str, statements: &[String]) -> String {
    format!("/** {docs} */\nexport function {head}: void {{\n  {}\n}}\n", statements.join("\n  "))
}

/// The fields of each operation that is also a row of a batch, and that row.
fn rows() -> Result<String, Failure> {
    let (fields, branches) = row_layout();
    let [table, key, rest @ ..] = fields else { return Err(Failure::new("a row begins with its table and its key")) };
    if (table.codec.0, key.codec.0) != ("Table", "Key") {
        return Err(Failure::new("a row begins with its table and its key: call.ts and writer.ts count on it"));
    }
    let mut out = String::new();
    let mut choices = Vec::new();
    for Branch { operation, name, codec } in branches {
        let (set, given) = (constant(name), format!("w: FrameWriter, given: {name}Row"));
        let places = [operation, "RowWrite", ""];
        let (key, mut arguments) = statements(&places, std::slice::from_ref(key))?;
        let last = codec.map(|codec| Field { name: "mutation", codec });
        let rest = rest.iter().copied().chain(last).collect::<Vec<_>>();
        let (rest, more) = statements(&places, &rest)?;
        arguments.extend(more);
        out += &known(&set, arguments.clone());
        out += &known(&format!("{set}_CALL"), [arguments, vec!["tableName".into(), "signal".into()]].concat());
        let _ = write!(
            out,
            "\n{}",
            function(&format!("{operation} behind its key."), &format!("write{name}Rest({given})"), &rest)
        );
        let all = [key, vec![format!("write{name}Rest(w, given);")]].concat();
        let docs = format!("{operation} behind its table.");
        let _ = write!(out, "\n{}\n", function(&docs, &format!("write{name}({given})"), &all));
        choices.push((lower_first(name), *name, set, *operation));
    }
    let names = choices.iter().map(|(argument, ..)| argument.clone());
    out += &known_as_it_is("ROW", &std::iter::once("tableName".to_owned()).chain(names).collect::<Vec<_>>());
    let taken =
        choices.iter().map(|(argument, name, ..)| format!("{argument}: as{name}")).collect::<Vec<_>>().join(", ");
    let given = choices.iter().map(|(_, name, ..)| format!("as{name}")).collect::<Vec<_>>().join(", ");
    let _ = write!(
        out,
        "\n/** A row of a batch, with its operation before it. */\n\
         function writeRow(w: FrameWriter, item: BatchWriteItem, what: string): void {{\n  \
           const {{ tableName, {taken} }} = checkCall(item, ROW, what);\n  \
           checkOne([{given}]);\n  \
           w.mark();\n"
    );
    for (at, (argument, name, set, operation)) in choices.iter().enumerate() {
        let head = if at == 0 { "  if" } else { " else if" };
        let _ = write!(
            out,
            "{head} (as{name} !== undefined) {{\n    \
               const given = checkCall(as{name}, {set}, \"{argument}\");\n    \
               w.u8(OP.{operation});\n    \
               writeTable(w, tableName);\n    \
               write{name}(w, given);\n  }}"
        );
    }
    out += "\n}\n";
    Ok(out)
}

/// The writer of a call.
fn call(operation: &Operation) -> Result<String, Failure> {
    let Operation { name, metric, request, response, in_transaction, docs, .. } = *operation;
    let (function_name, what) = (camel(name), lower_first(metric));
    let (op, transaction) = if in_transaction {
        (format!("writeOp(w, OP.{name}, transaction);"), ", transaction?: string")
    } else {
        (format!("w.u8(OP.{name});"), "")
    };
    let docs = docs.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let docs = format!("{docs} `read{response}` reads the answer.");
    let head = |given: &str| format!("{function_name}(w: FrameWriter, {given}{transaction})");
    let of_call = |set: &str| format!("const given = checkCall(request, {set}, \"{what}\");");
    Ok(match (shape(request.name()), request.inner()) {
        (Some(Shape::Record(fields)), _) => {
            let (calls, arguments) = statements(&[name, request.name(), ""], fields)?;
            let set = format!("{name}_CALL");
            let all = [vec![of_call(&set), op], calls].concat();
            let known = known(&set, [arguments, vec!["signal".into()]].concat());
            format!("{known}\n{}", function(&docs, &head(&format!("request: {metric}Request")), &all))
        }
        (Some(Shape::Rows(..)), _) => {
            let branch = branches().iter().find(|branch| branch.operation == name);
            let branch = branch
                .ok_or_else(|| Failure::new(format!("{name} is an operation of RowWrite that it does not have")))?;
            let set = format!("{}_CALL", constant(branch.name));
            let rest = ["writeTable(w, given.tableName);".to_owned(), format!("write{}(w, given);", branch.name)];
            let all = [vec![of_call(&set), op], rest.to_vec()].concat();
            function(&docs, &head(&format!("request: {metric}Request")), &all)
        }
        (_, Some(inner)) => list(operation, inner, &op, &docs, &head)?,
        _ => {
            let Some((_, argument, kind, write)) = SINGLE.iter().find(|(codec, ..)| *codec == request.0) else {
                return Err(Failure::new(format!(
                    "nothing says how {name} writes {:?}: add a line about it to SINGLE in xtask/src/contract/requests.rs",
                    request.0
                )));
            };
            function(&docs, &head(&format!("{argument}: {kind}")), &[op, format!("{write};")])
        }
    })
}

/// The writer of a call that takes a list.
fn list(
    operation: &Operation,
    inner: Codec,
    op: &str,
    docs: &str,
    head: &dyn Fn(&str) -> String,
) -> Result<String, Failure> {
    let Some((_, argument, item)) = LISTS.iter().find(|(of, ..)| *of == inner.0) else {
        return Err(Failure::new(format!(
            "nothing says what {} takes a list of: add a line about {:?} to LISTS in xtask/src/contract/requests.rs",
            operation.name, inner.0
        )));
    };
    let what = lower_first(operation.metric);
    let mut all = vec![
        format!("const all = list({argument}, \"{argument}\") as {item}[];"),
        op.to_owned(),
        "w.uv(all.length);".to_owned(),
    ];
    let mut before = String::new();
    if let Some(Shape::Record(fields)) = shape(inner.name()) {
        let (calls, mut arguments) = statements(&[operation.name, inner.name(), ""], fields)?;
        let set = constant(inner.name());
        // An item begins with its table.
        arguments.retain(|argument| argument != "tableName");
        arguments.sort_by_key(|argument| told(argument));
        arguments.insert(0, "tableName".to_owned());
        before = known_as_it_is(&set, &arguments) + "\n";
        all.push("for (const item of all) {".to_owned());
        all.push(format!("  const given = checkCall(item, {set}, \"{what}\");"));
        all.extend(calls.iter().map(|call| format!("  {call}")));
        all.push("}".to_owned());
    } else {
        all.push(format!("for (const item of all) write{}(w, item, \"{what}\");", inner.0));
    }
    Ok(before + &function(docs, &head(&format!("{argument}: readonly {item}[]")), &all))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn field(name: &'static str, codec: &'static str) -> Field {
        Field { name, codec: Codec(codec) }
    }

    #[test]
    fn every_operation_has_a_writer_but_the_load_which_is_written_row_by_row() {
        let rendered = render().unwrap();
        for Operation { name, request, .. } in operations() {
            let function = format!("export function {}(", camel(name));
            assert_eq!(rendered.contains(&function), !is_load(*request), "{name}");
        }
    }

    #[test]
    fn fields_are_written_in_their_order_and_take_arguments_of_their_names() {
        let fields = [field("table", "Table"), field("start", "RangeEnd"), field("row_limit", "Limit")];
        let (calls, arguments) = statements(&["ANY", ""], &fields).unwrap();
        assert_eq!(
            calls,
            [
                "writeTable(w, given.tableName);",
                "writeRangeEnd(w, given.start, \"start\");",
                "writeLimit(w, given.rowLimit, \"rowLimit\");"
            ]
        );
        assert_eq!(arguments, ["tableName", "start", "rowLimit"]);
        let known = known("ANY", [arguments, vec!["signal".into()]].concat());
        assert!(known.ends_with("new Set([\"start\", \"rowLimit\", \"tableName\", \"signal\"]);\n"), "{known}");
    }

    #[test]
    fn an_argument_of_two_fields_is_written_once_and_only_where_both_are() {
        let both = [field("condition", "Existence"), field("column_condition", "Maybe<Boxed<Filter>>")];
        assert_eq!(statements(&[""], &both).unwrap().0, ["writeCondition(w, given.condition);"]);
        assert!(statements(&[""], &both[..1]).is_err());
    }

    #[test]
    fn the_writer_for_an_operation_goes_before_the_one_for_all() {
        let key = [field("key", "Key")];
        let written = |places: &[&str]| statements(places, &key).unwrap().0.concat();
        assert!(written(&["DELETE_ROW", "RowWrite", ""]).contains("\"delete\""));
        assert!(written(&["PUT_ROW", "RowWrite", ""]).contains("\"write\""));
        assert!(written(&["GET_ROW", "GetRow", ""]).contains("\"read\""));
    }

    #[test]
    fn a_field_that_nobody_writes_is_refused_and_says_what_to_add() {
        let refused = statements(&["NEW_CALL", ""], &[field("colour", "Colour")]).unwrap_err().to_string();
        assert!(refused.contains("NEW_CALL") && refused.contains("Colour") && refused.contains("WRITERS"), "{refused}");
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
