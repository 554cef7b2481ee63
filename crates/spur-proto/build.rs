//! Generates the wire's types with a compiler written in Rust: no system `protoc` is needed.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let proto = Path::new("../../proto");
    println!("cargo:rerun-if-changed={}", proto.display());
    let files = protox::compile(["slurm.proto", "agent.proto"], [proto])?;
    // Records that are declared once, in spur-core, and carried as they stand.
    let records = [
        (".slurm.Limit", "::spur_core::limit::Limit"),
        (".slurm.JobSpec", "::spur_core::job::JobSpec"),
        (".slurm.JobView", "::spur_core::views::JobView"),
        (".slurm.JobNodeShare", "::spur_core::views::job::JobNodeShare"),
        (".slurm.NodeView", "::spur_core::views::NodeView"),
        (".slurm.PartitionView", "::spur_core::views::PartitionView"),
    ];
    let mut builder = tonic_prost_build::configure();
    for (message, record) in records {
        builder = builder.extern_path(message, record);
    }
    let descriptors = std::path::PathBuf::from(std::env::var("OUT_DIR")?).join("descriptors.bin");
    std::fs::write(descriptors, prost::Message::encode_to_vec(&files))?;
    builder.compile_fds(files)?;
    Ok(())
}
