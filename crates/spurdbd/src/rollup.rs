//! Usage by the hour, day and month, summed once, so that a report over a year does not read every job.
//!
//! Hours, days and months are those of UTC; a report's time is put together of the largest pieces that fit. A record
//! that comes late, about a time that is rolled up, turns the mark back, and the hours since are summed again.

use std::collections::BTreeMap;

use prost::Message;
use spur_core::views::UsageView;
use spur_proto::slurm::SumUsageReply;

use crate::db::{Connection, Error, Value};
use crate::usage::{self, Sums};

/// Seconds of an hour and a day.
pub const HOUR: i64 = 3600;
pub const DAY: i64 = 86_400;

/// Hours summed in one transaction.
const AT_ONCE: i64 = 24 * 31;

/// Rolls up hours that are over; whether there are more.
pub fn roll(connection: &mut Connection, now: i64) -> Result<bool, Error> {
    connection.transaction(|connection| {
        let last = now - now.rem_euclid(HOUR);
        let Some(from) = begin(connection)? else { return Ok(false) };
        let until = last.min(from + AT_ONCE * HOUR);
        if from >= until {
            return Ok(false);
        }
        let mut hours: BTreeMap<i64, Sums> = BTreeMap::new();
        usage::each_run(connection, from, until, |job| {
            let begin = job.start_time.max(from).div_euclid(HOUR) * HOUR;
            let end = if job.end_time > 0 { job.end_time.min(until) } else { until };
            let mut hour = begin;
            while hour < end.max(begin + 1) && hour < until {
                hours.entry(hour).or_default().add(job, hour, hour + HOUR);
                hour += HOUR;
            }
        })?;
        connection.execute("DELETE FROM rollups WHERE start_time >= $1", &[from.into()])?;
        for (hour, sums) in hours {
            put(connection, "hour", hour, sums.rows())?;
        }
        for day in pieces(from, until, |at| at.div_euclid(DAY) * DAY, |day| day + DAY) {
            whole(connection, "day", "hour", day, day + DAY)?;
        }
        for month in pieces(from, until, month_of, next_month) {
            whole(connection, "month", "day", month, next_month(month))?;
        }
        mark(connection, until)?;
        Ok(until < last)
    })
}

/// Where summing goes on: at the mark, or with the first run there is.
fn begin(connection: &mut Connection) -> Result<Option<i64>, Error> {
    if let Some(time) = marked(connection)? {
        return Ok(Some(time));
    }
    let sql = "SELECT COALESCE(MIN(start_time), 0) FROM jobs WHERE start_time > 0";
    let first = connection.query(sql, &[])?.first().map_or(Ok(0), |row| row.int(0))?;
    Ok((first > 0).then(|| first - first.rem_euclid(HOUR)))
}

/// Everything before this is rolled up.
pub fn marked(connection: &mut Connection) -> Result<Option<i64>, Error> {
    let rows = connection.query("SELECT time FROM rolled_until WHERE id = 1", &[])?;
    rows.first().map(|row| row.int(0)).transpose()
}

fn mark(connection: &mut Connection, time: i64) -> Result<(), Error> {
    connection.execute(
        "INSERT INTO rolled_until (id, time) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET time = excluded.time",
        &[time.into()],
    )?;
    Ok(())
}

/// Remembers that runs which ended before a moment are removed.
pub fn removed(connection: &mut Connection, before: i64) -> Result<(), Error> {
    connection.execute(
        "INSERT INTO rolled_until (id, time) VALUES (2, $1) ON CONFLICT (id) DO UPDATE SET time = excluded.time",
        &[before.into()],
    )?;
    Ok(())
}

/// Turns the mark back to before a run that was told of late; part of the caller's transaction.
pub fn late(connection: &mut Connection, start: i64, told_about: i64) -> Result<(), Error> {
    if start <= 0 {
        return Ok(());
    }
    // What is removed cannot be summed again.
    let rows = connection.query("SELECT time FROM rolled_until WHERE id = 2", &[])?;
    let removed = rows.first().map_or(Ok(0), |row| row.int(0))?;
    let back = (start - start.rem_euclid(HOUR)).max(removed + (-removed).rem_euclid(HOUR));
    connection.execute(
        "UPDATE rolled_until SET time = $1 WHERE id = 1 AND time > $2 AND time > $1",
        &[back.into(), told_about.into()],
    )?;
    Ok(())
}

/// Makes a larger piece of the smaller ones in it. A day or month that still goes on is made anew later.
fn whole(
    connection: &mut Connection,
    period: &str,
    of: &str,
    start: i64,
    end: i64,
) -> Result<(), Error> {
    let mut sums = Sums::default();
    let mut clusters = read(connection, of, start, end)?;
    clusters.sort_by_key(|(time, _)| *time);
    for (time, rows) in clusters {
        sums.put_together(rows, time == start);
    }
    let sql = "DELETE FROM rollups WHERE period = $1 AND start_time = $2";
    connection.execute(sql, &[Value::from(period), start.into()])?;
    put(connection, period, start, sums.rows())
}

fn put(
    connection: &mut Connection,
    period: &str,
    start: i64,
    rows: Vec<UsageView>,
) -> Result<(), Error> {
    let mut clusters: BTreeMap<String, Vec<UsageView>> = BTreeMap::new();
    for row in rows {
        clusters.entry(row.cluster.clone()).or_default().push(row);
    }
    for (cluster, usage) in clusters {
        connection.execute(
            "INSERT INTO rollups (period, start_time, cluster, record) VALUES ($1, $2, $3, $4)",
            &[
                Value::from(period),
                start.into(),
                Value::from(&cluster),
                SumUsageReply { usage }.encode_to_vec().into(),
            ],
        )?;
    }
    Ok(())
}

fn read(
    connection: &mut Connection,
    period: &str,
    start: i64,
    end: i64,
) -> Result<Vec<(i64, Vec<UsageView>)>, Error> {
    let rows = connection.query(
        "SELECT start_time, record FROM rollups WHERE period = $1 AND start_time >= $2 AND start_time < $3",
        &[Value::from(period), start.into(), end.into()],
    )?;
    let mut found = Vec::new();
    for row in rows {
        found.push((row.int(0)?, SumUsageReply::decode(row.bytes(1)?)?.usage));
    }
    Ok(found)
}

/// What was used within a time, as far as it is rolled up, and from when on it is not.
pub fn sum(
    connection: &mut Connection,
    start: i64,
    end: i64,
    sums: &mut Sums,
) -> Result<i64, Error> {
    let until = marked(connection)?.unwrap_or(0).min(end - end.rem_euclid(HOUR));
    if start.rem_euclid(HOUR) != 0 || until <= start {
        return Ok(start);
    }
    for (period, from, to) in decomposed(start, until) {
        for (time, rows) in read(connection, period, from, to)? {
            sums.put_together(rows, time == start);
        }
    }
    Ok(until)
}

/// Hours up to the first whole day, days up to the first whole month, months, and back again.
pub fn decomposed(start: i64, end: i64) -> Vec<(&'static str, i64, i64)> {
    let mut pieces: Vec<(&'static str, i64, i64)> = Vec::new();
    let mut at = start;
    while at < end {
        let day = at.rem_euclid(DAY) == 0 && at + DAY <= end;
        let month = day && month_of(at) == at && next_month(at) <= end;
        let (period, next) = match (month, day) {
            (true, _) => ("month", next_month(at)),
            (false, true) => ("day", at + DAY),
            (false, false) => ("hour", at + HOUR),
        };
        match pieces.last_mut() {
            Some((last, _, to)) if *last == period => *to = next,
            _ => pieces.push((period, at, next)),
        }
        at = next;
    }
    pieces
}

fn pieces(
    from: i64,
    until: i64,
    first: impl Fn(i64) -> i64,
    next: impl Fn(i64) -> i64,
) -> Vec<i64> {
    std::iter::successors(Some(first(from)), |at| Some(next(*at)))
        .take_while(|at| *at < until)
        .collect()
}

/// The first second of a month; days are counted from the civil calendar.
fn month_of(at: i64) -> i64 {
    let (year, month) = year_and_month(at.div_euclid(DAY));
    days_before(year, month) * DAY
}

fn next_month(at: i64) -> i64 {
    let (year, month) = year_and_month(at.div_euclid(DAY));
    let (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_before(year, month) * DAY
}

/// By eras of 400 years, whose years begin in March.
fn year_and_month(days: i64) -> (i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (year + era * 400 + i64::from(month <= 2), month)
}

fn days_before(year: i64, month: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * march + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use spur_core::views::{AccountingRecord, AccountingView};
    use spur_proto::slurm::{IngestRequest, SumUsageRequest};

    use super::*;
    use crate::db::Location;
    use crate::purge::{self, Keep};
    use crate::{ingest, migrate, rules};

    /// 2026-11-16T00:00:00Z
    const TODAY: i64 = 1_794_787_200;

    #[test]
    fn months_begin_where_the_calendar_says() {
        assert_eq!(month_of(TODAY + 5), TODAY - 15 * DAY);
        assert_eq!(next_month(TODAY), TODAY + 15 * DAY);
        assert_eq!(next_month(month_of(0)), 31 * DAY);
        // February of a leap year.
        let march = days_before(2024, 3) * DAY;
        assert_eq!(month_of(march - 1), march - 29 * DAY);
    }

    #[test]
    fn a_time_is_put_together_of_the_largest_pieces() {
        let first = TODAY - 15 * DAY;
        assert_eq!(
            decomposed(first - HOUR, next_month(first) + DAY + 2 * HOUR),
            [
                ("hour", first - HOUR, first),
                ("month", first, next_month(first)),
                ("day", next_month(first), next_month(first) + DAY),
                ("hour", next_month(first) + DAY, next_month(first) + DAY + 2 * HOUR),
            ]
        );
    }

    fn job(id: u32, start_time: i64, end_time: i64) -> AccountingView {
        AccountingView {
            cluster: "c".to_string(),
            job_id: id,
            account: "physics".to_string(),
            submit_time: start_time - 30,
            eligible_time: start_time - 30,
            start_time,
            end_time,
            cpus_allocated: 2,
            tres_allocated: "cpu=2".to_string(),
            ..AccountingView::default()
        }
    }

    fn take_in(connection: &mut Connection, first: u64, jobs: Vec<AccountingView>) {
        let record = |(number, job)| AccountingRecord {
            number,
            run: 1,
            job: Some(job),
            ..AccountingRecord::default()
        };
        let records = (first..).zip(jobs).map(record).collect();
        let request = IngestRequest { cluster: "c".to_string(), birth: 1, records };
        ingest::ingest(connection, &request).expect("is taken in");
    }

    fn used(connection: &mut Connection, start: i64, end: i64) -> (u64, u64, u64) {
        let request = SumUsageRequest { start, end, ..SumUsageRequest::default() };
        let rows = usage::sum(connection, &request).expect("a sum");
        let seconds = rows.iter().flat_map(|row| &row.seconds).map(|it| it.seconds).sum();
        let jobs = rows.iter().map(|row| row.jobs).sum();
        (jobs, seconds, rows.iter().map(|row| row.planned_cpu_seconds).sum())
    }

    #[test]
    fn what_is_rolled_up_is_what_the_runs_come_to_also_when_news_is_late() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = Location::Sqlite(dir.path().join("accounting.db"));
        let mut connection = Connection::open(&place).expect("a database");
        migrate::migrate(&mut connection).expect("a schema");
        rules::found(&mut connection).expect("rules");
        let day = TODAY - 60 * DAY;
        take_in(
            &mut connection,
            1,
            vec![
                job(1, day + 1800, day + 1800 + 3 * DAY),
                job(2, day + 2 * HOUR + 5, day + 2 * HOUR + 65),
                job(3, day + 40 * DAY, day + 40 * DAY),
                job(4, day + 41 * DAY, 0),
            ],
        );
        let windows = [
            (day, day + 50 * DAY),
            (day + 2 * HOUR, day + 3 * HOUR),
            (day + DAY, day + DAY + HOUR),
            (day - DAY, day + 45 * DAY + HOUR),
        ];
        let before: Vec<_> = windows.map(|(start, end)| used(&mut connection, start, end)).into();
        assert_eq!(before[1], (2, 2 * 3600 + 120, 60));
        while roll(&mut connection, TODAY + 10).expect("rolls") {}
        assert_eq!(marked(&mut connection).expect("a mark"), Some(TODAY));
        let months = read(&mut connection, "month", 0, TODAY).expect("rows");
        assert!(months.len() >= 2, "months are there: {}", months.len());
        let after: Vec<_> = windows.map(|(start, end)| used(&mut connection, start, end)).into();
        assert_eq!(after, before);
        // The fourth job turns out to have ended long ago.
        take_in(&mut connection, 5, vec![job(4, day + 41 * DAY, day + 41 * DAY + 60)]);
        while roll(&mut connection, TODAY + 10).expect("rolls") {}
        assert_eq!(used(&mut connection, day + 41 * DAY, day + 50 * DAY), (1, 120, 60));
    }

    #[test]
    fn what_is_too_old_goes_to_the_archive_and_its_usage_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = Location::Sqlite(dir.path().join("accounting.db"));
        let mut connection = Connection::open(&place).expect("a database");
        migrate::migrate(&mut connection).expect("a schema");
        rules::found(&mut connection).expect("rules");
        take_in(
            &mut connection,
            1,
            vec![
                job(1, TODAY - 100 * DAY, TODAY - 100 * DAY + 60),
                job(2, TODAY - DAY, TODAY - DAY + 60),
            ],
        );
        let archive = dir.path().join("archive");
        let keep = Keep { jobs: Some(90 * DAY), archive: Some(archive.clone()), ..Keep::default() };
        assert_eq!(
            purge::purge(&mut connection, &keep, TODAY).expect("purges"),
            0,
            "not summed yet"
        );
        while roll(&mut connection, TODAY).expect("rolls") {}
        assert_eq!(purge::purge(&mut connection, &keep, TODAY).expect("purges"), 1);
        assert_eq!(purge::purge(&mut connection, &keep, TODAY).expect("purges"), 0);
        let files: Vec<_> = std::fs::read_dir(&archive).expect("a folder").collect();
        assert_eq!(files.len(), 1);
        let text = std::fs::read_to_string(files[0].as_ref().expect("a file").path());
        let text = text.expect("text");
        assert!(text.contains("\"job_id\":1") && text.lines().count() == 1, "{text}");
        let left = connection.query("SELECT job_id FROM jobs", &[]).expect("rows");
        assert_eq!(left.iter().map(|row| row.int(0).expect("a number")).collect::<Vec<_>>(), [2]);
        assert_eq!(used(&mut connection, TODAY - 101 * DAY, TODAY).0, 2, "its usage is kept");
        // A late word about the time before turns nothing back.
        take_in(&mut connection, 3, vec![job(3, TODAY - 99 * DAY, TODAY - 99 * DAY + 1)]);
        while roll(&mut connection, TODAY).expect("rolls") {}
        assert_eq!(used(&mut connection, TODAY - 101 * DAY, TODAY - 100 * DAY + DAY).0, 1);
    }
}
