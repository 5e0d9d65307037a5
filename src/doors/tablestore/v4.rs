//! The parts of the fourth kind of signature that need SHA-256.
//!
//! All of it is a gate of [`Module::Access`](crate::modules::Module::Access), which has that digest.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

fn hmac_sha256(key: &[u8], text: &[u8]) -> [u8; 32] {
    // Every length of a key is right.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    mac.update(text);
    mac.finalize().into_bytes().into()
}

/// The bytes of the key that signs on one day in one region. Their base64, as a text, is the key.
#[inline(never)]
pub(super) fn key(secret: &str, day: &str, region: &str) -> [u8; 32] {
    let first = hmac_sha256(&[b"aliyun_v4", secret.as_bytes()].concat(), day.as_bytes());
    ["ots", "aliyun_v4_request"]
        .into_iter()
        .fold(hmac_sha256(&first, region.as_bytes()), |key, text| hmac_sha256(&key, text.as_bytes()))
}

/// The bytes of a signature.
#[inline(never)]
pub(super) fn signature(key: &str, text: &str) -> [u8; 32] {
    hmac_sha256(key.as_bytes(), text.as_bytes())
}
