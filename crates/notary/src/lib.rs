//! notary
