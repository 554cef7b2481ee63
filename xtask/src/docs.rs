//! The documents that are printed from the tables of `spur-core`.

mod environment;
mod errors;
mod fields;
mod options;
mod page;
mod reasons;
mod rights;
mod states;

use std::path::Path;

use anyhow::{Context, Result, bail};
use spur_core::config;
use spur_core::options::Tool;

use crate::{completions, man};

/// A printed file.
pub struct Document {
    /// Where it is, below the root.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// Every printed file.
pub fn documents() -> Vec<Document> {
    let mut documents = vec![
        document("docs/admin/configuration.md", config::document()),
        document("docs/admin/rights.md", rights::page()),
        document("docs/compat/environment.md", environment::page()),
        document("docs/compat/errors.md", errors::page()),
        document("docs/compat/fields.md", fields::page()),
        document("docs/compat/options.md", options::page()),
        document("docs/compat/reasons.md", reasons::page()),
        document("docs/compat/states.md", states::page()),
        document("docs/completions/_spur", completions::zsh()),
        document("docs/completions/spur.bash", completions::bash()),
        document("docs/completions/spur.fish", completions::fish()),
    ];
    for tool in [Tool::Sbatch, Tool::Srun, Tool::Salloc] {
        documents.push(document(&format!("docs/man/{}.1", tool.name()), man::page(tool)));
    }
    for tool in spur_core::tools::TOOLS {
        documents.push(document(&format!("docs/man/{}.1", tool.name), man::tools::page(tool)));
    }
    documents.push(document("docs/man/spur.1", man::commands::spur()));
    documents.push(document("docs/man/seff.1", man::commands::seff()));
    documents
}

fn document(path: &str, text: String) -> Document {
    Document { path: path.into(), text }
}

/// Writes what differs, and tells which files did.
pub fn write(root: &Path) -> Result<Vec<String>> {
    let mut written = Vec::new();
    for document in stale(root) {
        let path = root.join(&document.path);
        let directory = path.parent().context("a document lies in a directory")?;
        std::fs::create_dir_all(directory)?;
        std::fs::write(&path, document.text)
            .with_context(|| format!("could not write {}", document.path))?;
        written.push(document.path);
    }
    Ok(written)
}

/// Whether every file says what the tables say.
pub fn check(root: &Path) -> Result<()> {
    let paths: Vec<String> = stale(root).into_iter().map(|document| document.path).collect();
    if !paths.is_empty() {
        bail!("not as the tables have it; run: cargo xtask docs\n  {}", paths.join("\n  "));
    }
    Ok(())
}

/// The files on disk that differ from what would be printed.
fn stale(root: &Path) -> Vec<Document> {
    let differs = |document: &Document| {
        std::fs::read_to_string(root.join(&document.path)).ok().as_ref() != Some(&document.text)
    };
    documents().into_iter().filter(differs).collect()
}
