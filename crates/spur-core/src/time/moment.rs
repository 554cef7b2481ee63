//! Reads moments: `now+1hour`, `midnight`, `teatime`, `16:00`, `12/31/27-23:59`, `2027-01-02T03:04`.

use super::{Civil, Timestamp, Zone};

/// The last second of the year 9999; later moments are refused.
const LATEST: i64 = 253_402_300_799;

/// Which of several moments is meant when the date or the year is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toward {
    /// The next such moment, as `--begin` wants it: 10:00 in the afternoon is tomorrow.
    Future,
    /// The last such month, as `sacct --starttime` wants it; a time of day is today's.
    Past,
}

/// A moment that Slurm would refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not one of the forms. Slurm prints exactly this line, without the tool's name before it,
    /// and then `Invalid --begin specification`.
    #[error("Invalid time specification (pos={position}): {text}")]
    Malformed {
        /// Where Slurm says the trouble is; -1 for a month of one digit, 0.
        position: i64,
        /// The whole text.
        text: String,
    },
    /// No moment is named, or the epoch. Slurm prints `Invalid --begin specification` alone.
    #[error("no time is given")]
    Empty,
    /// After the year 9999.
    #[error("time `{0}' is too far away")]
    TooFar(String),
}

/// Reads a moment. `now` and `zone` say what the words and the parts left out mean.
pub fn parse(
    text: &str,
    toward: Toward,
    now: Timestamp,
    zone: &impl Zone,
) -> Result<Timestamp, Error> {
    if let Some(at) = unix_seconds(text) {
        return if at <= LATEST { Ok(Timestamp(at)) } else { Err(Error::TooFar(text.to_owned())) };
    }
    let mut reader = Reader {
        text: text.as_bytes(),
        at: 0,
        today: zone.civil(now),
        tomorrow: next_day(zone, now),
        said: Said::default(),
    };
    let said = reader.read(now, zone).map_err(|stop| match stop {
        Stop::At(position) => Error::Malformed { position, text: text.to_owned() },
        Stop::TooFar => Error::TooFar(text.to_owned()),
    })?;
    let civil = said.fill(toward, zone.civil(now), reader.tomorrow).ok_or(Error::Empty)?;
    match zone.moment(civil) {
        Timestamp(0) => Err(Error::Empty),
        Timestamp(at) if at > LATEST => Err(Error::TooFar(text.to_owned())),
        at => Ok(at),
    }
}

/// `uts1800000000`: seconds since the epoch, alone, and enough of them to be meant.
fn unix_seconds(text: &str) -> Option<i64> {
    let (word, number) = text.split_at_checked(3)?;
    let number = number.trim_start_matches(|blank: char| blank.is_ascii_whitespace());
    let number = number.strip_prefix('+').unwrap_or(number);
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = (word.eq_ignore_ascii_case("uts") && digits).then(|| number.parse().ok())??;
    (seconds >= 1_000_000).then_some(seconds)
}

fn next_day(zone: &impl Zone, now: Timestamp) -> Civil {
    zone.civil(now.plus_secs(86_400))
}

/// What the text has said so far. A later word overrides an earlier one.
#[derive(Clone, Copy, Default)]
struct Said {
    date: Option<(u32, u32)>,
    year: Option<i64>,
    clock: Option<(u32, u32, u32)>,
}

impl Said {
    fn fill(self, toward: Toward, today: Civil, tomorrow: Civil) -> Option<Civil> {
        let minute_of = |civil: Civil| (civil.hour, civil.minute);
        let Some((month, day)) = self.date else {
            let (hour, minute, second) = self.clock?;
            // Seconds are not looked at: a time within this minute is tomorrow's.
            let late = toward == Toward::Future && (hour, minute) <= minute_of(today);
            let date = if late { tomorrow } else { today };
            return Some(Civil { hour, minute, second, ..date });
        };
        let (hour, minute, second) = self.clock.unwrap_or_default();
        let year = self.year.unwrap_or_else(|| match toward {
            Toward::Future => {
                let past =
                    ((month, day), (hour, minute)) <= ((today.month, today.day), minute_of(today));
                today.year + i64::from(past)
            }
            Toward::Past => today.year - i64::from(month > today.month),
        });
        Some(Civil { year, month, day, hour, minute, second })
    }

    fn on(&mut self, date: Civil) {
        self.date = Some((date.month, date.day));
        self.year = Some(date.year);
    }
}

/// Why reading stopped: Slurm's idea of where, or a moment nobody can mean.
enum Stop {
    At(i64),
    TooFar,
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    today: Civil,
    tomorrow: Civil,
    said: Said,
}

impl Reader<'_> {
    fn read(&mut self, now: Timestamp, zone: &impl Zone) -> Result<Said, Stop> {
        while let Some(byte) = self.peek(0) {
            if byte.is_ascii_whitespace() || byte == b'-' || byte == b'T' {
                self.at += 1;
            } else if byte.is_ascii_digit() {
                self.number()?;
            } else if self.word("now") {
                self.now(now, zone)?;
            } else if self.word("today") {
                self.said.on(self.today);
            } else if self.word("tomorrow") {
                self.said.on(self.tomorrow);
            } else if self.word("midnight") {
                self.said.clock = Some((0, 0, 0));
            } else if self.word("noon") {
                self.said.clock = Some((12, 0, 0));
            } else if self.word("fika") {
                self.said.clock = Some((15, 0, 0));
            } else if self.word("teatime") {
                self.said.clock = Some((16, 0, 0));
            } else {
                return Err(self.here());
            }
        }
        Ok(self.said)
    }

    /// `now`, `now+1hour`, `now - 5 minutes`. Only the first word of all may be `now`.
    fn now(&mut self, now: Timestamp, zone: &impl Zone) -> Result<(), Stop> {
        if self.at != 3 {
            return Err(Stop::At((2 * self.at - 3) as i64));
        }
        self.blanks();
        let sign = match self.peek(0) {
            None => 0,
            Some(b'+') => 1,
            Some(b'-') => -1,
            Some(_) => return Err(self.here()),
        };
        let mut seconds = 0;
        if sign != 0 {
            self.at += 1;
            // Slurm points at the character before the one it did not like.
            seconds = self.delta().ok_or(Stop::At(self.at as i64 - 1))?;
        }
        let at = now.plus_secs(sign * seconds);
        if !(-LATEST..=LATEST).contains(&at.0) {
            return Err(Stop::TooFar);
        }
        let civil = zone.civil(at);
        self.said.on(civil);
        self.said.clock = Some((civil.hour, civil.minute, civil.second));
        Ok(())
    }

    /// `1hour`, `5 minutes`, or seconds as a number alone, which ends the text.
    fn delta(&mut self) -> Option<i64> {
        self.blanks();
        let mut count: i64 = 0;
        let start = self.at;
        while let Some(digit) = self.digit() {
            count = count.saturating_mul(10).saturating_add(i64::from(digit));
        }
        if self.at == start {
            return None;
        }
        self.blanks();
        if self.peek(0).is_none() {
            return Some(count);
        }
        let units =
            [("second", 1), ("minute", 60), ("hour", 3_600), ("day", 86_400), ("week", 604_800)];
        let (_, seconds) = units.into_iter().find(|(unit, _)| self.word(unit))?;
        let _plural = self.word("s");
        Some(count.saturating_mul(seconds))
    }

    fn number(&mut self) -> Result<(), Stop> {
        if self.peek(1) == Some(b':') || self.peek(2) == Some(b':') {
            self.clock()
        } else if self.peek(4) == Some(b'-') && self.peek(7) == Some(b'-') {
            self.iso_date()
        } else {
            self.us_date()
        }
    }

    /// `16:00`, `4:00pm`, `16:00:30`.
    fn clock(&mut self) -> Result<(), Stop> {
        let mut hour = self.one_or_two(0, 23)?;
        if self.peek(0) != Some(b':') {
            return Err(self.here());
        }
        self.at += 1;
        let minute = self.two(59)?;
        let mut second = 0;
        if self.peek(0) == Some(b':') {
            self.at += 1;
            second = self.two(59)?;
        }
        let after_time = self.at;
        self.blanks();
        let (at, noon) = (self.at, self.half_of_day());
        match noon {
            None => self.at = after_time,
            Some(_) if hour > 12 => return Err(Stop::At(at as i64)),
            Some(afternoon) => hour = hour % 12 + if afternoon { 12 } else { 0 },
        }
        self.said.clock = Some((hour, minute, second));
        Ok(())
    }

    fn half_of_day(&mut self) -> Option<bool> {
        if self.word("pm") { Some(true) } else { self.word("am").then_some(false) }
    }

    /// `2027-01-02`.
    fn iso_date(&mut self) -> Result<(), Stop> {
        let mut year = 0;
        for _ in 0..4 {
            year = year * 10 + self.digit().ok_or(self.here())?;
        }
        self.at += 1;
        let month = self.one_or_two(1, 12)?;
        self.at += 1;
        let day = self.one_or_two(1, 31)?;
        self.said.date = Some((month, day));
        self.said.year = Some(i64::from(year));
        Ok(())
    }

    /// `12/31`, `12.31.27`, `1/2/27`, `123127`. The year is of this century.
    fn us_date(&mut self) -> Result<(), Stop> {
        let month = self.one_or_two(1, 12)?;
        if !self.slash() && !self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.here());
        }
        let day = self.one_or_two(1, 31)?;
        self.slash();
        if self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            let year = self.two(99)?;
            // The year 00 is taken for none.
            self.said.year = (year > 0).then_some(2000 + i64::from(year)).or(self.said.year);
        }
        self.said.date = Some((month, day));
        Ok(())
    }

    fn slash(&mut self) -> bool {
        let slash = matches!(self.peek(0), Some(b'/' | b'.'));
        self.at += usize::from(slash);
        slash
    }

    fn one_or_two(&mut self, least: u32, most: u32) -> Result<u32, Stop> {
        let mut number = self.digit().ok_or(self.here())?;
        if let Some(digit) = self.digit() {
            number = number * 10 + digit;
        }
        self.within(number, least, most)
    }

    fn two(&mut self, most: u32) -> Result<u32, Stop> {
        let tens = self.digit().ok_or(self.here())?;
        let ones = self.digit().ok_or(self.here())?;
        self.within(tens * 10 + ones, 0, most)
    }

    /// Slurm points two characters back, whether or not the number had two digits.
    fn within(&self, number: u32, least: u32, most: u32) -> Result<u32, Stop> {
        let inside = (least..=most).contains(&number);
        if inside { Ok(number) } else { Err(Stop::At(self.at as i64 - 2)) }
    }

    fn digit(&mut self) -> Option<u32> {
        let byte = self.peek(0).filter(u8::is_ascii_digit)?;
        self.at += 1;
        Some(u32::from(byte - b'0'))
    }

    fn word(&mut self, word: &str) -> bool {
        let next = self.text[self.at..].get(..word.len());
        let found = next.is_some_and(|next| next.eq_ignore_ascii_case(word.as_bytes()));
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn blanks(&mut self) {
        while self.peek(0).is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn here(&self) -> Stop {
        Stop::At(self.at as i64)
    }
}

#[cfg(test)]
mod tests;
