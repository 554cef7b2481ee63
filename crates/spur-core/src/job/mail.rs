//! Which events of a job are told by mail: `--mail-type=BEGIN,END,FAIL`.

use std::fmt;

/// A set of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MailTypes(pub u32);

/// Names in the order in which Slurm writes them, with its bits.
static NAMES: [(&str, u32); 11] = [
    ("ARRAY_TASKS", 1 << 9),
    ("INVALID_DEPEND", 1 << 10),
    ("BEGIN", 1 << 0),
    ("END", 1 << 1),
    ("FAIL", 1 << 2),
    ("REQUEUE", 1 << 3),
    ("STAGE_OUT", 1 << 8),
    ("TIME_LIMIT_50", 1 << 7),
    ("TIME_LIMIT_80", 1 << 6),
    ("TIME_LIMIT_90", 1 << 5),
    ("TIME_LIMIT", 1 << 4),
];

/// Whether mail may be sent there. The mail program is run as the controller's user, with this as an argument: what
/// it could take for an option, a file or a command to pipe into is no address, and neither is what a shell
/// behind it would read as more than a word.
pub fn is_address(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "@._+-=,:%/!#*?^{}~".contains(c);
    let begins = |part: &str| part.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    text.chars().all(plain) && text.split(',').all(begins)
}

/// No known event is named. Slurm's tools say `Invalid --mail-type specification`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no mail type in `{0}'")]
pub struct Error(pub String);

impl MailTypes {
    /// No mail.
    pub const NONE: MailTypes = MailTypes(0);
    /// `BEGIN`: the job starts.
    pub const BEGIN: MailTypes = MailTypes(1 << 0);
    /// `END`: the job ends.
    pub const END: MailTypes = MailTypes(1 << 1);
    /// `FAIL`: the job fails.
    pub const FAIL: MailTypes = MailTypes(1 << 2);
    /// `REQUEUE`: the job goes back to the queue.
    pub const REQUEUE: MailTypes = MailTypes(1 << 3);
    /// `TIME_LIMIT`: the time is up.
    pub const TIME_LIMIT: MailTypes = MailTypes(1 << 4);
    /// `TIME_LIMIT_90`: nine tenths of the time are up.
    pub const TIME_LIMIT_90: MailTypes = MailTypes(1 << 5);
    /// `TIME_LIMIT_80`: four fifths of the time are up.
    pub const TIME_LIMIT_80: MailTypes = MailTypes(1 << 6);
    /// `TIME_LIMIT_50`: half the time is up.
    pub const TIME_LIMIT_50: MailTypes = MailTypes(1 << 7);
    /// `STAGE_OUT`: burst buffers are staged out.
    pub const STAGE_OUT: MailTypes = MailTypes(1 << 8);
    /// `ARRAY_TASKS`: for each task of an array, not for the array as one.
    pub const ARRAY_TASKS: MailTypes = MailTypes(1 << 9);
    /// `INVALID_DEPEND`: the dependency can never hold.
    pub const INVALID_DEPEND: MailTypes = MailTypes(1 << 10);
    /// `ALL`, which leaves out shares of the time limit and array tasks.
    pub const ALL: MailTypes = MailTypes(0b101_0000_1111);

    /// Whether every event of `other` is in this set.
    pub fn contains(self, other: MailTypes) -> bool {
        self.0 & other.0 == other.0
    }

    /// The names of the events.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().filter(move |(_, bit)| self.0 & bit != 0).map(|(name, _)| *name)
    }
}

/// Reads `--mail-type`. Words that name no event are passed over while one does, and `NONE`
/// anywhere is none at all; that is how Slurm reads it.
pub fn parse(text: &str) -> Result<MailTypes, Error> {
    let mut read = None;
    for word in text.split(',') {
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        if is("NONE") {
            return Ok(MailTypes::NONE);
        }
        let known = NAMES.iter().find(|(name, _)| is(name)).map(|(_, bit)| *bit);
        let bits = if is("ALL") { Some(MailTypes::ALL.0) } else { known };
        read = bits.map(|bits| bits | read.unwrap_or(0)).or(read);
    }
    read.map(MailTypes).ok_or_else(|| Error(text.to_owned()))
}

impl fmt::Display for MailTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("NONE");
        }
        f.write_str(&self.names().collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_mail_program_would_take_for_more_than_an_address_is_none() {
        for good in ["alice", "alice@example.org", "a.b+c@x.y,_bob", "björn", "x!y%z@host"] {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "",
            "-oX",
            "alice,-S x=y",
            "|sh",
            "alice,|sh",
            "/etc/passwd",
            "a,/etc/x",
            "./x",
            "+x",
            "a b",
            "a;id",
            "a$(id)",
            "a`id`",
            "a\nbcc:b",
            "a\0",
            "~/x",
            "a,",
            "<a@b>",
            "\"a\"@b",
            "&x",
        ] {
            assert!(!is_address(bad), "{bad:?}");
        }
    }

    /// `sbatch --mail-type=…` and the job's `MailType`.
    #[rustfmt::skip]
    static ACCEPTED: &[(&str, &str)] = &[
        ("NONE", "NONE"), ("BEGIN", "BEGIN"), ("END", "END"), ("FAIL", "FAIL"),
        ("REQUEUE", "REQUEUE"), ("ALL", "INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT"),
        ("INVALID_DEPEND", "INVALID_DEPEND"), ("STAGE_OUT", "STAGE_OUT"),
        ("TIME_LIMIT", "TIME_LIMIT"), ("TIME_LIMIT_90", "TIME_LIMIT_90"),
        ("TIME_LIMIT_80", "TIME_LIMIT_80"), ("TIME_LIMIT_50", "TIME_LIMIT_50"),
        ("ARRAY_TASKS", "ARRAY_TASKS"), ("begin", "BEGIN"), ("Begin,End", "BEGIN,END"),
        ("BEGIN,END,FAIL", "BEGIN,END,FAIL"), ("BEGIN,", "BEGIN"), (",BEGIN", "BEGIN"),
        ("BEGIN,BOGUS", "BEGIN"), ("BEGIN, END", "BEGIN"), ("BOGUS,BEGIN", "BEGIN"),
        ("BEGIN,BOGUS,END", "BEGIN,END"),
        ("ALL,ARRAY_TASKS", "ARRAY_TASKS,INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT"),
        ("NONE,BEGIN", "NONE"), ("BEGIN,NONE", "NONE"), ("all,none", "NONE"),
        ("ALL,TIME_LIMIT_50", "INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT,TIME_LIMIT_50"),
        ("TIME_LIMIT,TIME_LIMIT_90,TIME_LIMIT_80,TIME_LIMIT_50",
         "TIME_LIMIT_50,TIME_LIMIT_80,TIME_LIMIT_90,TIME_LIMIT"),
        ("END,END", "END"),
    ];

    #[test]
    fn mail_types_are_read_as_slurm_reads_them() {
        for (text, shown) in ACCEPTED {
            assert_eq!(parse(text).unwrap().to_string(), *shown, "{text:?}");
        }
        for text in ["BOGUS", "BEGIN END", "", " ", "XX,YY", ",", "BEGINX", "BEGIN;END"] {
            assert_eq!(parse(text), Err(Error(text.to_owned())));
        }
    }

    #[test]
    fn every_name_has_a_bit_of_its_own() {
        let all = NAMES.iter().fold(0, |bits, (_, bit)| bits ^ bit);
        assert_eq!(all, (1 << NAMES.len()) - 1);
        assert!(!MailTypes::ALL.contains(MailTypes::TIME_LIMIT));
        assert!(MailTypes::ALL.contains(MailTypes::STAGE_OUT));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(bits in 0u32..1 << 11) {
            prop_assert_eq!(parse(&MailTypes(bits).to_string()), Ok(MailTypes(bits)));
        }
    }
}
