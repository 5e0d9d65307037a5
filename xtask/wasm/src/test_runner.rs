//! Runs a wasm test binary in a browser: Cargo's runner for wasm32, set by `cargo xtask test`.

use anyhow::Result;

fn main() -> Result<()> {
    // `cargo test --quiet` hands its flag on, which wasm-bindgen's runner does not know.
    let arguments = std::env::args_os().filter(|argument| argument != "--quiet");
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(arguments)
}
