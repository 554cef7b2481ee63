//! What is on disk is what the tables say, and can be read.

use std::io::Write;
use std::process::Command;

use xtask::{docs, root};

#[test]
fn the_documents_say_what_the_tables_say() {
    if let Err(error) = docs::check(&root()) {
        panic!("{error:#}");
    }
}

#[test]
fn no_document_ends_in_blanks() {
    for document in docs::documents() {
        assert!(document.text.ends_with('\n') && !document.text.ends_with("\n\n"));
        for (number, line) in document.text.lines().enumerate() {
            assert!(!line.ends_with(' '), "{}:{}", document.path, number + 1);
        }
    }
}

#[test]
fn manual_pages_render_without_a_warning() {
    if Command::new("groff").arg("--version").output().is_err() {
        // Written past the test's capture, so that it is seen.
        let _ = writeln!(std::io::stderr(), "SKIPPED: manual pages, there is no groff here");
        return;
    }
    for document in docs::documents().iter().filter(|document| document.path.ends_with(".1")) {
        let path = root().join(&document.path);
        let output = Command::new("groff")
            .args(["-man", "-ww", "-Tutf8", "-P-cbou"])
            .arg(path)
            .output()
            .unwrap();
        let warnings = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && warnings.is_empty(), "{}: {warnings}", document.path);
        let text = String::from_utf8_lossy(&output.stdout);
        let own: &[&str] = match document.path.rsplit('/').next() {
            // It has verbs in place of options.
            Some("spur.1") => &["COMMANDS", "ENVIRONMENT"],
            // It has neither options nor variables.
            Some("seff.1") => &["DESCRIPTION"],
            _ => &["OPTIONS", "ENVIRONMENT"],
        };
        for title in ["NAME", "SYNOPSIS", "EXIT STATUS", "SEE ALSO"].iter().chain(own) {
            assert!(text.contains(title), "{}: {title}", document.path);
        }
    }
}

/// A checklist that sends its reader to a file that has moved is worse than none.
#[test]
fn checklists_name_files_that_exist() {
    for entry in std::fs::read_dir(root().join("docs/how-to")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let quoted = text.split('`').skip(1).step_by(2);
        let ours = ["crates/", "docs/", "proto/", "xtask/"];
        for named in quoted.filter(|word| ours.iter().any(|ours| word.starts_with(ours))) {
            assert!(root().join(named).exists(), "{}: {named}", path.display());
        }
    }
}
