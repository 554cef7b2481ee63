//! Commands live for a few milliseconds, and the tables in them are full of addresses. At a fixed place they are
//! in the file as they are needed; otherwise every start has the loader fill in some ten thousands of them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-no-pie");
}
