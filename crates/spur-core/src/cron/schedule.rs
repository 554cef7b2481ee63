//! When a line of a crontab is due: `*/5 8-17 * * mon-fri`, `@hourly`.

use std::str::FromStr;

use crate::time::{Civil, FixedOffset, Timestamp, Zone};

/// The minutes at which something is due, as sets of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// A day counts if either set has it, where both say something.
    either_day: bool,
}

/// A schedule that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSchedule(pub &'static str);

/// One of the five fields.
struct Part {
    bad: &'static str,
    least: u32,
    most: u32,
    /// Names of the numbers, the first one's first.
    names: &'static [&'static str],
}

const PARTS: [Part; 5] = [
    Part { bad: "bad minute", least: 0, most: 59, names: &[] },
    Part { bad: "bad hour", least: 0, most: 23, names: &[] },
    Part { bad: "bad day-of-month", least: 1, most: 31, names: &[] },
    Part { bad: "bad month", least: 1, most: 12, names: MONTHS },
    Part { bad: "bad day-of-week", least: 0, most: 7, names: WEEKDAYS },
];

const MONTHS: &[&str] =
    &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// What a word stands for.
const NAMED: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

const DAY: i64 = 86_400;

/// The longest that a date takes to come again: 29 February around a year without one.
const HORIZON_DAYS: i64 = 366 * 8 + 1;

impl FromStr for Schedule {
    type Err = BadSchedule;

    fn from_str(text: &str) -> Result<Schedule, BadSchedule> {
        let text = match text.trim() {
            word if word.starts_with('@') => {
                let named = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
                named.map(|(_, fields)| *fields).ok_or(BadSchedule("bad time specifier"))?
            }
            fields => fields,
        };
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = words[..] else {
            return Err(BadSchedule("bad time specifier"));
        };
        let any = |word: &str| word.starts_with('*');
        let mut sets = [0; 5];
        for ((set, word), part) in
            sets.iter_mut().zip([minutes, hours, days, months, weekdays]).zip(&PARTS)
        {
            *set = part.read(word).ok_or(BadSchedule(part.bad))?;
        }
        let [minutes, hours, days_set, months, mut weekdays_set] = sets;
        // Seven is Sunday too.
        weekdays_set |= weekdays_set >> 7 & 1;
        Ok(Schedule {
            minutes,
            hours,
            days: days_set,
            months,
            weekdays: weekdays_set,
            either_day: !any(days) && !any(weekdays),
        })
    }
}

impl Part {
    fn read(&self, word: &str) -> Option<u64> {
        word.split(',').try_fold(0, |set, item| Some(set | self.item(item)?))
    }

    /// `*`, `3`, `3-7`, `*/5`, `10-50/20`
    fn item(&self, item: &str) -> Option<u64> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, step.parse().ok().filter(|step| *step > 0)?),
            None => (item, 1),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (self.least, self.most),
            Some((first, last)) => (self.number(first)?, self.number(last)?),
            // A step behind a single number has nothing to step through.
            None if step > 1 => return None,
            None => (self.number(range)?, self.number(range)?),
        };
        if first > last {
            return None;
        }
        Some((first..=last).step_by(step).fold(0, |set, number| set | 1 << number))
    }

    fn number(&self, word: &str) -> Option<u32> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(word));
        let number = match named {
            Some(at) => self.least + u32::try_from(at).ok()?,
            None => word.parse().ok()?,
        };
        (self.least..=self.most).contains(&number).then_some(number)
    }
}

impl Schedule {
    /// The first due minute after this moment, by the clocks of a zone. A minute that clocks skip does not come;
    /// nothing when no day ever fits, as 30 February.
    pub fn next(&self, after: Timestamp, zone: &dyn Zone) -> Option<Timestamp> {
        let today = after.plus_secs(zone.seconds_east(after)).0.div_euclid(DAY);
        let days = (today..today + HORIZON_DAYS).filter(|day| self.has_day(*day));
        days.flat_map(|day| self.times(day)).find_map(|civil| {
            let at = zone.moment(civil);
            (at > after && zone.civil(at) == civil).then_some(at)
        })
    }

    fn has_day(&self, day: i64) -> bool {
        let has = |set: u64, number: u32| set >> number & 1 == 1;
        let civil = FixedOffset::UTC.civil(Timestamp(day * DAY));
        let by_date = has(self.days, civil.day);
        // The epoch began on a Thursday.
        let by_weekday = has(self.weekdays, (day + 4).rem_euclid(7) as u32);
        let fits = if self.either_day { by_date || by_weekday } else { by_date && by_weekday };
        has(self.months, civil.month) && fits
    }

    /// Every due minute of a day.
    fn times(&self, day: i64) -> impl Iterator<Item = Civil> + use<> {
        let civil = FixedOffset::UTC.civil(Timestamp(day * DAY));
        let (hours, minutes) = (self.hours, self.minutes);
        let of_set = |set: u64, most: u32| (0..=most).filter(move |number| set >> number & 1 == 1);
        of_set(hours, 23).flat_map(move |hour| {
            of_set(minutes, 59).map(move |minute| Civil { hour, minute, second: 0, ..civil })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The first three times from the beginning of 2027, which was a Friday.
    fn times(schedule: &str) -> Vec<String> {
        let schedule: Schedule = schedule.parse().expect(schedule);
        let mut at = Timestamp(1_798_761_599);
        let mut found = Vec::new();
        for _ in 0..3 {
            let Some(next) = schedule.next(at, &FixedOffset::UTC) else { break };
            found.push(FixedOffset::UTC.civil(next).to_string()[..16].to_string());
            at = next;
        }
        found
    }

    #[test]
    fn schedules_are_due_when_cron_would_run_them() {
        for (schedule, expected) in [
            ("* * * * *", ["2027-01-01T00:00", "2027-01-01T00:01", "2027-01-01T00:02"]),
            ("*/20 3 * * *", ["2027-01-01T03:00", "2027-01-01T03:20", "2027-01-01T03:40"]),
            ("5,10-12/2 0 * * *", ["2027-01-01T00:05", "2027-01-01T00:10", "2027-01-01T00:12"]),
            ("0 8 * * mon-tue", ["2027-01-04T08:00", "2027-01-05T08:00", "2027-01-11T08:00"]),
            ("0 0 * * 7", ["2027-01-03T00:00", "2027-01-10T00:00", "2027-01-17T00:00"]),
            ("0 0 31 * *", ["2027-01-31T00:00", "2027-03-31T00:00", "2027-05-31T00:00"]),
            ("0 0 29 FEB *", ["2028-02-29T00:00", "2032-02-29T00:00", "2036-02-29T00:00"]),
            // Both days say something: either will do.
            ("0 0 2 * sun", ["2027-01-02T00:00", "2027-01-03T00:00", "2027-01-10T00:00"]),
            ("0 0 */10 * sun", ["2027-01-31T00:00", "2027-02-21T00:00", "2027-03-21T00:00"]),
            ("@hourly", ["2027-01-01T00:00", "2027-01-01T01:00", "2027-01-01T02:00"]),
            ("@weekly", ["2027-01-03T00:00", "2027-01-10T00:00", "2027-01-17T00:00"]),
            ("@Yearly", ["2027-01-01T00:00", "2028-01-01T00:00", "2029-01-01T00:00"]),
        ] {
            assert_eq!(times(schedule), expected, "{schedule}");
        }
        assert!(times("0 0 30 2 *").is_empty(), "it never comes");
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for (schedule, problem) in [
            ("", "bad time specifier"),
            ("* * * *", "bad time specifier"),
            ("@fortnightly", "bad time specifier"),
            ("60 * * * *", "bad minute"),
            ("-1 * * * *", "bad minute"),
            ("5/10 * * * *", "bad minute"),
            ("9-3 * * * *", "bad minute"),
            ("*/0 * * * *", "bad minute"),
            ("0 24 * * *", "bad hour"),
            ("0 0 0 * *", "bad day-of-month"),
            ("0 0 1 foo *", "bad month"),
            ("0 0 1 1 8", "bad day-of-week"),
        ] {
            let read = schedule.parse::<Schedule>();
            assert_eq!(read, Err(BadSchedule(problem)), "{schedule}");
        }
    }

    /// An hour ahead in winter and two in summer, changing at 01:00 UTC on 28 March 2027.
    struct Berlin;

    impl Zone for Berlin {
        fn seconds_east(&self, at: Timestamp) -> i64 {
            if at.0 >= 1_806_195_600 { 7_200 } else { 3_600 }
        }
    }

    #[test]
    fn an_hour_that_clocks_skip_does_not_come() {
        let schedule: Schedule = "30 2 * * *".parse().expect("is one");
        let before = Timestamp(1_806_195_600 - 3_600);
        let next = schedule.next(before, &Berlin).expect("comes");
        assert_eq!(Berlin.civil(next).to_string(), "2027-03-29T02:30:00");
    }

    proptest! {
        #[test]
        fn the_next_time_is_later_and_on_a_minute(after in 0i64..4_000_000_000, step in 1u32..59) {
            let schedule: Schedule = format!("*/{step} */5 * * *").parse().expect("is one");
            let next = schedule.next(Timestamp(after), &FixedOffset::UTC).expect("comes");
            prop_assert!(next.0 > after && next.0 % 60 == 0 && next.0 - after < 86_400);
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = text.parse::<Schedule>();
        }
    }
}
