//! Sets of cores.

/// A set of small numbers, one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// The numbers from 0 on, so many.
    pub fn first(count: u32) -> Bits {
        let mut words = vec![u64::MAX; (count / 64) as usize];
        if !count.is_multiple_of(64) {
            words.push((1 << (count % 64)) - 1);
        }
        Bits(words)
    }

    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn contains(&self, bit: u32) -> bool {
        self.0.get((bit / 64) as usize).is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }

    pub fn insert(&mut self, bit: u32) {
        let word = (bit / 64) as usize;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (bit % 64);
    }

    pub fn remove_all(&mut self, other: &Bits) {
        for (word, gone) in self.0.iter_mut().zip(&other.0) {
            *word &= !gone;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(place, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.checked_sub(1)?;
                Some(place as u32 * 64 + bit)
            })
        })
    }
}

impl FromIterator<u32> for Bits {
    fn from_iter<I: IntoIterator<Item = u32>>(bits: I) -> Bits {
        let mut all = Bits::default();
        bits.into_iter().for_each(|bit| all.insert(bit));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in() {
        let mut bits: Bits = [3, 64, 200].into_iter().collect();
        assert_eq!(bits.iter().collect::<Vec<_>>(), [3, 64, 200]);
        bits.remove_all(&[64, 7].into_iter().collect());
        assert_eq!((bits.count(), bits.contains(64), bits.contains(200)), (2, false, true));
        assert_eq!(Bits::first(70).count(), 70);
        assert_eq!(Bits::first(64).iter().last(), Some(63));
    }
}
