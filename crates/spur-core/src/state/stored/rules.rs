//! Usage as snapshots keep it.

use prost::Message;

use super::Error;
use crate::accounts::limits::Purse;
use crate::accounts::usage::Usage;
use crate::time::Timestamp;
use crate::tres;

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredUsage {
    /// 0 an association, 1 a QOS.
    #[prost(uint32, tag = "1")]
    kind: u32,
    #[prost(uint32, tag = "2")]
    id: u32,
    #[prost(int64, tag = "3")]
    at: i64,
    #[prost(double, tag = "4")]
    wall: f64,
    #[prost(message, repeated, tag = "5")]
    seconds: Vec<StoredSeconds>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredSeconds {
    #[prost(string, tag = "1")]
    tres: String,
    #[prost(double, tag = "2")]
    used: f64,
}

impl From<(Purse, &Usage)> for StoredUsage {
    fn from((purse, usage): (Purse, &Usage)) -> StoredUsage {
        let (kind, id) = match purse {
            Purse::Association(id) => (0, id),
            Purse::Qos(id) => (1, id),
        };
        let seconds = usage.seconds.iter();
        let seconds =
            seconds.map(|(tres, used)| StoredSeconds { tres: tres.to_string(), used: *used });
        StoredUsage { kind, id, at: usage.at.0, wall: usage.wall, seconds: seconds.collect() }
    }
}

impl StoredUsage {
    pub(super) fn read(self) -> Result<(Purse, Usage), Error> {
        let purse = match self.kind {
            0 => Purse::Association(self.id),
            1 => Purse::Qos(self.id),
            other => return Err(Error::Garbled(format!("{other} is no kind of usage"))),
        };
        let mut usage = Usage { at: Timestamp(self.at), wall: self.wall, ..Usage::default() };
        for StoredSeconds { tres, used } in self.seconds {
            let tres =
                tres::parse_name(&tres).map_err(|error| Error::Garbled(error.to_string()))?;
            usage.seconds.insert(tres, used);
        }
        Ok((purse, usage))
    }
}
