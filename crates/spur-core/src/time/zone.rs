//! Between moments and what a clock on the wall shows.

use std::fmt;

use super::Timestamp;

/// A place's clock. The edges know the machine's zone and answer from it; tests use
/// [`FixedOffset`].
pub trait Zone {
    /// Seconds that clocks here are ahead of UTC at this moment.
    fn seconds_east(&self, at: Timestamp) -> i64;

    /// What the calendar and the clock show at this moment.
    fn civil(&self, at: Timestamp) -> Civil {
        Civil::of_utc(at.plus_secs(self.seconds_east(at)))
    }

    /// The moment at which clocks show this. One that is skipped in spring is the moment it would
    /// have been without the change.
    fn moment(&self, civil: Civil) -> Timestamp {
        let local = civil.as_utc();
        let near = local.plus_secs(-self.seconds_east(local));
        local.plus_secs(-self.seconds_east(near))
    }
}

/// A zone whose clocks never change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedOffset {
    /// Seconds ahead of UTC.
    pub seconds_east: i64,
}

impl FixedOffset {
    /// Universal time.
    pub const UTC: FixedOffset = FixedOffset { seconds_east: 0 };
}

impl Zone for FixedOffset {
    fn seconds_east(&self, _: Timestamp) -> i64 {
        self.seconds_east
    }
}

/// A date and a time of day. Days beyond the end of a month run on into the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The year, as in 2027.
    pub year: i64,
    /// 1 to 12.
    pub month: u32,
    /// From 1.
    pub day: u32,
    /// 0 to 23.
    pub hour: u32,
    /// 0 to 59.
    pub minute: u32,
    /// 0 to 59.
    pub second: u32,
}

const DAY: i64 = 86_400;

impl Civil {
    fn of_utc(at: Timestamp) -> Civil {
        let seconds = at.0.rem_euclid(DAY) as u32;
        // Counted from 1 March of the year 0 in eras of 400 years, where leap days come last.
        let days = at.0.div_euclid(DAY) + 719_468;
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Civil {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month: month as u32,
            day: (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32,
            hour: seconds / 3_600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
        }
    }

    fn as_utc(self) -> Timestamp {
        let (month, day) = (i64::from(self.month), i64::from(self.day));
        let year = self.year.clamp(-1_000_000, 1_000_000_000) - i64::from(month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let month_from_march = if month > 2 { month - 3 } else { month + 9 };
        let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let seconds = self.hour * 3_600 + self.minute * 60 + self.second;
        Timestamp((era * 146_097 + day_of_era - 719_468) * DAY + i64::from(seconds))
    }
}

impl fmt::Display for Civil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second } = self;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An hour ahead in winter and two in summer, changing at fixed moments of 2027.
    struct Berlin;

    impl Zone for Berlin {
        fn seconds_east(&self, at: Timestamp) -> i64 {
            if (1_806_195_600..1_824_944_400).contains(&at.0) { 7_200 } else { 3_600 }
        }
    }

    #[test]
    fn summer_time_is_minded() {
        for (shown, utc) in [
            ("2027-01-15T12:00:00", 1_800_010_800),
            ("2027-03-28T01:59:59", 1_806_195_599),
            ("2027-03-28T03:00:00", 1_806_195_600),
            ("2027-07-01T00:00:00", 1_814_392_800),
            ("2027-11-01T00:00:00", 1_825_023_600),
        ] {
            let civil = Berlin.civil(Timestamp(utc));
            assert_eq!(civil.to_string(), shown);
            assert_eq!(Berlin.moment(civil), Timestamp(utc), "{shown}");
        }
    }

    proptest! {
        #[test]
        fn moments_survive_the_calendar(at in -100_000_000_000i64..300_000_000_000) {
            let at = Timestamp(at);
            prop_assert_eq!(FixedOffset::UTC.moment(FixedOffset::UTC.civil(at)), at);
        }
    }
}
