//! Rules that were deleted and are still told of, because jobs ran under them or they were there for long: `withdeleted`.
//! What is added again is what it was, with its number.

use prost::Message;
use spur_core::accounts::rules::Kind;
use spur_core::views::{RuleRow, RulesView};

use crate::db::{Connection, Error, Value};
use crate::rollup::DAY;

/// Keeps rows that are about to go; all of one change, or none of them.
pub fn keep(
    connection: &mut Connection,
    before: &RulesView,
    rows: &[RuleRow],
) -> Result<(), Error> {
    let rows: Vec<RuleRow> = rows.iter().filter_map(|row| before.current(row)).collect();
    let mut worth = false;
    for row in &rows {
        worth = worth || has_jobs(connection, row)? || is_old(connection, row)?;
    }
    for mut row in rows.into_iter().filter(|_| worth) {
        // Nobody's jobs go anywhere any more.
        if let Some(user) = &mut row.user {
            user.default_account.clear();
        }
        let (kind, name) = row.name();
        connection.execute(
            "INSERT INTO removed_rules (kind, name, record) VALUES ($1, $2, $3) \
             ON CONFLICT (kind, name) DO UPDATE SET record = excluded.record",
            &[Value::from(kind.plural()), Value::from(&name), row.encode_to_vec().into()],
        )?;
    }
    Ok(())
}

/// Whether jobs of the history belong to it.
fn has_jobs(connection: &mut Connection, row: &RuleRow) -> Result<bool, Error> {
    let (column, value) = match row {
        RuleRow { account: Some(one), .. } => ("account", &one.name),
        RuleRow { user: Some(one), .. } => ("user_name", &one.name),
        RuleRow { qos: Some(one), .. } => ("qos", &one.name),
        RuleRow { wckey: Some(one), .. } => ("wckey", &one.name),
        RuleRow { cluster: Some(one), .. } => ("cluster", &one.name),
        RuleRow { association: Some(one), .. } => {
            let sql = "SELECT 1 FROM jobs WHERE cluster = $1 AND account = $2 AND \
                       ($3 = '' OR user_name = $3) AND ($4 = '' OR partition_name = $4) LIMIT 1";
            let values = [&one.cluster, &one.account, &one.user_name, &one.partition];
            return Ok(!connection.query(sql, &values.map(Value::from))?.is_empty());
        }
        _ => return Ok(false),
    };
    let sql = format!("SELECT 1 FROM jobs WHERE {column} = $1 LIMIT 1");
    Ok(!connection.query(&sql, &[Value::from(value)])?.is_empty())
}

/// Whether it was not added within the last day.
fn is_old(connection: &mut Connection, row: &RuleRow) -> Result<bool, Error> {
    let (kind, name) = row.name();
    let object = match &row.association {
        Some(one) => format!("id_assoc={}", one.id),
        None => name,
    };
    let sql = "SELECT 1 FROM transactions WHERE action = $1 AND object = $2 AND time > $3 LIMIT 1";
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let since = since.unwrap_or_default().as_secs() as i64 - DAY;
    let action = format!("Add {}", kind.plural());
    let values = [Value::from(&action), Value::from(&object), Value::Int(since)];
    Ok(connection.query(sql, &values)?.is_empty())
}

/// Gives a row that is added the number it had, and forgets that it was deleted.
pub fn revive(connection: &mut Connection, row: &mut RuleRow) -> Result<(), Error> {
    let (kind, name) = row.name();
    let values = [Value::from(kind.plural()), Value::from(&name)];
    let sql = "SELECT record FROM removed_rules WHERE kind = $1 AND name = $2";
    let rows = connection.query(sql, &values)?;
    let Some(found) = rows.first() else { return Ok(()) };
    let former = RuleRow::decode(found.bytes(0)?)?;
    match (kind, &mut row.association, &mut row.qos) {
        (Kind::Association, Some(one), _) if one.id == 0 => {
            one.id = former.association.map_or(0, |former| former.id);
        }
        (Kind::Qos, _, Some(one)) if one.id == 0 => one.id = former.qos.map_or(0, |it| it.id),
        _ => {}
    }
    connection.execute("DELETE FROM removed_rules WHERE kind = $1 AND name = $2", &values)?;
    Ok(())
}

/// Puts what was deleted where it was.
pub fn join(connection: &mut Connection, rules: &mut RulesView) -> Result<(), Error> {
    for row in connection.query("SELECT record FROM removed_rules ORDER BY kind, name", &[])? {
        let row = RuleRow::decode(row.bytes(0)?)?;
        if rules.current(&row).is_none() {
            rules.put(row);
        }
    }
    Ok(())
}
