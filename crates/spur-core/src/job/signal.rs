//! Signals by name or number, and `--signal=[R][B:]USR1@60`.

use crate::number;

/// Seconds before the end of a job at which it is told, unless said.
pub const DEFAULT_SECS: u16 = 60;

/// Names that Slurm knows, with Linux's numbers. Others are given by number.
static NAMES: [(&str, u16); 16] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ABRT", 6),
    ("KILL", 9),
    ("ALRM", 14),
    ("TERM", 15),
    ("USR1", 10),
    ("USR2", 12),
    ("URG", 23),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("XCPU", 24),
];

/// What `strsignal(3)` calls signals that end a process.
static TEXTS: [(u16, &str); 22] = [
    (1, "Hangup"),
    (2, "Interrupt"),
    (3, "Quit"),
    (4, "Illegal instruction"),
    (5, "Trace/breakpoint trap"),
    (6, "Aborted"),
    (7, "Bus error"),
    (8, "Floating point exception"),
    (9, "Killed"),
    (10, "User defined signal 1"),
    (11, "Segmentation fault"),
    (12, "User defined signal 2"),
    (13, "Broken pipe"),
    (14, "Alarm clock"),
    (15, "Terminated"),
    (16, "Stack fault"),
    (24, "CPU time limit exceeded"),
    (25, "File size limit exceeded"),
    (26, "Virtual timer expired"),
    (27, "Profiling timer expired"),
    (30, "Power failure"),
    (31, "Bad system call"),
];

/// A signal in words: `Killed`.
pub fn text(number: u16) -> String {
    let known = TEXTS.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("Unknown signal {number}"), |(_, text)| text.to_string())
}

/// A signal as a job's reason has it: `9(Killed)`, `11(Segmentation_fault)`.
pub fn described(number: u16) -> String {
    format!("{number}({})", text(number).replace(' ', "_"))
}

/// A signal to send before a job's time is up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct EarlySignal {
    /// The signal's number.
    #[prost(uint32, tag = "1")]
    pub signal: u32,
    /// How long before the end.
    #[prost(uint32, tag = "2")]
    pub secs_before_end: u32,
    /// `B:` only the batch shell is told.
    #[prost(bool, tag = "3")]
    pub batch_only: bool,
    /// `R:` the job may start where a reservation will cut it short, and is told then.
    #[prost(bool, tag = "4")]
    pub at_reservation: bool,
}

/// Neither a known name nor a number. `sbatch` says `Invalid --signal specification`, `scancel`
/// says `Unknown job signal: NAME`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown signal `{0}'")]
pub struct Error(pub String);

/// Reads a signal: `USR1`, `sigusr1`, `10`. Blanks around it are allowed.
pub fn parse(text: &str) -> Result<u16, Error> {
    let error = || Error(text.to_owned());
    let name = text.trim_matches(|blank: char| blank.is_ascii_whitespace());
    if let Some(number) = number::whole(name) {
        // Slurm keeps 16 bits of the number.
        return Some(number as u16).filter(|number| *number != 0).ok_or_else(error);
    }
    let bare = match name.get(..3) {
        Some(prefix) if prefix.eq_ignore_ascii_case("SIG") => &name[3..],
        _ => name,
    };
    let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(bare));
    known.map(|(_, number)| *number).ok_or_else(error)
}

/// Reads `--signal`: `USR1`, `B:USR1@120`, `RB:10@30`.
pub fn parse_early(text: &str) -> Result<EarlySignal, Error> {
    let error = || Error(text.to_owned());
    let mut rest = text;
    let mut flag = |letter: [char; 2]| {
        let after = rest.strip_prefix(letter);
        rest = after.unwrap_or(rest);
        after.is_some()
    };
    // In either order; Slurm does not miss the colon.
    let (before, batch_only, after) = (flag(['R', 'r']), flag(['B', 'b']), flag(['R', 'r']));
    flag([':', ':']);
    let (signal, secs) = match rest.split_once('@') {
        None => (rest, DEFAULT_SECS),
        Some((signal, "")) => (signal, 0),
        Some((signal, secs)) => {
            let secs = number::whole(secs).and_then(|secs| u16::try_from(secs).ok());
            (signal, secs.ok_or_else(error)?)
        }
    };
    Ok(EarlySignal {
        signal: parse(signal).map_err(|_| error())?.into(),
        secs_before_end: secs.into(),
        batch_only,
        at_reservation: before || after,
    })
}

/// The name of a signal, without `SIG`, if Slurm has one.
pub fn name(number: u16) -> Option<&'static str> {
    NAMES.iter().find(|(_, known)| *known == number).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[rustfmt::skip]
    static ACCEPTED: &[&str] = &[
        "USR1", "usr1", "SIGUSR1", "SigUsr1", "10", "USR1@60", "10@60", "B:USR1@60", "R:USR1@60",
        "RB:USR1", "BR:USR1", "RB:USR1@60", "b:USR1", "r:USR1@5", "USR1@", "USR1@0", "USR1@65535",
        "-1", "1", "31", "32", "63", "64", "65", "127", "128", "65535", "99999", "TERM", "KILL",
        "INT", "HUP", "STOP", "CONT", "QUIT", "ALRM", "USR2", "TSTP", "TTIN", "TTOU", "URG",
        "BUSR1@60", "RB2@3", "RB:2 @3", "BUSR1", ":USR1@60", "R1", ":USR1", "RBR2@3", "RR:USR1",
        "rbUSR1", "B: USR1", "10 ", "B10@5", "BR2", "XCPU", "ABRT", " USR1", "USR1 ", "USR1 @60", "USR1@ 60", "USR1@+60", "B:10@5", "010",
    ];

    #[rustfmt::skip]
    static REFUSED: &[&str] = &[
        "R", "RBR", "BRB:USR1", "B :USR1", " B:USR1", "10 @5 ", "@", "RB", ":", "::USR1", "USR1@5 ",
        "R:B:USR1", "BB:USR1", "B:", "B", "@60", "USR1@a", "USR1@-1", "USR1@65536", "USR1@99999",
        "USR1@1:30", "0", "65536", "BOGUS", "", "PIPE", "SEGV", "CHLD", "WINCH", "XFSZ", "PROF",
        "VTALRM", "PWR", "SYS", "IO", "POLL", "BUS", "FPE", "ILL", "TRAP", "STKFLT", "RTMIN",
        "RTMIN+1", "RTMAX", "SIGRTMIN", "EXIT", "NULL", "USR1@60x", "10x", "X:USR1",
        "B:USR1@60@70", "0x0a", "USR1x", "USR", "xUSR1", "SIG", "SIGSIGUSR1", "USR11", "TER",
        "USR1x@5", "KILLX", "T ERM",
    ];

    #[test]
    fn signals_are_accepted_and_refused_as_slurm_does() {
        for text in ACCEPTED {
            assert!(parse_early(text).is_ok(), "{text:?}");
        }
        for text in REFUSED {
            assert_eq!(parse_early(text), Err(Error((*text).to_owned())));
        }
    }

    #[test]
    fn every_part_is_read() {
        let early = |signal, secs_before_end, batch_only, at_reservation| {
            Ok(EarlySignal { signal, secs_before_end, batch_only, at_reservation })
        };
        assert_eq!(parse_early("USR1"), early(10, 60, false, false));
        assert_eq!(parse_early("B:TERM@120"), early(15, 120, true, false));
        assert_eq!(parse_early("r:2@5"), early(2, 5, false, true));
        assert_eq!(parse_early("RB:SIGHUP@1"), early(1, 1, true, true));
    }

    proptest! {
        #[test]
        fn names_and_numbers_agree(number: u16) {
            if let Some(name) = name(number) {
                prop_assert_eq!(parse(name), Ok(number));
            }
            prop_assert_eq!(parse(&number.to_string()).is_ok(), number != 0);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[RB]{0,2}:?[A-Z0-9]{0,5}@?[0-9]{0,6}|\\PC{0,12}") {
            let _ = parse_early(&text);
        }
    }
}
