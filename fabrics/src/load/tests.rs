//! Networks under load against what the book says they carry.
