//! Reads pages as a client does: for clients in Rust and tests.

use super::page::HEADER;
use super::tag;
use super::{Damage, Reader};
use crate::model::Value;

/// A page, unpacked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The names of the key's columns.
    pub key: Vec<String>,
    /// The rows.
    pub rows: Vec<PageRow>,
}

/// A row of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageRow {
    /// The values of its key.
    pub key: Vec<Value>,
    /// Its cells: column, version, value.
    pub cells: Vec<(String, i64, Value)>,
}

impl Page {
    /// Reads a page, and goes past it.
    ///
    /// # Errors
    /// Damage.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let length = reader.clone().u32()? as usize;
        let bytes = reader.take(length)?;
        let mut header = Reader::new_at(bytes, 4);
        let rows = header.u32()? as usize;
        let [row_table, names_at, text_at] = [header.u32()?, header.u32()?, header.u32()?].map(|at| at as usize);
        let base = header.i64()?;
        debug_assert_eq!(header.at(), HEADER);
        let text = bytes.get(text_at..).ok_or(header.damage("a page's text is outside it"))?;
        let text = std::str::from_utf8(text).map_err(|_| header.damage("a page's text is not UTF-8"))?;
        let mut text = Text { units: text.encode_utf16().collect(), at: 0 };
        let mut names = Reader::new_at(bytes, names_at);
        let count = names.count()?;
        let all = (0..count).map(|_| text.cut(names.uv()?, &names)).collect::<Result<Vec<_>, _>>()?;
        let name = |index: u64, reader: &Reader<'_>| {
            let name = usize::try_from(index).ok().and_then(|index| all.get(index));
            name.cloned().ok_or(reader.damage("a page has no such name"))
        };
        let count = names.count()?;
        let key = (0..count).map(|_| name(names.uv()?, &names)).collect::<Result<Vec<_>, _>>()?;
        let rows_text = text.at;
        let mut page = Self { key, rows: Vec::new() };
        let mut table = Reader::new_at(bytes, row_table);
        for _ in 0..rows {
            let mut row = Reader::new_at(bytes, table.u32()? as usize);
            text.at = rows_text.saturating_add(table.u32()? as usize);
            let mut unpacked = PageRow::default();
            for _ in &page.key {
                unpacked.key.push(value(&mut row, &mut text)?);
            }
            for _ in 0..row.count()? {
                let column = name(row.uv()?, &row)?;
                for _ in 0..row.count()? {
                    let version = base.wrapping_add(row.sv()?);
                    unpacked.cells.push((column.clone(), version, value(&mut row, &mut text)?));
                }
            }
            page.rows.push(unpacked);
        }
        Ok(page)
    }
}

struct Text {
    units: Vec<u16>,
    at: usize,
}

impl Text {
    fn cut(&mut self, units: u64, reader: &Reader<'_>) -> Result<String, Damage> {
        let end = usize::try_from(units).ok().and_then(|units| self.at.checked_add(units));
        let cut = end.and_then(|end| self.units.get(self.at..end)).and_then(|cut| String::from_utf16(cut).ok());
        let (cut, end) = cut.zip(end).ok_or(reader.damage("a text is outside its page"))?;
        self.at = end;
        Ok(cut)
    }
}

fn value(reader: &mut Reader<'_>, text: &mut Text) -> Result<Value, Damage> {
    Ok(match reader.u8()? {
        tag::INTEGER => Value::Integer(reader.sv()?),
        tag::DOUBLE => Value::Double(reader.f64()?),
        tag::FALSE => Value::Boolean(false),
        tag::TRUE => Value::Boolean(true),
        tag::STRING => Value::String(text.cut(reader.uv()?, reader)?),
        tag::BINARY => Value::Binary(reader.bytes()?.to_vec()),
        _ => return Err(reader.damage("a value has an unknown tag")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CellRef, KeyColumn, KeyType, RowSink, TableSchema, ValueRef};
    use crate::session::codec::PageWriter;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i64>().prop_map(Value::Integer),
            any::<f64>().prop_filter("comparable", |v| !v.is_nan()).prop_map(Value::Double),
            any::<bool>().prop_map(Value::Boolean),
            "[a-c€😀]{0,5}".prop_map(Value::String),
            proptest::collection::vec(any::<u8>(), 0..5).prop_map(Value::Binary),
        ]
    }

    fn row() -> impl Strategy<Value = PageRow> {
        // Enough names to leave the linear search, and versions at both ends.
        let name = (0u8..24).prop_map(|name| format!("n{name}€"));
        let cells = proptest::collection::btree_map((name, any::<i64>()), value(), 0..16);
        (proptest::collection::vec(value(), 2), cells).prop_map(|(key, cells)| {
            let mut cells =
                cells.into_iter().map(|((name, version), value)| (name, version, value)).collect::<Vec<_>>();
            cells.sort_by(|a, b| (&a.0, std::cmp::Reverse(a.1)).cmp(&(&b.0, std::cmp::Reverse(b.1))));
            PageRow { key, cells }
        })
    }

    proptest! {
        #[test]
        fn d2_rows_survive_a_page(rows in proptest::collection::vec(row(), 0..12), reuse in any::<bool>()) {
            let column = |name: &str| KeyColumn::new(name, KeyType::String);
            let schema = TableSchema::new(vec![column("k😀"), column("n1€")]).expect("right");
            let mut writer = PageWriter::default();
            if reuse {
                writer.start(&schema);
                writer.row(&[ValueRef::String("old"), ValueRef::Integer(0)], &[]);
                writer.clear();
            }
            writer.start(&schema);
            for row in &rows {
                let key = row.key.iter().map(Value::as_ref).collect::<Vec<_>>();
                let cell = |(column, version, value)| CellRef { column, version, value };
                let cells = row.cells.iter().map(|(c, v, value)| cell((c.as_str(), *v, value.as_ref()))).collect::<Vec<_>>();
                writer.row(&key, &cells);
            }
            let mut bytes = vec![7];
            writer.encode(&mut bytes);
            bytes.push(9);
            let mut reader = Reader::new_at(&bytes, 1);
            let page = Page::read(&mut reader).expect("whole");
            prop_assert_eq!(reader.left(), 1);
            prop_assert_eq!(page.key, ["k😀", "n1€"]);
            prop_assert_eq!(page.rows, rows);
        }

        #[test]
        fn garbage_is_no_page_but_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let mut framed = (bytes.len() as u32 + 4).to_le_bytes().to_vec();
            framed.extend(bytes.iter().map(|byte| byte & 0x3f));
            let _ = Page::read(&mut Reader::new_at(&framed, 0));
        }
    }
}
