#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tabstore_fuzz::tablestore(data));
