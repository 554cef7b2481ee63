//! Every decoder is tried with words that were changed at random. `cargo xtask fuzz` does so for longer, and is led by
//! what the code does.

#[path = "../../../fuzz/bodies/mod.rs"]
mod bodies;

use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use bodies::TARGETS;

/// How long each is tried.
const SPELL: Duration = Duration::from_millis(400);

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

/// What grammars stumble over.
const CRUMBS: &[&[u8]] = &[
    b"",
    b"-",
    b"4294967296",
    b"18446744073709551616",
    b"[",
    b"]",
    b",",
    b":",
    b"%",
    b"*",
    b"=",
    b"0x",
    b"\0",
    b"\n",
    b"\xff\xff\xff\xff\x0f",
    b"\xc3\xa9",
    b"UNLIMITED",
    b"INFINITE",
    b"+",
    b"(",
    b")",
    b"..",
    b"$(x)",
    b"'",
];

fn changed(seeds: &[&[u8]], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = seeds[dice.roll(seeds.len())].to_vec();
    for _ in 0..=dice.roll(6) {
        let at = dice.roll(bytes.len() + 1);
        match dice.roll(5) {
            0 if at < bytes.len() => bytes[at] = dice.roll(256) as u8,
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 => drop(bytes.splice(at..at, CRUMBS[dice.roll(CRUMBS.len())].iter().copied())),
            3 => {
                let other = seeds[dice.roll(seeds.len())];
                let from = dice.roll(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => {
                let end = (at + dice.roll(8)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                let many = dice.roll(40);
                drop(bytes.splice(at..at, again.repeat(many)));
            }
        }
        bytes.truncate(4096);
    }
    bytes
}

#[test]
fn no_words_of_others_bring_a_decoder_down() {
    let mut found = Vec::new();
    for target in TARGETS {
        let (mut dice, mut tried) = (Dice(0x5eed_0f5b), 0_u64);
        let until = Instant::now() + SPELL;
        for seed in target.seeds {
            (target.run)(seed);
        }
        while Instant::now() < until {
            let bytes = changed(target.seeds, &mut dice);
            tried += 1;
            if catch_unwind(|| (target.run)(&bytes)).is_err() {
                found.push(format!("{}: {:?}", target.name, String::from_utf8_lossy(&bytes)));
                break;
            }
        }
        assert!(tried > 0, "{} was not tried", target.name);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
