//! `sprio`: what the priorities of pending jobs are made of.

use spur_core::fields::priority::{DEFAULT, LONG, LONG_NORMAL, NORMAL, PRIORITY_FIELDS};
use spur_core::fields::{RenderContext, format, render};
use spur_core::getopt::Flag;
use spur_core::tools::sprio::TOOL;
use spur_core::views::PriorityView;

use super::Ended;
use crate::cluster::Controller;
use crate::output::{complain, print};
use crate::zone;

/// What is asked for.
#[derive(Default)]
struct Query {
    jobs: Vec<u32>,
    users: Vec<String>,
    partitions: Vec<String>,
    format: Option<String>,
    long: bool,
    norm: bool,
    weights: bool,
    no_header: bool,
    sort: Option<String>,
    named_cluster: bool,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match answers(args) {
        Ok(()) => 0,
        Err(Ended(status)) => status,
    }
}

fn answers(args: &[String]) -> Result<(), Ended> {
    let mut controller = Controller::find();
    let query = read(args, &mut controller)?;
    if let Some(user) = query.users.iter().find(|name| !is_user(name)) {
        complain("sprio", format!("Invalid user: {user}\n"));
    }
    let mut rows = controller.priorities().map_err(|error| {
        complain("sprio", format!("Couldn't get priority factors from controller: {error}"));
        Ended(1)
    })?;
    // Which cluster it is is told to those who ask for one.
    if !query.named_cluster {
        rows.iter_mut().for_each(|row| row.cluster.clear());
    }
    let is_sorted = rows.iter().any(|row| !row.is_weights && is_wanted(&query, row));
    print(&table(&query, rows));
    // Slurm reads from the end, so the last one is the one it names.
    let letters = query.sort.iter().flat_map(|order| order.chars().rev());
    let unknown = |letter: &char| !"+-,".contains(*letter) && !SORTED_BY.contains(*letter);
    match letters.filter(unknown).find(|_| is_sorted) {
        None => Ok(()),
        Some(letter) => {
            complain("sprio", format!("Invalid sort specification: {letter}"));
            Err(Ended(1))
        }
    }
}

fn read(args: &[String], controller: &mut Controller) -> Result<Query, Ended> {
    let mut query = Query::default();
    let words = super::read_tool(&TOOL, args)?;
    if let Some(word) = words.rest.first() {
        complain("sprio", format!("Unrecognized option: {word}"));
        print(TOOL.usage);
        return Err(Ended(1));
    }
    let mut said = TOOL.read_variables(|name| std::env::var(name).ok());
    said.extend(words.options);
    let loud = said.iter().filter(|(flag, _)| flag.long == "verbose").count();
    if loud > 0 {
        print(&told(&said, loud));
    }
    let list = |value: &str| value.split(',').map(str::to_string).collect::<Vec<_>>();
    for (flag, value) in said {
        match flag.long {
            "jobs" => {
                let jobs = value.split(',').map(|word| word.trim().parse::<u32>());
                query.jobs = jobs.collect::<Result<_, _>>().map_err(|_| {
                    complain("sprio", format!("Invalid job id: {value}"));
                    Ended(1)
                })?;
            }
            "user" => query.users.extend(list(&value)),
            "partition" => query.partitions.extend(list(&value)),
            "format" => query.format = Some(value),
            "long" => query.long = true,
            "norm" => query.norm = true,
            "weights" => query.weights = true,
            "noheader" => query.no_header = true,
            "sort" => query.sort = Some(value),
            "clusters" => {
                super::check_cluster("sprio", &value, controller)?;
                query.named_cluster = true;
            }
            _ => {}
        }
    }
    Ok(query)
}

/// What `-v` prints first: what was understood.
fn told(said: &[(Flag, String)], loud: usize) -> String {
    let last = |name: &str| said.iter().rev().find(|(flag, _)| flag.long == name);
    let text = |name: &str| last(name).map_or("(null)", |(_, value)| value.as_str());
    let rule = "-----------------------------\n";
    format!(
        "{rule}format     = {}\njob_flag   = {}\njobs       = {}\npartition  = {}\nusers      = {}\n\
         verbose    = {loud}\n{rule}\n\n",
        text("format"),
        u8::from(last("jobs").is_some()),
        text("jobs"),
        text("partition"),
        text("user"),
    )
}

fn table(query: &Query, rows: Vec<PriorityView>) -> String {
    let (weights, mut jobs): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.is_weights);
    let weights = weights.into_iter().next().unwrap_or_default();
    jobs.retain(|row| is_wanted(query, row));
    if jobs.is_empty() && !query.jobs.is_empty() && !query.weights {
        return "Unable to find jobs matching user/id(s) specified\n".to_string();
    }
    let known = |letter: char| "+-,".contains(letter) || SORTED_BY.contains(letter);
    match query.sort.iter().flat_map(|order| order.chars()).all(known) {
        true => sort(query, &mut jobs),
        // The header is all that is told.
        false => jobs.clear(),
    }
    let spec = query.format.clone().unwrap_or_else(|| layout(query, &weights));
    let format = format::letters(PRIORITY_FIELDS, &spec);
    for problem in &format.problems {
        complain("sprio", format!("Invalid job format specification: {problem}"));
    }
    // What no field is called is left out.
    let mut columns = format.columns;
    columns.retain(|column| column.field.is_some() || !column.suffix.starts_with('%'));
    let context =
        RenderContext { now: zone::now(), offset_at: &zone::offset_at, ..RenderContext::default() };
    let mut lines = Vec::new();
    if !query.no_header {
        lines.push(render::header(&columns));
    }
    match query.weights {
        true => lines.push(render::row(&columns, &weights, &context)),
        false => lines.extend(jobs.iter().map(|row| render::row(&columns, row, &context))),
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Factors that weigh nothing are left out; `-n` shows factors instead of what they come to.
fn layout(query: &Query, weights: &PriorityView) -> String {
    let weight = |letter: char| match letter.to_ascii_uppercase() {
        'A' => weights.age_weight,
        'B' => weights.association_weight,
        'F' => weights.fairshare_weight,
        'J' => weights.job_size_weight,
        'P' => weights.partition_weight,
        'Q' => weights.qos_weight,
        'T' => u32::from(!weights.tres_weights.is_empty()),
        _ => 1,
    };
    let whole = match (query.norm, query.long) {
        (false, false) => DEFAULT,
        (false, true) => LONG,
        (true, false) => NORMAL,
        (true, true) => LONG_NORMAL,
    };
    let columns: Vec<&str> = whole
        .split(' ')
        .filter(|column| {
            let letter = column.chars().last().unwrap_or('i');
            query.long || letter == 'y' || weight(letter) > 0
        })
        .collect();
    // Weights are what they are, whichever way factors are told.
    let turned: Vec<String> = columns
        .iter()
        .map(|column| match column.chars().last() {
            Some(letter @ ('a' | 'b' | 'f' | 'j' | 'p' | 'q' | 't')) if query.weights => {
                column.replace(letter, &letter.to_ascii_uppercase().to_string())
            }
            _ => (*column).to_string(),
        })
        .collect();
    let mut columns: Vec<&str> = turned.iter().map(String::as_str).collect();
    // Who asks for users is told whose each line is.
    if !query.users.is_empty() && !query.long {
        columns.insert(2, "%.8u");
    }
    columns.join(" ")
}

fn is_user(name: &str) -> bool {
    name.parse::<u32>().is_ok() || matches!(nix::unistd::User::from_name(name), Ok(Some(_)))
}

fn is_wanted(query: &Query, row: &PriorityView) -> bool {
    let is = |list: &[String], word: &str| list.is_empty() || list.iter().any(|one| one == word);
    (query.jobs.is_empty()
        || query.jobs.contains(&row.job_id)
        || query.jobs.contains(&row.array_job_id))
        && is(&query.users, &row.user_name)
        && is(&query.partitions, &row.partition)
}

/// Letters of `-S`.
const SORTED_BY: &str = "AaBbFfijJNPpQqruTtYySs";

/// By the letters of `-S`, each with `-` in front to turn it round; else by job.
fn sort(query: &Query, rows: &mut [PriorityView]) {
    rows.sort_by_key(|row| row.job_id);
    let Some(order) = &query.sort else { return };
    for key in order.split(',').rev() {
        let (turned, letter) = match key.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, key.strip_prefix('+').unwrap_or(key)),
        };
        let Some(letter) = letter.chars().next() else { continue };
        rows.sort_by(|a, b| {
            let order = match letter {
                'i' => a.job_id.cmp(&b.job_id),
                'u' => a.user_name.cmp(&b.user_name),
                'r' => a.partition.cmp(&b.partition),
                'y' | 'Y' => a.priority.cmp(&b.priority),
                'N' => a.nice.cmp(&b.nice),
                'a' | 'A' => a.age.total_cmp(&b.age),
                'f' | 'F' => a.fairshare.total_cmp(&b.fairshare),
                'j' | 'J' => a.job_size.total_cmp(&b.job_size),
                'p' | 'P' => a.partition_factor.total_cmp(&b.partition_factor),
                'q' | 'Q' => a.qos_factor.total_cmp(&b.qos_factor),
                _ => std::cmp::Ordering::Equal,
            };
            if turned { order.reverse() } else { order }
        });
    }
}
