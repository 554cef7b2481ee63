//! One way to talk to two engines. Statements are written once, with `$1`, `$2` for values; what users say
//! only ever travels as a value.

mod postgres;
mod sqlite;

use std::path::PathBuf;

/// Which database, from its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A file of our own.
    Sqlite(PathBuf),
    /// A server; the text goes to its client library.
    Postgres(String),
}

impl Location {
    /// Reads `sqlite:FILE` or `postgresql://…`.
    pub fn parse(url: &str) -> Option<Location> {
        if let Some(file) = url.strip_prefix("sqlite:") {
            let file = file.strip_prefix("//").unwrap_or(file);
            return (!file.is_empty()).then(|| Location::Sqlite(PathBuf::from(file)));
        }
        let is_server = url.starts_with("postgresql://") || url.starts_with("postgres://");
        is_server.then(|| Location::Postgres(url.to_string()))
    }

    /// The engine's name.
    pub fn engine(&self) -> &'static str {
        match self {
            Location::Sqlite(_) => "sqlite",
            Location::Postgres(_) => "postgresql",
        }
    }
}

/// What went wrong with the database.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite says so.
    #[error("the database file: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// PostgreSQL says so.
    #[error("the database: {}", postgres::words(.0))]
    Postgres(#[from] ::postgres::Error),
    /// Something stored cannot be read.
    #[error("a stored record cannot be read: {0}")]
    Stored(#[from] prost::DecodeError),
    /// The schema is not the one this program was made for.
    #[error("{0}")]
    Schema(String),
    /// A column has not the type that was expected.
    #[error("column {0} of an answer is no {1}")]
    Column(usize, &'static str),
    /// Nobody is there to do the work.
    #[error("the database's threads have ended")]
    Gone,
}

/// A value that travels to or from the database.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Value {
        Value::Int(number.into())
    }
}

impl From<u64> for Value {
    /// Large numbers keep their bits.
    fn from(number: u64) -> Value {
        Value::Int(number as i64)
    }
}

impl From<&str> for Value {
    /// PostgreSQL's texts hold no NUL.
    fn from(text: &str) -> Value {
        Value::Text(text.replace('\0', ""))
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::from(text.as_str())
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::Bytes(bytes)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// A row of an answer.
pub struct Row(Vec<Value>);

impl Row {
    /// A whole number; nothing counts as 0.
    pub fn int(&self, column: usize) -> Result<i64, Error> {
        match self.0.get(column) {
            Some(Value::Int(number)) => Ok(*number),
            Some(Value::Null) => Ok(0),
            _ => Err(Error::Column(column, "number")),
        }
    }

    /// A text.
    pub fn text(&self, column: usize) -> Result<&str, Error> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(Error::Column(column, "text")),
        }
    }

    /// Bytes, where there are any.
    pub fn some_bytes(&self, column: usize) -> Result<Option<&[u8]>, Error> {
        match self.0.get(column) {
            Some(Value::Null) => Ok(None),
            _ => self.bytes(column).map(Some),
        }
    }

    /// Bytes.
    pub fn bytes(&self, column: usize) -> Result<&[u8], Error> {
        match self.0.get(column) {
            Some(Value::Bytes(bytes)) => Ok(bytes),
            _ => Err(Error::Column(column, "bytes")),
        }
    }
}

/// A connection to either engine.
pub enum Connection {
    /// To a file.
    Sqlite(sqlite::Sqlite),
    /// To a server.
    Postgres(Box<postgres::Postgres>),
}

impl Connection {
    /// Opens one.
    pub fn open(location: &Location) -> Result<Connection, Error> {
        Ok(match location {
            Location::Sqlite(file) => Connection::Sqlite(sqlite::Sqlite::open(file)?),
            Location::Postgres(url) => {
                Connection::Postgres(Box::new(postgres::Postgres::open(url)?))
            }
        })
    }

    /// Runs a statement and says how many rows it touched.
    pub fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        match self {
            Connection::Sqlite(sqlite) => sqlite.execute(sql, values),
            Connection::Postgres(postgres) => postgres.execute(sql, values),
        }
    }

    /// All rows of an answer.
    pub fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        match self {
            Connection::Sqlite(sqlite) => sqlite.query(sql, values),
            Connection::Postgres(postgres) => postgres.query(sql, values),
        }
    }

    /// Runs several statements, of a migration.
    pub fn batch(&mut self, sql: &str) -> Result<(), Error> {
        match self {
            Connection::Sqlite(sqlite) => sqlite.batch(sql),
            Connection::Postgres(postgres) => postgres.batch(sql),
        }
    }

    /// Does all of it or nothing. Writers of one file take turns from the beginning.
    pub fn transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.batch(match self {
            Connection::Sqlite(_) => "BEGIN IMMEDIATE",
            Connection::Postgres(_) => "BEGIN",
        })?;
        let done = work(self).and_then(|done| self.batch("COMMIT").map(|()| done));
        if done.is_err() {
            // A connection that is gone rolls back by itself.
            let _ = self.batch("ROLLBACK");
        }
        done
    }

    /// What a SELECT ends with to keep others from changing its rows until the transaction ends.
    pub fn for_update(&self) -> &'static str {
        match self {
            Connection::Sqlite(_) => "",
            Connection::Postgres(_) => " FOR UPDATE",
        }
    }

    /// What stands before a column by which no rows are to be looked up. SQLite, which has no statistics, would take
    /// the cluster for a good one, and most databases have but one.
    pub fn unindexed(&self) -> &'static str {
        match self {
            Connection::Sqlite(_) => "+",
            Connection::Postgres(_) => "",
        }
    }

    /// Whether it can still be used.
    pub fn is_alive(&mut self) -> bool {
        match self {
            Connection::Sqlite(_) => true,
            Connection::Postgres(postgres) => postgres.is_alive(),
        }
    }
}
