//! Settings with a number for each of several names: licences and weights.

use std::collections::BTreeMap;

use super::amounts::Megabytes;
use super::values::{Setting, Value, bare_key, expected, read_table, split_list};

/// Counts by name: `{ matlab = 10 }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub BTreeMap<String, u32>);

/// Weights by trackable resource: `{ cpu = 1.0, mem = "0.25G" }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights(pub BTreeMap<String, Weight>);

/// One weight and the unit it counts in, `None` for the resource's own (MiB for memory).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    pub factor: f64,
    pub unit: Option<char>,
}

impl Setting for Counts {
    fn kind() -> String {
        "table of numbers by name".to_string()
    }

    fn read(value: &Value) -> Result<Counts, String> {
        if let Value::Text(text) = value {
            return Counts::from_slurm(text);
        }
        read_table(value, u32::read).unwrap_or_else(|| Err(expected::<Counts>())).map(Counts)
    }

    /// `matlab:10,ansys@server*5,abaqus`: a name alone is one.
    fn from_slurm(text: &str) -> Result<Counts, String> {
        let mut counts = BTreeMap::new();
        for part in split_list(text) {
            let (name, count) = part.split_once([':', '*']).unwrap_or((part, "1"));
            let count = count.parse().map_err(|_| format!("{part}: expected NAME:COUNT"))?;
            counts.insert(name.to_string(), count);
        }
        Ok(Counts(counts))
    }

    fn toml(&self) -> String {
        table(&self.0, u32::to_string)
    }
}

impl Setting for Weights {
    fn kind() -> String {
        "table of weights by resource".to_string()
    }

    fn read(value: &Value) -> Result<Weights, String> {
        if let Value::Text(text) = value {
            return Weights::from_slurm(text);
        }
        let weights = read_table(value, |weight| match weight {
            Value::Text(text) => Weight::parse(text),
            number => f64::read(number).map(|factor| Weight { factor, unit: None }),
        });
        let weights = weights.unwrap_or_else(|| Err(expected::<Weights>()))?;
        Ok(Weights(weights.into_iter().map(|(name, it)| (name.to_ascii_lowercase(), it)).collect()))
    }

    /// `CPU=1.0,Mem=0.25G,GRES/gpu=2.0`
    fn from_slurm(text: &str) -> Result<Weights, String> {
        let mut weights = BTreeMap::new();
        for part in split_list(text) {
            let (name, weight) =
                part.split_once('=').ok_or_else(|| format!("{part}: expected RESOURCE=WEIGHT"))?;
            weights.insert(name.trim().to_ascii_lowercase(), Weight::parse(weight.trim())?);
        }
        Ok(Weights(weights))
    }

    fn toml(&self) -> String {
        table(&self.0, |weight| match weight.unit {
            Some(unit) => format!("\"{}{unit}\"", weight.factor),
            None => weight.factor.to_string(),
        })
    }
}

impl Weights {
    /// As Slurm's configuration has them: `CPU=1.0,Mem=0.25G,GRES/gpu=2.0`.
    pub fn said(&self) -> String {
        let said = |(name, weight): (&String, &Weight)| {
            let name = match name.as_str() {
                "cpu" => "CPU".to_string(),
                "mem" => "Mem".to_string(),
                "node" => "Node".to_string(),
                name => name.replacen("gres/", "GRES/", 1),
            };
            let unit = weight.unit.map(String::from).unwrap_or_default();
            format!("{name}={:?}{unit}", weight.factor)
        };
        self.0.iter().map(said).collect::<Vec<_>>().join(",")
    }
}

/// `JobDefaults`, as Slurm's configuration has it; empty where there are none.
pub fn job_defaults(cpus_per_gpu: Option<u32>, memory_per_gpu: Option<Megabytes>) -> String {
    let cpus = cpus_per_gpu.map(|cpus| format!("DefCpuPerGPU={cpus}"));
    let memory = memory_per_gpu.map(|memory| format!("DefMemPerGPU={}", memory.0));
    cpus.into_iter().chain(memory).collect::<Vec<_>>().join(",")
}

impl Weight {
    fn parse(text: &str) -> Result<Weight, String> {
        let unit = text.chars().last().map(|unit| unit.to_ascii_uppercase());
        let unit = unit.filter(|unit| "KMGTP".contains(*unit));
        let digits = if unit.is_some() { &text[..text.len() - 1] } else { text };
        let factor = f64::from_slurm(digits).map_err(|_| format!("{text} is no weight"))?;
        Ok(Weight { factor, unit })
    }

    /// The weight of one of the resource's own units, which for memory is a MiB.
    pub fn per_unit(self, resource: &str) -> f64 {
        let step = |letter| "KMGTP".find(letter).map_or(0, |place| place as i32 + 1);
        let own = if resource == "mem" || resource.starts_with("bb/") { step('M') } else { 0 };
        match self.unit {
            Some(unit) => self.factor / 1024f64.powi(step(unit) - own),
            None => self.factor,
        }
    }
}

fn table<T>(entries: &BTreeMap<String, T>, show: impl Fn(&T) -> String) -> String {
    let entries: Vec<String> = entries
        .iter()
        .map(|(name, entry)| format!("{} = {}", bare_key(name), show(entry)))
        .collect();
    if entries.is_empty() { "{}".to_string() } else { format!("{{ {} }}", entries.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_know_their_unit() {
        let weights = Weights::from_slurm("CPU=1.0,Mem=0.25G,GRES/gpu=2.0").unwrap();
        assert_eq!(weights.0["mem"].per_unit("mem"), 0.25 / 1024.0);
        assert_eq!(weights.0["gres/gpu"].per_unit("gres/gpu"), 2.0);
        assert_eq!(weights.said(), "CPU=1.0,GRES/gpu=2.0,Mem=0.25G");
        assert_eq!(weights.toml(), "{ cpu = 1, \"gres/gpu\" = 2, mem = \"0.25G\" }");
    }

    #[test]
    fn licences_count_one_by_one() {
        let licences = Counts::from_slurm("matlab:10,ansys@flex*5,abaqus").unwrap();
        assert_eq!(
            (licences.0["matlab"], licences.0["ansys@flex"], licences.0["abaqus"]),
            (10, 5, 1)
        );
    }
}
