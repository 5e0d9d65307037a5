//! Digests of the protocol, and their texts.

use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest as _, Md5};
use sha1::Sha1;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The MD5 of a body, as headers have it.
pub(super) fn content_md5(body: &[u8]) -> String {
    base64(&Md5::digest(body))
}

/// The HMAC-SHA1 of a text, as headers have it.
pub(super) fn hmac_sha1(key: &str, text: &str) -> String {
    // Every length of a key is right.
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(key.as_bytes()) else { return String::new() };
    mac.update(text.as_bytes());
    base64(&mac.finalize().into_bytes())
}

/// Bytes as base64. What the crate has would be in the core: the modules of both doors would use it.
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(4 * bytes.len().div_ceil(3));
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..4 {
            let letter = LETTERS.get(bits as usize >> (18 - 6 * at) & 63).copied().unwrap_or_default();
            text.push(if at > three.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

/// Compares in a time that tells nothing of where they differ.
pub(super) fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::base64::Engine as _;
    use ::base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    #[test]
    fn an_empty_body_has_the_known_digest() {
        assert_eq!(content_md5(b""), "1B2M2Y8AsgTpgAmY7PhCfg==");
        // The test cases of RFC 2202.
        assert_eq!(hmac_sha1("Jefe", "what do ya want for nothing?"), "7/zfauXrL6LSdBbV8YTfnCWafHk=");
    }

    proptest! {
        #[test]
        fn base64_is_written_as_elsewhere(bytes in proptest::collection::vec(any::<u8>(), 0..9)) {
            prop_assert_eq!(base64(&bytes), STANDARD.encode(&bytes));
        }
    }
}
