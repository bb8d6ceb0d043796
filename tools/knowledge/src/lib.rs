//! The knowledge server: retrieval over knowledge packs.
