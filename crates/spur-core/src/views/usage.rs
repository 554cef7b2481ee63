//! What the processes of a step used on one node.

/// Measured by whoever waited for the processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Usage {
    #[prost(uint64, tag = "1")]
    pub user_micros: u64,
    #[prost(uint64, tag = "2")]
    pub system_micros: u64,
    /// Tasks that were measured.
    #[prost(uint32, tag = "3")]
    pub tasks: u32,
    /// Milliseconds.
    #[prost(message, optional, tag = "4")]
    pub cpu: Option<Spread>,
    /// Memory that was resident at the highest, in bytes.
    #[prost(message, optional, tag = "5")]
    pub memory: Option<Spread>,
    /// Read from disks, in bytes.
    #[prost(message, optional, tag = "6")]
    pub read: Option<Spread>,
    /// Written to disks, in bytes.
    #[prost(message, optional, tag = "7")]
    pub written: Option<Spread>,
    /// Page faults that needed a disk.
    #[prost(message, optional, tag = "8")]
    pub pages: Option<Spread>,
    /// Address space at its highest, in bytes.
    #[prost(message, optional, tag = "9")]
    pub virtual_memory: Option<Spread>,
    /// Memory of GPUs at its highest, in bytes; of tasks with GPUs whose load is told.
    #[prost(message, optional, tag = "10")]
    pub gpu_memory: Option<Spread>,
    /// How busy GPUs were, in percent, those of a task added up.
    #[prost(message, optional, tag = "11")]
    pub gpu_busy: Option<Spread>,
}

/// How much of something tasks used: the most and the least with whose it was, and all together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Spread {
    #[prost(uint64, tag = "1")]
    pub max: u64,
    #[prost(uint32, tag = "2")]
    pub max_task: u32,
    #[prost(uint64, tag = "3")]
    pub min: u64,
    #[prost(uint32, tag = "4")]
    pub min_task: u32,
    #[prost(uint64, tag = "5")]
    pub total: u64,
}

/// What one task used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskUsage {
    pub user_micros: u64,
    pub system_micros: u64,
    pub memory_bytes: u64,
    pub virtual_bytes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub page_faults: u64,
    /// Where GPUs tell.
    pub gpu: Option<GpuUsage>,
}

/// What the GPUs of a task did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuUsage {
    pub memory_bytes: u64,
    pub busy_percent: u64,
}

impl Usage {
    /// Counts one task.
    pub fn add(&mut self, task: u32, used: &TaskUsage) {
        self.tasks += 1;
        let cpu = (used.user_micros + used.system_micros) / 1000;
        for (spread, amount) in [
            (&mut self.cpu, Some(cpu)),
            (&mut self.memory, Some(used.memory_bytes)),
            (&mut self.read, Some(used.read_bytes)),
            (&mut self.written, Some(used.written_bytes)),
            (&mut self.pages, Some(used.page_faults)),
            (&mut self.virtual_memory, Some(used.virtual_bytes)),
            (&mut self.gpu_memory, used.gpu.map(|gpu| gpu.memory_bytes)),
            (&mut self.gpu_busy, used.gpu.map(|gpu| gpu.busy_percent)),
        ] {
            let Some(amount) = amount else { continue };
            let one = Spread { max: amount, max_task: task, min: amount, min_task: task, total: 0 };
            let spread = spread.get_or_insert(one);
            if amount > spread.max {
                (spread.max, spread.max_task) = (amount, task);
            }
            if amount < spread.min {
                (spread.min, spread.min_task) = (amount, task);
            }
            spread.total = spread.total.saturating_add(amount);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_and_the_least_are_known_by_their_tasks() {
        let mut usage = Usage::default();
        for (task, memory_bytes) in [(4, 30), (5, 10), (6, 20)] {
            usage.add(task, &TaskUsage { memory_bytes, ..TaskUsage::default() });
        }
        let expected = Spread { max: 30, max_task: 4, min: 10, min_task: 5, total: 60 };
        assert_eq!((usage.tasks, usage.memory), (3, Some(expected)));
        assert_eq!(usage.gpu_busy, None, "nobody had a GPU");
        let gpu = Some(GpuUsage { memory_bytes: 7, busy_percent: 90 });
        usage.add(7, &TaskUsage { gpu, ..TaskUsage::default() });
        let expected = Spread { max: 90, max_task: 7, min: 90, min_task: 7, total: 90 };
        assert_eq!(usage.gpu_busy, Some(expected));
    }
}
