//! The completions, asked in real shells.

use std::io::Write;
use std::process::Command;

use spur_core::options::{Tool, options};
use xtask::root;

/// A shell, told to forget its own configuration; none where it is not installed.
fn shell(name: &str, quiet: &str) -> Option<Command> {
    if Command::new(name).arg("--version").output().is_err() {
        // Written past the test's capture, so that it is seen.
        let _ =
            writeln!(std::io::stderr(), "SKIPPED: completions of {name}, which is not installed");
        return None;
    }
    let mut command = Command::new(name);
    command.arg(quiet).current_dir(root());
    Some(command)
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// What bash offers for the last of these words, which are taken apart as bash does it.
fn bash(words: &[&str]) -> Option<Vec<String>> {
    const ASK: &str = "source docs/completions/spur.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
        _spur \"$1\"; [[ -z ${COMPREPLY[0]} ]] || printf '%s\\n' \"${COMPREPLY[@]}\"";
    let text = output(shell("bash", "--norc")?.args(["-c", ASK, "bash"]).args(words));
    Some(text.lines().map(str::to_string).collect())
}

#[test]
fn bash_completes_options_values_and_commands() {
    let offers = |words: &[&str], expected: &[&str]| {
        if let Some(offered) = bash(words) {
            assert_eq!(offered, expected, "{words:?}");
        }
    };
    offers(&["spur", "conf"], &["config"]);
    offers(&["sbatch", "--accou"], &["--account="]);
    offers(&["spur", "sbatch", "--accou"], &["--account="]);
    offers(&["/usr/bin/srun", "-p", "debug", "--open"], &["--open-mode="]);
    offers(&["sbatch", "--open-mode", "a"], &["append"]);
    offers(&["sbatch", "--open-mode", "="], &["append", "truncate"]);
    offers(&["srun", "--x11", "=", "f"], &["first"]);
    // An optional value is attached; the next word is another option.
    offers(&["srun", "--x11", "--open"], &["--open-mode="]);
    // What follows the script is the script's.
    offers(&["sbatch", "job.sh", "--accou"], &[]);
    offers(&["sbatch", "--", "--accou"], &[]);
}

#[test]
fn bash_knows_every_option() {
    for tool in [Tool::Sbatch, Tool::Srun, Tool::Salloc] {
        let Some(mut offered) = bash(&[tool.name(), "--"]) else { return };
        for name in &mut offered {
            *name = name.trim_start_matches('-').trim_end_matches('=').to_string();
        }
        let mut names: Vec<&str> = options(tool).flat_map(|row| row.names()).collect();
        offered.sort();
        names.sort_unstable();
        assert_eq!(offered, names);
    }
}

#[test]
fn fish_completes_options_values_and_commands() {
    let ask = "source docs/completions/spur.fish; complete -C $argv[1]";
    let offers = |line: &str, expected: &[&str]| {
        let Some(mut fish) = shell("fish", "--no-config") else { return };
        // A description stands behind a tab.
        let text = output(fish.args(["-c", ask, line]).env("HOME", env!("CARGO_TARGET_TMPDIR")));
        let offered: Vec<&str> = text.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(offered, expected, "{line}");
    };
    offers("spur conf", &["config"]);
    offers("sbatch --accou", &["--account"]);
    offers("spur sbatch --accou", &["--account"]);
    offers("sbatch --open-mode ", &["append", "truncate"]);
    offers("spur sbatch --open-mode ", &["append", "truncate"]);
    offers("srun --x11=", &["--x11=all", "--x11=first", "--x11=last"]);
}

/// Types a line and a tab into a zsh with a terminal, until the screen shows what is expected.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty typed zsh -f -i
show() {
    local chunk screen=
    repeat 100; do
        if zpty -r -t typed chunk; then screen+=$chunk; else sleep 0.05; fi
        [[ $screen == *$1* ]] && return 0
    done
    print -r -- "no $1 in: ${(q)screen}"
    return 1
}
zpty -w typed 'stty -echo; PS1=; zle_highlight=(none); fpath=($PWD/docs/completions $fpath)'
zpty -w typed 'autoload -Uz compinit; compinit -u -D; zstyle ":completion:*" list-colors; echo re""ady'
show ready || exit 1
zpty -w -n typed "$1"$'\t'
show "$2" || exit 1
"#;

#[test]
fn zsh_completes_options_values_and_commands() {
    let offers = |line: &str, expected: &str| {
        let Some(mut zsh) = shell("zsh", "-f") else { return };
        let output = zsh.args(["-c", ZSH, "zsh", line, expected]).env("TERM", "vt100").output();
        let output = output.unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stdout));
    };
    offers("sbatch --accou", "--account=");
    offers("sbatch --acc", "Charge the job to this account.");
    offers("sbatch --open-mode=ap", "--open-mode=append");
    offers("srun --x11=f", "--x11=first");
    offers("spur sbatch --accou", "--account=");
    offers("spur conf", "spur config");
}
