//! Reads a wasm file: its sections, the code of its functions, and their names.

use std::collections::HashMap;

pub const CUSTOM: u8 = 0;
const IMPORTS: u8 = 2;
const CODE: u8 = 10;

/// The kinds of imports.
const FUNCTION: u8 = 0;
const TABLE: u8 = 1;
const MEMORY: u8 = 2;
const GLOBAL: u8 = 3;

/// The subsection with the names of functions.
const FUNCTION_NAMES: u8 = 1;

/// The number of imported functions, and the code of the file's own.
pub fn functions(wasm: &[u8]) -> Option<(usize, Vec<&[u8]>)> {
    let (mut imported, mut bodies) = (0, Vec::new());
    for (kind, mut section) in sections(wasm)? {
        match kind {
            IMPORTS => {
                for _ in 0..read_number(&mut section)? {
                    read_bytes(&mut section)?;
                    read_bytes(&mut section)?;
                    let (&kind, after) = section.split_first()?;
                    section = after;
                    match kind {
                        FUNCTION => {
                            read_number(&mut section)?;
                            imported += 1;
                        }
                        TABLE | MEMORY => {
                            section = section.get(usize::from(kind == TABLE)..)?;
                            let has_most = read_number(&mut section)? & 1 != 0;
                            read_number(&mut section)?;
                            if has_most {
                                read_number(&mut section)?;
                            }
                        }
                        GLOBAL => section = section.get(2..)?,
                        _ => return None,
                    }
                }
            }
            CODE => {
                for _ in 0..read_number(&mut section)? {
                    bodies.push(read_bytes(&mut section)?);
                }
            }
            _ => {}
        }
    }
    Some((imported, bodies))
}

/// The names of a wasm file's functions by their numbers. Imported functions count first.
pub fn names(wasm: &[u8]) -> Option<HashMap<usize, &str>> {
    let mut names = HashMap::new();
    for (kind, mut section) in sections(wasm)? {
        if kind != CUSTOM || read_bytes(&mut section)? != b"name" {
            continue;
        }
        while let [kind, after @ ..] = section {
            section = after;
            let mut part = read_bytes(&mut section)?;
            if *kind != FUNCTION_NAMES {
                continue;
            }
            for _ in 0..read_number(&mut part)? {
                let function = read_number(&mut part)?;
                names.insert(function, str::from_utf8(read_bytes(&mut part)?).ok()?);
            }
        }
    }
    Some(names)
}

fn sections(wasm: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let mut rest = wasm.get(8..)?;
    let mut sections = Vec::new();
    while let [kind, after @ ..] = rest {
        rest = after;
        sections.push((*kind, read_bytes(&mut rest)?));
    }
    Some(sections)
}

fn read_number(bytes: &mut &[u8]) -> Option<usize> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

fn read_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = read_number(bytes)?;
    let (read, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(read)
}
