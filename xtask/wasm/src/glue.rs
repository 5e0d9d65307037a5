//! Makes the JavaScript around a wasm file: `tabstore-glue IN.wasm OUT_DIR`. Functions keep their names: wasm-opt sorts
//! by them, and takes them away unless told otherwise.

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let input = arguments.next().context("the wasm file is missing")?;
    let output = arguments.next().context("the output folder is missing")?;
    Bindgen::new()
        .input_path(input)
        .out_name("tabstore")
        .web(true)?
        // The package names the wasm file itself, once; a second `new URL` makes bundlers ship a second copy.
        .omit_default_module_path(true)
        .typescript(true)
        .remove_producers_section(true)
        .generate(output)
}
