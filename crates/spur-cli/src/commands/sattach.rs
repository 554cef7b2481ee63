//! `sattach`: the output of a step that runs, beside whoever started it.

use spur_core::errors::SlurmError;
use spur_core::hostlist;
use spur_core::ids::StepId;
use spur_core::job::reference::{JobReference, Part};
use spur_core::tools::sattach::TOOL;
use spur_proto::caller::CallError;
use spur_proto::slurm::controller_client::ControllerClient;
use spur_proto::slurm::{StepAccess, StepAccessRequest};
use tokio::sync::mpsc;

use super::srun::ended;
use super::srun::nodes::{self, News};
use super::srun::output::{Manner, Piece, Writer};
use super::{Ended, allocation};
use crate::cluster;
use crate::output::{complain, print};

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match Query::read(args) {
        Ok(query) => cluster::block_on(attach(query)),
        Err(Ended(status)) => status,
    }
}

/// What is asked for.
struct Query {
    job: u32,
    step: StepId,
    label: bool,
    layout: bool,
    output: Option<u32>,
    error: Option<u32>,
}

impl Query {
    fn read(args: &[String]) -> Result<Query, Ended> {
        let words = super::read_tool(&TOOL, args)?;
        let refuse = |message: &str| {
            complain("sattach", message);
            print(TOOL.usage);
            Ended(1)
        };
        let [word] = &words.rest[..] else { return Err(refuse("too many parameters")) };
        let unread = || refuse("Failed to parse stepid from command line options");
        let reference = JobReference::parse(word).ok_or_else(unread)?;
        let step = reference.step.as_deref().and_then(StepId::parse).ok_or_else(unread)?;
        if !matches!(reference.part, Part::Whole) {
            return Err(unread());
        }
        let mut query = Query {
            job: reference.job,
            step,
            label: false,
            layout: false,
            output: None,
            error: None,
        };
        for (flag, value) in &words.options {
            match flag.long {
                "label" => query.label = true,
                "layout" => query.layout = true,
                "output-filter" => query.output = value.parse().ok(),
                "error-filter" => query.error = value.parse().ok(),
                _ => {}
            }
        }
        Ok(query)
    }

    /// Whether a piece of output is wanted.
    fn wants(&self, piece: &Piece) -> bool {
        let fits = |only: Option<u32>, rank: u32| only.is_none_or(|only| only == rank);
        match piece {
            Piece::Bytes { rank, is_error: true, .. } => fits(self.error, *rank),
            Piece::Bytes { rank, .. } => fits(self.output, *rank),
            Piece::Line(_) => true,
        }
    }
}

async fn attach(query: Query) -> u8 {
    let request = StepAccessRequest { job_id: query.job, step_id: query.step.0, measure: false };
    let ask = |mut client: ControllerClient<_>| async move { client.access_step(request).await };
    let access: StepAccess = match allocation::caller().call(ask).await {
        Ok(access) => access,
        Err(error) => {
            // Of a job that runs Slurm knows no step that is over.
            let error = match error {
                CallError::Refused(SlurmError::AlreadyDone | SlurmError::InvalidJobId) => {
                    let lack = allocation::not_running(query.job).await;
                    lack.unwrap_or(SlurmError::InvalidJobId).to_string()
                }
                error => error.to_string(),
            };
            complain("sattach", format!("Could not get job step info: {error}"));
            return 1;
        }
    };
    if query.layout {
        print(&layout(&access));
        return 0;
    }
    follow(&query, &access).await
}

/// Passes on what tasks write until all of them are over.
async fn follow(query: &Query, access: &StepAccess) -> u8 {
    let tasks: u32 = access.nodes.iter().map(|node| node.ranks.len() as u32).sum();
    let width = tasks.saturating_sub(1).to_string().len();
    let writer = Writer::start(Manner {
        label: query.label.then_some(width),
        unbuffered: tasks == 1,
        output: None,
        error: None,
        joined: false,
    });
    let (pieces, mut written) = mpsc::channel::<Piece>(16);
    let (sender, mut news) = mpsc::unbounded_channel();
    let mut nodes = nodes::connect(access, None, nodes::Before::default(), &pieces, &sender);
    drop((pieces, sender));
    let mut status = 0;
    let mut reading = true;
    while reading || !nodes.iter().all(|node| node.over) {
        tokio::select! {
            piece = written.recv(), if reading => match piece {
                Some(piece) if query.wants(&piece) => {
                    let _ = writer.pieces.send(piece).await;
                }
                Some(_) => {}
                None => reading = false,
            },
            told = news.recv() => match told {
                Some(News::Exited { rank, status: of_task, .. }) => {
                    status = status.max(of_task);
                    let (code, signal) = (of_task >> 8, of_task & 0x7f);
                    if code != 0 && signal == 0 {
                        let how = format!("task {rank} exited with exit code {code}");
                        let line = Piece::Line(format!("sattach: error: {how}\n"));
                        let _ = writer.pieces.send(line).await;
                    }
                }
                Some(News::Over(at) | News::Lost(at)) => nodes[at].over = true,
                Some(News::Refused(at, why)) => {
                    complain("sattach", format!("{}: {why}", nodes[at].name));
                    nodes[at].over = true;
                    status = status.max(256);
                }
                Some(_) => {}
                None => break,
            },
            // The step goes on without us.
            _ = tokio::signal::ctrl_c() => return 1,
        }
        if nodes.iter().all(|node| node.over) && written.is_empty() {
            break;
        }
    }
    while let Ok(piece) = written.try_recv() {
        if query.wants(&piece) {
            let _ = writer.pieces.send(piece).await;
        }
    }
    let finished = tokio::task::spawn_blocking(move || writer.finish()).await;
    drop(finished);
    ended::exit_code(status)
}

/// Which task is where, as `--layout` prints it.
fn layout(access: &StepAccess) -> String {
    let tasks: usize = access.nodes.iter().map(|node| node.ranks.len()).sum();
    let names = hostlist::compress(access.nodes.iter().map(|node| node.name.as_str()));
    let mut text =
        format!("Job step layout:\n\t{tasks} tasks, {} nodes ({names})\n\n", access.nodes.len());
    for (place, node) in access.nodes.iter().enumerate() {
        let ranks: Vec<String> = node.ranks.iter().map(u32::to_string).collect();
        text.push_str(&format!(
            "\tNode {place} ({}), {} task(s): {} \n",
            node.name,
            ranks.len(),
            ranks.join(" ")
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Option<(u32, StepId)> {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        Query::read(&words).ok().map(|query| (query.job, query.step))
    }

    #[test]
    fn a_step_is_named_by_job_and_number() {
        assert_eq!(read(&["-l", "7.1"]), Some((7, StepId(1))));
        assert_eq!(read(&["7.batch"]), Some((7, StepId::BATCH)));
        assert_eq!((read(&["7"]), read(&[]), read(&["abc"])), (None, None, None));
    }
}
