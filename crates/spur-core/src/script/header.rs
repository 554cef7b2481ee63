//! Which scripts `sbatch` takes, and what it says about the others.

use crate::options::OptionError;

/// Refuses what is no batch script. The bytes are the whole script.
pub fn check(script: &[u8]) -> Result<(), OptionError> {
    let text_ends = script.iter().position(|byte| *byte == 0).unwrap_or(script.len());
    let text = &script[..text_ends];
    let refuse = |message: &str| Err(OptionError::error(message, 1));
    if script.is_empty() {
        return refuse("Batch script is empty!");
    }
    if text.iter().all(u8::is_ascii_whitespace) {
        return refuse("Batch script contains only whitespace!");
    }
    if !text.starts_with(b"#!") {
        return refuse(
            "This does not look like a batch script.  The first\n\
             line must start with #! followed by the path to an interpreter.\n\
             For instance: #!/bin/sh",
        );
    }
    if text_ends < script.len() {
        return refuse(
            "The Slurm controller does not allow scripts that\ncontain a NULL character '\\0'.",
        );
    }
    if text.windows(2).any(|pair| pair == b"\r\n") {
        return refuse(
            "Batch script contains DOS line breaks (\\r\\n)\n\
             instead of expected UNIX line breaks (\\n).",
        );
    }
    Ok(())
}

/// The script that `--wrap=COMMAND` stands for.
pub fn wrap(command: &str) -> String {
    format!("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{command}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_script_is_refused_in_slurms_words() {
        for (script, line) in [
            (&b"#!/bin/sh\ntrue\n"[..], ""),
            (b"#!", ""),
            (b"", "Batch script is empty!"),
            (b" \n\t\n", "Batch script contains only whitespace!"),
            (b"\0#!/bin/sh\n", "Batch script contains only whitespace!"),
            (b"true\n", "This does not look like a batch script.  The first"),
            (b"\n#!/bin/sh\n", "This does not look like a batch script.  The first"),
            (b"#!/bin/sh\r\ntrue\r\n", "Batch script contains DOS line breaks (\\r\\n)"),
            (b"#!/bin/sh\ntrue\r\n", "Batch script contains DOS line breaks (\\r\\n)"),
            (b"#!/bin/sh\n\0", "The Slurm controller does not allow scripts that"),
        ] {
            let refusal = check(script).err().map(|error| (error.exit, error.message));
            let first = refusal.map(|(exit, message)| {
                assert_eq!(exit, 1);
                message.lines().next().unwrap_or("").to_owned()
            });
            assert_eq!(first.unwrap_or_default(), line, "{script:?}");
        }
    }
}
