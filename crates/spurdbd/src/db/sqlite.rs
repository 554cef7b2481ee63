//! SQLite, in a file.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ToSql, params_from_iter};

use super::{Error, Row, Value};

/// How long a writer waits for another.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Sqlite(rusqlite::Connection);

impl Sqlite {
    pub fn open(file: &Path) -> Result<Sqlite, Error> {
        let connection = rusqlite::Connection::open(file)?;
        connection.busy_timeout(PATIENCE)?;
        // Readers and the writer do not wait for each other; what is acknowledged survives a power cut.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(Sqlite(connection))
    }

    pub fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        let mut statement = self.0.prepare_cached(&numbered(sql))?;
        Ok(statement.execute(params_from_iter(values))? as u64)
    }

    pub fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        let mut statement = self.0.prepare_cached(&numbered(sql))?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(values))?;
        let mut answer = Vec::new();
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|column| row.get_ref(column).map(value));
            answer.push(Row(values.collect::<Result<_, _>>()?));
        }
        Ok(answer)
    }

    pub fn batch(&mut self, sql: &str) -> Result<(), Error> {
        Ok(self.0.execute_batch(sql)?)
    }
}

/// SQLite counts `?1`; behind a dollar it sees names.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
