//! Generates the wire's types with a compiler written in Rust: no system `protoc` is needed.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let proto = Path::new("../../proto");
    println!("cargo:rerun-if-changed={}", proto.display());
    let sources = [
        "slurm.proto",
        "accounting.proto",
        "agent.proto",
        "raft_internal.proto",
        "step.proto",
        "step_io.proto",
    ];
    let files = protox::compile(sources, [proto])?;
    // One greeting in a thousand messages must not make them all large.
    let mut builder = tonic_prost_build::configure().boxed(".spur.internal.Hello.inventory");
    for (message, record) in records(&files) {
        builder = builder.extern_path(message, record);
    }
    let descriptors = std::path::PathBuf::from(std::env::var("OUT_DIR")?).join("descriptors.bin");
    std::fs::write(descriptors, prost::Message::encode_to_vec(&files))?;
    builder.compile_fds(files)?;
    Ok(())
}

/// Messages that are declared once, in spur-core, and carried as they stand.
fn records(files: &prost_types::FileDescriptorSet) -> Vec<(String, String)> {
    let mut records = Vec::new();
    for file in &files.file {
        let module = match file.name() {
            "job.proto" => "::spur_core::job::spec",
            "step.proto" => "::spur_core::step",
            "view.proto" => "::spur_core::views",
            "node.proto" => "::spur_core::node",
            "slurm.proto" => {
                let record = "::spur_core::state::Assignment".to_string();
                records.push((".slurm.Assignment".to_string(), record));
                continue;
            }
            _ => continue,
        };
        for message in &file.message_type {
            let record = match message.name() {
                "Limit" => "::spur_core::limit::Limit".to_string(),
                "IdSet" => "::spur_core::idset::IdSet".to_string(),
                "GresShare" => "::spur_core::job::GresShare".to_string(),
                name => format!("{module}::{name}"),
            };
            records.push((format!(".slurm.{}", message.name()), record));
        }
    }
    records
}
