//! The cluster that Slurm's answers were recorded on, and how its lines are read.

use std::fs;

use spur_tests::harness::Cluster;

/// The cluster the lines were recorded on.
const CONFIGURATION: &str = r#"
[jobs]
def_mem_per_cpu = 1000

[accounting]
tres = ["gres/gpu", "gres/gpu:mi300x"]

[limits]
max_array_size = 10001

[[nodes]]
names = "n[1-2]"
cpus = 64
sockets_per_board = 2
cores_per_socket = 32
memory_mb = 256000
gres = ["gpu:mi300x:8"]
features = ["gpu", "mi300x"]
trial = true

[[nodes]]
names = "n[3-4]"
cpus = 64
sockets_per_board = 2
cores_per_socket = 32
memory_mb = 256000
trial = true

[[partitions]]
name = "debug"
nodes = "n[1-4]"
default = true
max_time = "1-0"
default_time = "1:00:00"

[[partitions]]
name = "gpu"
nodes = "n[1-2]"
max_time = "3-0"

[[partitions]]
name = "cpu"
nodes = "n[3-4]"
max_time = "2:00:00"
"#;

/// Starts it, perhaps with more words for `spur up`.
pub fn cluster(more: &[&str]) -> Cluster {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), CONFIGURATION).expect("written");
    let config = file.path().display().to_string();
    Cluster::up_with("n[1-4]", 64, &[&["--config", &config][..], more].concat())
}

/// The words of a line, as a shell would make them of it.
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut any) = (vec![], String::new(), false, false);
    for letter in line.chars() {
        match letter {
            '"' => (quoted, any) = (!quoted, true),
            ' ' if !quoted => {
                if any || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            letter => word.push(letter),
        }
    }
    if any || !word.is_empty() {
        words.push(word);
    }
    words
}
