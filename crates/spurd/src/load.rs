//! How busy the machine is: what `CPULoad` and `FreeMem` show of a node.

/// The load and the free memory, where the kernel tells them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Of the last minute, in hundredths.
    pub centi: Option<u32>,
    /// In MiB.
    pub free_memory_mb: Option<u64>,
}

/// As it is now.
pub fn now() -> Load {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    parse(&read("/proc/loadavg"), &read("/proc/meminfo"))
}

fn parse(loadavg: &str, meminfo: &str) -> Load {
    let minute = loadavg.split_ascii_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    let free = meminfo.lines().find_map(|line| line.strip_prefix("MemFree:"));
    let kib = free.and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok());
    Load {
        centi: minute.map(|load| (load * 100.0).round() as u32),
        free_memory_mb: kib.map(|kib| kib / 1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_read_and_silence_is_no_zero() {
        let meminfo = "MemTotal:       16384000 kB\nMemFree:         2048000 kB\n";
        let load = parse("1.25 0.80 0.70 2/345 6789\n", meminfo);
        assert_eq!(load, Load { centi: Some(125), free_memory_mb: Some(2000) });
        assert_eq!(parse("", ""), Load::default());
    }
}
