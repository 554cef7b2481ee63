//! `cargo xtask CHORE`.

use anyhow::{Result, bail};
use xtask::{bench, conformance, docs, fuzz, layers, mutations, replay, root, vm};

const USAGE: &str = "\
cargo xtask layers [--write]   print which crate knows which, or write it into ARCHITECTURE.md
cargo xtask docs [--check]     write the documents that follow from the tables, or compare them
cargo xtask conformance --golden DIR [--live SLURM_CONF] [--only TEXT] [--verbose]
                               play recorded command lines on Spur and compare with Slurm's answers
";

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["layers"] => print!("{}", layers::table(&layers::Workspace::read(&root())?)),
        ["layers", "--write"] => layers::write(&root())?,
        ["docs"] => {
            for path in docs::write(&root())? {
                println!("{path}");
            }
        }
        ["docs", "--check"] => docs::check(&root())?,
        ["conformance", words @ ..] => {
            conformance::run(&conformance::Request::read(words)?)?;
        }
        ["bench", rest @ ..] => bench::run(rest)?,
        ["replay", rest @ ..] => replay::run(rest)?,
        ["vm-test", rest @ ..] => vm::run(rest)?,
        ["fuzz", rest @ ..] => fuzz::run(rest)?,
        ["mutations", rest @ ..] => mutations::run(rest)?,
        ["help" | "--help" | "-h"] => {
            let others = [bench::USAGE, replay::USAGE, vm::USAGE, fuzz::USAGE, mutations::USAGE];
            print!("{USAGE}{}", others.concat())
        }
        _ => {
            bail!("there is no such chore; see cargo xtask help")
        }
    }
    Ok(())
}
