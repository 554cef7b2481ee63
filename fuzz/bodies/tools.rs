//! Command lines of the tools that ask, and words that bind tasks.

use spur_core::getopt::{self, option};
use spur_core::job::reference::JobReference;
use spur_core::script::words;
use spur_core::step::binding::{self, Machine, Part};

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let arguments: Vec<String> = text.split(['\0', '\n']).map(str::to_owned).collect();
    let flags = [option("partition", Some('p')), option("partial", None), option("x", Some('x'))];
    let _ = getopt::read(&flags, &arguments);
    let _ = words::split(text);
    let _ = JobReference::parse(text);
    let machine = Machine { order: (0..8).collect(), threads_per_core: 2, ..Machine::default() };
    let part = Part { cpus: (0..4).collect(), tasks: 3, cpus_per_task: 1, ..Part::default() };
    if let Ok(binding) = binding::cpus(text, &machine, &part) {
        assert!(binding.masks.iter().flatten().all(|cpu| *cpu < 8));
    }
    let (seen, _) = binding::gpus(text, &[4, 5, 6, 7], 2, 3);
    assert!(seen.iter().all(|gpu| (4..8).contains(gpu)));
    let _ = binding::memory(text, 1, &[0]);
}
