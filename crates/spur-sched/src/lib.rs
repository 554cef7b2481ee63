//! Who runs next.
