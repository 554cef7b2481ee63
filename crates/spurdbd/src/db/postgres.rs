//! PostgreSQL, on a server.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::time::Duration;

use postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use postgres::{Client, NoTls, Statement};

use super::{Error, Row, Value};

/// How long a server may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(5);

pub struct Postgres {
    client: Client,
    /// Statements the server has seen, by their text.
    prepared: BTreeMap<String, Statement>,
}

/// Texts that vary (lists of any length) would fill the server's memory.
const MOST_PREPARED: usize = 64;

impl Postgres {
    pub fn open(url: &str) -> Result<Postgres, Error> {
        let client = Client::connect(url, NoTls)?;
        Ok(Postgres { client, prepared: BTreeMap::new() })
    }

    pub fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        let statement = self.prepare(sql)?;
        Ok(self.client.execute(&statement, &borrowed(values))?)
    }

    pub fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        let statement = self.prepare(sql)?;
        let rows = self.client.query(&statement, &borrowed(values))?;
        rows.iter().map(row).collect()
    }

    pub fn batch(&mut self, sql: &str) -> Result<(), Error> {
        Ok(self.client.batch_execute(sql)?)
    }

    /// A server that was restarted is noticed only by talking to it.
    pub fn is_alive(&mut self) -> bool {
        self.client.is_valid(PATIENCE).is_ok()
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        if self.prepared.len() >= MOST_PREPARED {
            self.prepared.clear();
        }
        self.prepared.insert(sql.to_string(), statement.clone());
        Ok(statement)
    }
}

/// The client library says only "db error"; the cause behind it tells.
pub fn words(error: &postgres::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

fn borrowed(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn row(row: &postgres::Row) -> Result<Row, Error> {
    let value = |(column, described): (usize, &postgres::Column)| {
        Ok(match *described.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(column)?.into(),
            Type::INT4 => row.try_get::<_, Option<i32>>(column)?.map(i64::from).into(),
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(column)?.map_or(Value::Null, Value::Real),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(column)?.into(),
            _ => row.try_get::<_, Option<String>>(column)?.map_or(Value::Null, Value::Text),
        })
    };
    row.columns().iter().enumerate().map(value).collect::<Result<_, Error>>().map(Row)
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(number) if *kind == Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
            Value::Int(number) => number.to_sql(kind, out),
            Value::Real(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
            Value::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    /// Which value goes where is known where the statement is written.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
