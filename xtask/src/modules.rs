//! `cargo xtask size --modules`: the bytes of the wasm file by module of the engine and by dependency.

use crate::run::{Failure, target};
use crate::wasm;
use std::collections::HashMap;
use std::fs;

/// The part that wasm-bindgen reads and removes.
const DESCRIPTIONS: [&str; 2] = ["__wbindgen_describe", "..describe.."];

/// Modules with less than this many bytes share one line.
const LEAST: usize = 500;

/// Prints the code size of each module before wasm-opt, which takes a tenth off and leaves no names.
pub fn print() -> Result<(), Failure> {
    let file = fs::read(target().join("wasm32-unknown-unknown/release/tabstore.wasm"))?;
    let broken = || Failure::new("rustc writes otherwise than expected: mend xtask/src/wasm.rs");
    let (imported, bodies) = wasm::functions(&file).ok_or_else(broken)?;
    let names = wasm::names(&file).ok_or_else(broken)?;
    let mut modules: HashMap<String, (usize, usize)> = HashMap::new();
    for (at, body) in bodies.iter().enumerate() {
        let name = names.get(&(imported + at)).copied().unwrap_or_default();
        if !DESCRIPTIONS.iter().any(|mark| name.contains(mark)) {
            let (bytes, functions) = modules.entry(module(name)).or_default();
            *bytes += body.len();
            *functions += 1;
        }
    }
    let mut modules: Vec<_> = modules.into_iter().collect();
    modules.sort_by_key(|(name, (bytes, _))| (usize::MAX - bytes, name.clone()));
    let (large, small): (Vec<_>, Vec<_>) = modules.iter().partition(|(_, (bytes, _))| *bytes >= LEAST);
    let sum = |of: &[&(String, (usize, usize))]| of.iter().fold((0, 0), |sum, it| (sum.0 + it.1.0, sum.1 + it.1.1));
    let line =
        |(bytes, functions): (usize, usize), name: &str| println!("{bytes:>9} bytes {functions:>5} functions  {name}");
    large.iter().for_each(|(name, size)| line(*size, name));
    line(sum(&small), "others");
    line(sum(&modules.iter().collect::<Vec<_>>()), "in all");
    Ok(())
}

/// The module of a function by its symbol. The symbol of a dependency's generic function does not name its type
/// arguments, except for `drop_in_place`.
fn module(symbol: &str) -> String {
    if let Some(mut rest) = symbol.strip_prefix("_ZN") {
        let mut segments = Vec::new();
        while let Some((segment, after)) = segment(rest) {
            segments.push(decoded(segment));
            rest = after;
        }
        return path(&segments);
    }
    // The standard library's own functions have the newer kind of symbol. There a crate is `Cs`, a hash of its version,
    // and its name.
    if symbol.starts_with("_R") {
        let krate = symbol.split("Cs").skip(1).find_map(|after| segment(after.split_once('_')?.1));
        return krate.map_or_else(|| "?".to_owned(), |(krate, _)| krate.to_owned());
    }
    if symbol.is_empty() { "?".to_owned() } else { "wasm-bindgen's exports and the linker's".to_owned() }
}

/// A segment, which begins with its length, and the rest.
fn segment(text: &str) -> Option<(&str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    text[digits..].split_at_checked(text[..digits].parse().ok()?)
}

/// A segment in Rust's notation.
fn decoded(segment: &str) -> String {
    let segment = segment.strip_prefix('_').filter(|it| it.starts_with('$')).unwrap_or(segment);
    let marks =
        [("..", "::"), ("$LT$", "<"), ("$GT$", ">"), ("$RF$", "&"), ("$u20$", " "), ("$C$", ","), ("$u7b$", "{")];
    marks.into_iter().fold(segment.to_owned(), |text, (mark, meant)| text.replace(mark, meant))
}

/// The module of a function: the crate and the path up to a type, an `impl` or the function.
fn path(segments: &[String]) -> String {
    // The last segment is a hash.
    let segments = &segments[..segments.len().saturating_sub(1)];
    let of_type = |text: &str| {
        // `<a::b::Type as Trait>` and `drop_in_place<a::b::Type>` belong to `a::b`. A type without a path belongs to the trait.
        let mut paths =
            text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').filter(|it| it.contains("::"));
        let names: Vec<String> = paths
            .find(|it| !it.starts_with("core::") && !it.starts_with("alloc::"))?
            .split("::")
            .map(str::to_owned)
            .collect();
        Some(names)
    };
    let first = segments.first().map_or("", String::as_str);
    let dropped = segments.iter().find(|it| it.starts_with("drop_in_place<"));
    let names = match dropped.map(String::as_str).or(first.starts_with('<').then_some(first)).and_then(of_type) {
        Some(names) => names,
        None if first.starts_with('<') => first.trim_start_matches(['<', '&']).split("::").map(str::to_owned).collect(),
        None => segments.to_vec(),
    };
    let is_module =
        |name: &&String| name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') && !name.contains(['<', '{']);
    let modules: Vec<&str> = names.iter().take_while(is_module).map(String::as_str).collect();
    // A function outside an `impl` is the last segment.
    let plain = modules.len() == names.iter().filter(|name| !name.starts_with('{')).count();
    let modules = &modules[..modules.len() - usize::from(plain && modules.len() > 1)];
    if modules.is_empty() { "?".to_owned() } else { modules.join("::") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_tells_its_module() {
        for (symbol, expected) in [
            ("_ZN8tabstore6format7columns5split5split17h0123456789abcdefE", "tabstore::format::columns::split"),
            (
                "_ZN8tabstore4wasm6engine5Inner4call28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
                "tabstore::wasm::engine",
            ),
            (
                "_ZN8tabstore6engine7recover51_$LT$impl$u20$tabstore..engine..Engine$LT$S$GT$$GT$4open17h0123456789abcdefE",
                "tabstore::engine::recover",
            ),
            (
                "_ZN78_$LT$tabstore..wasm..idb..IdbStorage$u20$as$u20$tabstore..storage..Storage$GT$6commit17h0123456789abcdefE",
                "tabstore::wasm::idb",
            ),
            ("_ZN4core3ptr43drop_in_place$LT$tabstore..error..Error$GT$17h0123456789abcdefE", "tabstore::error"),
            ("_ZN5alloc2rc15Rc$LT$T$C$A$GT$9drop_slow17h0123456789abcdefE", "alloc::rc"),
            (
                "_RNvMs0_NtCsjqx8TIyZbP9_8dlmalloc8dlmallocINtB5_8DlmallocNtNtB7_3sys6SystemE6mallocCsebHcaeoSrxy_3std",
                "dlmalloc",
            ),
            ("main", "wasm-bindgen's exports and the linker's"),
        ] {
            assert_eq!(module(symbol), expected, "{symbol}");
        }
    }
}
