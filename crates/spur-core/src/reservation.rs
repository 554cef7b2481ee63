//! Reservations: nodes kept for some users or accounts, for a time that may come again.

use crate::ids::NodeName;
use crate::job::Owner;
use crate::time::Timestamp;

/// One reservation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reservation {
    /// Its name.
    pub name: String,
    /// How many were made before it: they are listed in this order.
    pub number: u32,
    /// From when on.
    pub start: Timestamp,
    /// Until when.
    pub end: Timestamp,
    /// The nodes, in the order people count them.
    pub nodes: Vec<NodeName>,
    /// The partition its nodes were taken from, if one was named or a number of nodes was.
    pub partition: String,
    /// What its nodes had to have.
    pub features: String,
    /// See [`FLAGS`].
    pub flags: Flags,
    /// Who may use it, by name.
    pub users: Vec<String>,
    /// Jobs of which accounts may.
    pub accounts: Vec<String>,
    /// Members of which groups may; who is one is known where users come in.
    pub groups: Vec<String>,
    /// Cores of each node, in the order of the nodes; none where nodes are kept whole.
    pub cores: Vec<u32>,
    /// Licences that are kept, by name.
    pub licenses: Vec<(String, u32)>,
    /// Since when no job has used it.
    pub idle_since: Option<Timestamp>,
    /// How long a job may wait for better nodes, in seconds.
    pub max_start_delay_secs: u32,
    /// It goes when nobody has used it for so long, in seconds.
    pub purge_secs: Option<u32>,
    /// For people.
    pub comment: String,
    /// It always begins so many seconds from now: its times are those of the moment at which it was made.
    pub float_secs: Option<i64>,
}

/// What is said of a reservation by one word each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u32);

macro_rules! flags {
    ($($name:ident = $bit:literal, $word:literal, $said:literal;)*) => {
        impl Flags {
            $(#[doc = concat!("`", $word, "`")] pub const $name: Flags = Flags(1 << $bit);)*
        }

        /// Every flag in the order in which they are shown, and whether it can be asked for.
        pub const FLAGS: &[(Flags, &str, bool)] = &[$((Flags::$name, $word, $said),)*];
    };
}

flags! {
    MAINT = 0, "MAINT", true;
    FLEX = 1, "FLEX", true;
    OVERLAP = 2, "OVERLAP", true;
    IGNORE_JOBS = 3, "IGNORE_JOBS", true;
    HOURLY = 4, "HOURLY", true;
    DAILY = 5, "DAILY", true;
    WEEKDAY = 12, "WEEKDAY", true;
    WEEKEND = 13, "WEEKEND", true;
    WEEKLY = 6, "WEEKLY", true;
    SPEC_NODES = 7, "SPEC_NODES", true;
    ALL_NODES = 8, "ALL_NODES", false;
    ANY_NODES = 14, "ANY_NODES", true;
    TIME_FLOAT = 19, "TIME_FLOAT", true;
    STATIC_ALLOC = 9, "STATIC", true;
    PART_NODES = 10, "PART_NODES", true;
    FIRST_CORES = 15, "FIRST_CORES", true;
    REPLACE = 16, "REPLACE", true;
    REPLACE_DOWN = 17, "REPLACE_DOWN", true;
    NO_HOLD_JOBS_AFTER = 11, "NO_HOLD_JOBS_AFTER_END", true;
    MAGNETIC = 18, "MAGNETIC", true;
}

/// Words that say the same as another.
const ALIASES: &[(&str, Flags)] =
    &[("LICENSE_ONLY", Flags::ANY_NODES), ("STATIC_ALLOC", Flags::STATIC_ALLOC)];

impl Flags {
    /// Whether it is said.
    pub fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 == flag.0
    }

    /// With these as well.
    pub fn with(self, flag: Flags) -> Flags {
        Flags(self.0 | flag.0)
    }

    /// Without these.
    pub fn without(self, flag: Flags) -> Flags {
        Flags(self.0 & !flag.0)
    }

    /// The words, as `scontrol` shows them.
    pub fn words(self) -> Vec<String> {
        let said = FLAGS.iter().filter(|(flag, ..)| self.has(*flag));
        said.map(|(_, word, _)| word.to_string()).collect()
    }

    /// Reads `MAINT,IGNORE_JOBS`, `+DAILY`, `-FLEX`: words may be cut short as long as one is meant.
    pub fn parse(self, text: &str) -> Option<Flags> {
        let relative = text.contains(['+', '-']);
        let mut flags = if relative { self } else { Flags::default() };
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (take, word) = match word.strip_prefix('-') {
                Some(word) => (true, word),
                None => (false, word.strip_prefix('+').unwrap_or(word)),
            };
            let word = word.to_ascii_uppercase();
            if let Some((_, flag)) = ALIASES.iter().find(|(name, _)| *name == word) {
                flags = if take { flags.without(*flag) } else { flags.with(*flag) };
                continue;
            }
            let known = FLAGS.iter().filter(|(_, _, said)| *said);
            let mut meant = known.filter(|(_, name, _)| name.starts_with(&word));
            let exact = FLAGS.iter().find(|(_, name, said)| *said && **name == *word);
            let flag = match (exact, meant.next(), word.len()) {
                (Some((flag, ..)), ..) => *flag,
                (None, Some((flag, ..)), 3..) => *flag,
                _ => return None,
            };
            flags = if take { flags.without(flag) } else { flags.with(flag) };
        }
        Some(flags)
    }
}

impl Reservation {
    /// After how many seconds it comes again.
    pub fn period(&self) -> Option<i64> {
        const DAY: i64 = 86_400;
        let periods = [
            (Flags::HOURLY, 3600),
            (Flags::DAILY, DAY),
            (Flags::WEEKDAY, DAY),
            (Flags::WEEKEND, DAY),
            (Flags::WEEKLY, 7 * DAY),
        ];
        periods.iter().find(|(flag, _)| self.flags.has(*flag)).map(|(_, secs)| *secs)
    }

    /// Its times as of a moment: those of one that floats move on with time.
    pub fn times(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        match self.float_secs {
            Some(secs) => {
                let start = now.plus_secs(secs);
                (start, start.plus_secs(self.end.0 - self.start.0))
            }
            None => (self.start, self.end),
        }
    }

    /// The same as of a moment.
    pub fn at(&self, now: Timestamp) -> Reservation {
        let (start, end) = self.times(now);
        Reservation { start, end, ..self.clone() }
    }

    /// Whether its time is now.
    pub fn is_active(&self, now: Timestamp) -> bool {
        let (start, end) = self.times(now);
        start <= now && now < end
    }

    /// Whether it comes on a day that begins at a moment: some come on working days only, or on others.
    pub fn comes_at(&self, start: Timestamp) -> bool {
        // The first day of the epoch was a Thursday.
        let day = (start.0.div_euclid(86_400) + 3).rem_euclid(7);
        let is_weekend = day >= 5;
        let (weekday, weekend) = (self.flags.has(Flags::WEEKDAY), self.flags.has(Flags::WEEKEND));
        weekday == weekend || weekend == is_weekend
    }

    /// Whether jobs of this user, charged to this account, may use it: both must do where both are said. Names
    /// that begin with `-` keep out; then all others may. Whether a user is in a group is asked where users come in.
    pub fn admits(&self, owner: &Owner, account: &str) -> bool {
        let lets = |names: &[String], name: &str| match names.first() {
            None => true,
            Some(first) if first.starts_with('-') => {
                !names.iter().any(|it| it.strip_prefix('-') == Some(name))
            }
            Some(_) => names.iter().any(|it| it == name),
        };
        lets(&self.users, &owner.name) && lets(&self.accounts, account)
    }

    /// Whether it draws jobs of this user in that did not ask for it.
    pub fn attracts(&self, owner: &Owner, account: &str, now: Timestamp) -> bool {
        self.flags.has(Flags::MAGNETIC)
            && self.is_active(now)
            && self.groups.is_empty()
            && self.admits(owner, account)
    }

    /// Whether two of them want the same node at the same time.
    pub fn meets(&self, other: &Reservation) -> bool {
        let same_time = match (self.period(), other.period()) {
            (None, None) => self.start < other.end && other.start < self.end,
            (Some(period), None) => self.meets_in_turn(period, other),
            (None, Some(period)) => other.meets_in_turn(period, self),
            // Both come again: the shorter turn decides.
            (Some(a), Some(b)) if a <= b => self.meets_in_turn(a, other),
            (Some(_), Some(b)) => other.meets_in_turn(b, self),
        };
        // Where only some cores are kept, others may have the rest.
        let whole = self.cores.is_empty() || other.cores.is_empty();
        same_time && whole && self.nodes.iter().any(|node| other.nodes.contains(node))
    }

    /// Whether one of its turns meets the other's time.
    fn meets_in_turn(&self, period: i64, other: &Reservation) -> bool {
        if other.end <= self.start {
            return false;
        }
        let turns = (other.start.0 - self.start.0).max(0).div_euclid(period);
        [turns, turns + 1].iter().any(|turn| {
            let shift = turn * period;
            self.start.0 + shift < other.end.0 && other.start.0 < self.end.0 + shift
        })
    }

    /// Moves on to the turn that is not over yet; false when there is none.
    pub fn advance(&mut self, now: Timestamp) -> bool {
        if self.end > now || self.float_secs.is_some() {
            return true;
        }
        let Some(period) = self.period() else { return false };
        let turns = (now.0 - self.end.0).div_euclid(period) + 1;
        self.start = self.start.plus_secs(turns * period);
        self.end = self.end.plus_secs(turns * period);
        while !self.comes_at(self.start) {
            self.start = self.start.plus_secs(period);
            self.end = self.end.plus_secs(period);
        }
        true
    }
}

/// Names in `--reservation`, any of which will do.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_and_shown_as_slurm_does() {
        let read = |text: &str| Flags::default().parse(text).map(|flags| flags.words().join(","));
        assert_eq!(read("maint,ignore_jobs"), Some("MAINT,IGNORE_JOBS".into()));
        assert_eq!(read("daily,FLEX"), Some("FLEX,DAILY".into()));
        assert_eq!(read("ignore"), Some("IGNORE_JOBS".into()));
        assert_eq!(read("weekly,bogus"), None);
        let daily = Flags::DAILY.with(Flags::MAINT);
        assert_eq!(daily.parse("-daily,+flex"), Some(Flags::MAINT.with(Flags::FLEX)));
    }

    #[test]
    fn names_let_in_or_keep_out() {
        let owner =
            |name: &str| Owner { uid: crate::ids::Uid(7), name: name.into(), ..Owner::default() };
        let words =
            |text: &str| text.split(',').filter(|it| !it.is_empty()).map(str::to_string).collect();
        for (users, accounts, who, account, admitted) in [
            ("alice", "", "alice", "x", true),
            ("alice", "", "bob", "x", false),
            ("-bob", "", "alice", "x", true),
            ("-bob", "", "bob", "x", false),
            ("", "-x", "alice", "x", false),
            ("-alice", "x", "alice", "x", false),
            ("alice", "x", "alice", "y", false),
            ("alice", "x", "alice", "x", true),
        ] {
            let (users, accounts) = (words(users), words(accounts));
            let it = Reservation { users, accounts, ..Reservation::default() };
            assert_eq!(it.admits(&owner(who), account), admitted, "{it:?} {who}");
        }
    }

    #[test]
    fn some_come_on_working_days_only() {
        // 1970-01-02 was a Friday.
        let (start, end) = (Timestamp(86_400 + 60), Timestamp(86_400 + 120));
        let mut days = Reservation { start, end, flags: Flags::WEEKDAY, ..Reservation::default() };
        assert!(days.advance(Timestamp(end.0 + 1)));
        assert_eq!(days.start, Timestamp(4 * 86_400 + 60));
        let mut ends = Reservation { start, end, flags: Flags::WEEKEND, ..Reservation::default() };
        assert!(ends.advance(Timestamp(end.0 + 1)));
        assert_eq!(ends.start, Timestamp(2 * 86_400 + 60));
    }

    #[test]
    fn a_daily_one_comes_again() {
        let (start, end) = (Timestamp(1000), Timestamp(4600));
        let mut daily = Reservation { start, end, flags: Flags::DAILY, ..Reservation::default() };
        assert!(daily.advance(Timestamp(4599)) && daily.start == start);
        assert!(daily.advance(Timestamp(4600 + 86_400)));
        assert_eq!(daily.start, Timestamp(1000 + 2 * 86_400));
        let mut once = Reservation { start, end, ..Reservation::default() };
        assert!(!once.advance(Timestamp(4600)));
    }

    #[test]
    fn two_meet_where_they_want_the_same_node_at_the_same_time() {
        let on = |node: &str, start: i64, end: i64, flags| Reservation {
            start: Timestamp(start),
            end: Timestamp(end),
            nodes: vec![node.into()],
            flags,
            ..Reservation::default()
        };
        let once = Flags::default();
        assert!(on("n1", 0, 10, once).meets(&on("n1", 9, 12, once)));
        assert!(!on("n1", 0, 10, once).meets(&on("n1", 10, 12, once)));
        assert!(!on("n1", 0, 10, once).meets(&on("n2", 0, 10, once)));
        let day = 86_400;
        assert!(on("n1", 0, 10, Flags::DAILY).meets(&on("n1", 5 * day + 5, 5 * day + 6, once)));
        assert!(!on("n1", 0, 10, Flags::DAILY).meets(&on("n1", 5 * day + 10, 6 * day, once)));
    }
}
