//! A number that may also be "no limit"; `Option<Limit>` adds "not said".

use std::fmt;

use prost::DecodeError;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType};

/// Unlimited, or a number. Slurm's `INFINITE`; its `NO_VAL` is `None` of an `Option<Limit>`.
///
/// On the wire it is `message Limit { oneof limit { bool unlimited = 1; uint64 number = 2; } }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// At most this.
    Is(u64),
    /// No limit at all.
    Unlimited,
}

impl Limit {
    /// The number, if there is one.
    pub fn number(self) -> Option<u64> {
        match self {
            Limit::Is(number) => Some(number),
            Limit::Unlimited => None,
        }
    }
}

impl Default for Limit {
    fn default() -> Limit {
        Limit::Is(0)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Unlimited => f.write_str("UNLIMITED"),
            Limit::Is(number) => number.fmt(f),
        }
    }
}

impl prost::Message for Limit {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        match self {
            Limit::Unlimited => encoding::bool::encode(1, &true, buf),
            Limit::Is(number) => encoding::uint64::encode(2, number, buf),
        }
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => {
                let mut unlimited = false;
                encoding::bool::merge(wire_type, &mut unlimited, buf, ctx)?;
                *self = if unlimited { Limit::Unlimited } else { Limit::Is(0) };
                Ok(())
            }
            2 => {
                let mut number = 0;
                encoding::uint64::merge(wire_type, &mut number, buf, ctx)?;
                *self = Limit::Is(number);
                Ok(())
            }
            _ => encoding::skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        match self {
            Limit::Unlimited => encoding::bool::encoded_len(1, &true),
            Limit::Is(number) => encoding::uint64::encoded_len(2, number),
        }
    }

    fn clear(&mut self) {
        *self = Limit::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn survives_the_wire() {
        for limit in [Limit::Is(0), Limit::Is(7), Limit::Is(u64::MAX), Limit::Unlimited] {
            assert_eq!(Limit::decode(&limit.encode_to_vec()[..]), Ok(limit));
        }
    }
}
