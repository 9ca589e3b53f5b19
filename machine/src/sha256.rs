//! Digests of files, as documents and checkpoints have them.

use sha2::{Digest, Sha256};

/// What tells one program's file from another.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// A digest in hexadecimal digits.
pub fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
