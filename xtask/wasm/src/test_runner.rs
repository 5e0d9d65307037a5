//! Runs a wasm test binary in a browser: Cargo's runner for wasm32, set by `cargo xtask test`.

fn main() -> anyhow::Result<()> {
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os())
}
