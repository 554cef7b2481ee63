//! A daemon on either engine, for a test.

mod postgres;

use std::path::PathBuf;
use std::time::Duration;

use spur_proto::client::{self, Address};
use spur_proto::slurm::accounting_client::AccountingClient;
use spur_proto::slurm::{AccountingView, ListJobHistoryRequest};
use spurdbd::db::Location;
use spurdbd::serve::{self, Options};
use tempfile::TempDir;
use tonic::transport::Channel;

pub use postgres::Server;

/// A running daemon; it ends with the test.
pub struct Daemon {
    pub client: AccountingClient<Channel>,
    task: tokio::task::JoinHandle<()>,
    dir: TempDir,
    database: Location,
}

impl Daemon {
    /// Starts one on a new file.
    pub async fn on_a_file() -> Daemon {
        let dir = tempfile::tempdir().expect("a directory");
        let database = Location::Sqlite(dir.path().join("accounting.db"));
        Daemon::start(dir, database).await
    }

    /// Starts one on a server.
    pub async fn on(server: &Server) -> Daemon {
        let dir = tempfile::tempdir().expect("a directory");
        Daemon::start(dir, Location::parse(&server.url()).expect("a URL")).await
    }

    async fn start(dir: TempDir, database: Location) -> Daemon {
        let (task, client) = serve(dir.path().join("dbd.sock"), database.clone()).await;
        Daemon { client, task, dir, database }
    }

    /// Where it keeps everything.
    #[allow(dead_code)]
    pub fn database(&self) -> &Location {
        &self.database
    }

    /// Ends it without a word and starts it again.
    pub async fn restart(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
        let socket = self.dir.path().join("dbd.sock");
        // What took connections for it ends a moment later.
        while std::os::unix::net::UnixStream::connect(&socket).is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        (self.task, self.client) = serve(socket, self.database.clone()).await;
    }

    /// All jobs an answer has.
    pub async fn jobs(&mut self, request: ListJobHistoryRequest) -> Vec<AccountingView> {
        let mut pages = self.client.list_job_history(request).await.expect("answers").into_inner();
        let mut jobs = Vec::new();
        while let Some(page) = pages.message().await.expect("a page") {
            jobs.extend(page.jobs);
        }
        jobs
    }
}

async fn serve(
    socket: PathBuf,
    database: Location,
) -> (tokio::task::JoinHandle<()>, AccountingClient<Channel>) {
    let options = Options {
        database,
        socket: socket.clone(),
        network: None,
        state_dir: PathBuf::new(),
        migrate: true,
        keep: spurdbd::purge::Keep::default(),
        private: Vec::new(),
        max_span: None,
    };
    let task = tokio::spawn(async move {
        serve::run(options, std::future::pending()).await.expect("serves");
    });
    for _ in 0..2000 {
        if let Ok(channel) = client::connect(&Address::Unix(socket.clone())).await {
            return (task, client::accounting(channel));
        }
        assert!(!task.is_finished(), "the daemon ended");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the daemon does not listen");
}
