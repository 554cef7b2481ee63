//! The rules in the database: read as a whole, changed row by row, every change remembered with its author.

use std::collections::BTreeMap;

use prost::Message;
use spur_core::auth::Level;
use spur_core::errors::SlurmError;
use spur_core::views::{AssociationView, RuleRow, RulesView, TransactionView};
use spur_proto::slurm::{ChangeRulesRequest, ListTransactionsRequest};

use crate::db::{Connection, Error, Value};
use crate::ingest::OPEN;
use crate::{removed, told};

/// Who changes something.
#[derive(Clone, Debug)]
pub struct Author {
    /// The user's name.
    pub name: String,
    /// What the channel says of them; the rules may say more.
    pub level: Level,
}

/// What becomes of a change.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Done; the rules have this version now.
    Changed(u64),
    /// The rules have changed meanwhile.
    Stale,
    /// By the rights.
    Denied,
    /// By what must hold.
    Refused(String),
    /// Jobs that are not over hold what is to go; says which.
    Active(String),
}

/// All rules.
pub fn load(connection: &mut Connection) -> Result<RulesView, Error> {
    let mut rules = RulesView { version: numbers(connection)?[0], ..RulesView::default() };
    for row in connection.query("SELECT record FROM rules ORDER BY kind, name", &[])? {
        rules.put(RuleRow::decode(row.bytes(0)?)?);
    }
    Ok(rules)
}

/// All rules, and what was deleted and is still told of.
pub fn load_with_deleted(connection: &mut Connection) -> Result<RulesView, Error> {
    let mut rules = load(connection)?;
    removed::join(connection, &mut rules)?;
    Ok(rules)
}

/// The version of the rules.
pub fn version(connection: &mut Connection) -> Result<u64, Error> {
    Ok(numbers(connection)?[0])
}

/// Makes what every database has.
pub fn found(connection: &mut Connection) -> Result<(), Error> {
    connection.transaction(|connection| {
        let made = connection.execute(
            "INSERT INTO rules_version (id, version, last_association, last_qos) VALUES (1, 0, 0, 0) \
             ON CONFLICT (id) DO NOTHING",
            &[],
        )?;
        if made > 0 {
            write(connection, &system(), &RulesView::default(), RulesView::founding(), Vec::new())?;
        }
        Ok(())
    })
}

/// Makes what a cluster has that is heard of for the first time; part of the caller's transaction.
pub fn know_cluster(connection: &mut Connection, cluster: &str) -> Result<(), Error> {
    let values = [Value::from("Clusters"), Value::from(cluster)];
    let known = "SELECT 1 FROM rules WHERE kind = $1 AND name = $2";
    if connection.query(known, &values)?.is_empty() {
        let rules = load(connection)?;
        write(connection, &system(), &rules, RulesView::cluster_rows(cluster), Vec::new())?;
    }
    Ok(())
}

fn system() -> Author {
    Author { name: "root".to_string(), level: Level::Administrator }
}

/// Changes rows, all or none.
pub fn change(
    connection: &mut Connection,
    author: &Author,
    request: ChangeRulesRequest,
) -> Result<Outcome, Error> {
    let ChangeRulesRequest { version: thought_out_on, put, remove, ask_only } = request;
    connection.transaction(|connection| {
        let rules = load(connection)?;
        let of_nothing = ask_only && put.is_empty() && remove.is_empty();
        if of_nothing && author.level.max(rules.level(&author.name)) < Level::Operator {
            return Ok(Outcome::Denied);
        }
        if rules.version != thought_out_on {
            return Ok(Outcome::Stale);
        }
        let level = author.level.max(rules.level(&author.name));
        let mut after = rules.clone();
        for row in &remove {
            if !rules.may_remove(&author.name, level, row) {
                return Ok(Outcome::Denied);
            }
            after.remove(row);
        }
        for row in &put {
            let now = rules.current(row);
            if !rules.may_change(&author.name, level, row, now.as_ref()) {
                return Ok(Outcome::Denied);
            }
            after.put(row.clone());
        }
        if ask_only {
            return Ok(Outcome::Changed(rules.version));
        }
        if let Some(problem) = after.problems().into_iter().next() {
            return Ok(Outcome::Refused(problem));
        }
        if let Some(active) = active(connection, &rules, &after, &remove)? {
            return Ok(Outcome::Active(active));
        }
        write(connection, author, &rules, put, remove).map(Outcome::Changed)
    })
}

/// Jobs that are not over keep their association. Says which ones, where they do.
fn active(
    connection: &mut Connection,
    before: &RulesView,
    after: &RulesView,
    remove: &[RuleRow],
) -> Result<Option<String>, Error> {
    let mut jobs = Vec::new();
    let place =
        |one: &AssociationView| (one.cluster.clone(), one.account.clone(), one.user_name.clone());
    let gone = remove.iter().filter_map(|row| before.current(row)?.association);
    // Of a user's partitions one is as good as another.
    let gone: BTreeMap<_, _> = gone.map(|one| (place(&one), one)).collect();
    let is_left =
        |key: &(String, String, String)| after.associations.iter().any(|it| place(it) == *key);
    for one in gone.iter().filter(|(key, _)| !is_left(key)).map(|(_, one)| one) {
        let rows = connection.query(
            "SELECT DISTINCT job_id FROM jobs WHERE closed_time = $1 AND account = $2 \
             AND cluster = $3 AND user_name = $4",
            &[
                OPEN.into(),
                Value::from(&one.account),
                Value::from(&one.cluster),
                Value::from(&one.user_name),
            ],
        )?;
        for row in rows {
            jobs.push((row.int(0)?, one.clone()));
        }
    }
    if jobs.is_empty() {
        return Ok(None);
    }
    jobs.sort_by_key(|(id, _)| *id);
    let mut text = SlurmError::JobsRunningOnAssoc.to_string();
    for (id, one) in jobs {
        let (cluster, account, user) = (&one.cluster, &one.account, &one.user_name);
        text.push_str(&format!(
            "\n  JobID = {id:<10} C = {cluster:<10.10} A = {account:<10.10} U = {user:<9.9}"
        ));
    }
    Ok(Some(text))
}

fn write(
    connection: &mut Connection,
    author: &Author,
    before: &RulesView,
    put: Vec<RuleRow>,
    remove: Vec<RuleRow>,
) -> Result<u64, Error> {
    let [version, mut last_association, mut last_qos] = numbers(connection)?;
    removed::keep(connection, before, &remove)?;
    for row in &remove {
        let (kind, name) = row.name();
        let values = [Value::from(kind.plural()), Value::from(&name)];
        connection.execute("DELETE FROM rules WHERE kind = $1 AND name = $2", &values)?;
        let told = told::removal(before, row, kind, &name);
        remember(connection, author, &told.action, &told.object, &told.info)?;
    }
    let mut last_wckey = before.wckeys.iter().map(|one| one.id).max().unwrap_or(0);
    let mut last_run = None;
    for mut row in put {
        removed::revive(connection, &mut row)?;
        let former = before.current(&row);
        if let Some(one) = &mut row.association {
            let was = former.as_ref().and_then(|row| row.association.as_ref());
            if one.id == 0 {
                last_association += 1;
                one.id = last_association as u32;
                one.run = match last_run.take() {
                    Some((place, run)) if place == one.place() => run,
                    _ => one.id * 2,
                };
                last_run = Some((one.place(), one.run));
            } else if was.is_some_and(|was| was.place() != one.place()) {
                // Where it is new, it stands before all that is there.
                one.run = last_association as u32 * 2 + 1;
            }
        }
        if let Some(one) = &mut row.qos {
            last_qos = last_qos.max(one.id.into());
            if one.id == 0 {
                last_qos += 1;
                one.id = last_qos as u32;
            }
        }
        if let Some(one) = row.wckey.as_mut().filter(|one| one.id == 0) {
            last_wckey += 1;
            one.id = last_wckey;
        }
        let (kind, name) = row.name();
        connection.execute(
            "INSERT INTO rules (kind, name, record) VALUES ($1, $2, $3) \
             ON CONFLICT (kind, name) DO UPDATE SET record = excluded.record",
            &[Value::from(kind.plural()), Value::from(&name), row.encode_to_vec().into()],
        )?;
        for told in told::change(former.as_ref(), &row, kind, &name) {
            remember(connection, author, &told.action, &told.object, &told.info)?;
        }
    }
    let version = version + 1;
    connection.execute(
        "UPDATE rules_version SET version = $1, last_association = $2, last_qos = $3 WHERE id = 1",
        &[version.into(), last_association.into(), last_qos.into()],
    )?;
    Ok(version)
}

fn numbers(connection: &mut Connection) -> Result<[u64; 3], Error> {
    let sql = "SELECT version, last_association, last_qos FROM rules_version WHERE id = 1";
    let sql = format!("{sql}{}", connection.for_update());
    let rows = connection.query(&sql, &[])?;
    let Some(row) = rows.first() else { return Ok([0; 3]) };
    Ok([row.int(0)? as u64, row.int(1)? as u64, row.int(2)? as u64])
}

pub fn remember(
    connection: &mut Connection,
    author: &Author,
    action: &str,
    object: &str,
    info: &str,
) -> Result<(), Error> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    connection.execute(
        "INSERT INTO transactions (time, actor, action, object, info) VALUES ($1, $2, $3, $4, $5)",
        &[
            Value::Int(now.unwrap_or_default().as_secs() as i64),
            Value::from(&author.name),
            Value::from(action),
            Value::from(object),
            Value::from(info),
        ],
    )?;
    Ok(())
}

/// Changes of the past, in their order.
pub fn transactions(
    connection: &mut Connection,
    request: &ListTransactionsRequest,
) -> Result<Vec<TransactionView>, Error> {
    let end = if request.end > 0 { request.end } else { i64::MAX };
    let rows = connection.query(
        "SELECT time, action, actor, object, info FROM transactions \
         WHERE time >= $1 AND time <= $2 ORDER BY id",
        &[request.start.into(), end.into()],
    )?;
    let mut found = Vec::new();
    for row in rows {
        let one = TransactionView {
            time: row.int(0)?,
            action: row.text(1)?.to_string(),
            actor: row.text(2)?.to_string(),
            object: row.text(3)?.to_string(),
            info: row.text(4)?.to_string(),
        };
        let is_one_of = |list: &[String], word: &str| {
            list.is_empty() || list.iter().any(|one| one.eq_ignore_ascii_case(word))
        };
        if is_one_of(&request.actors, &one.actor) && is_one_of(&request.actions, &one.action) {
            found.push(one);
        }
    }
    Ok(found)
}
