//! Threads with a connection each. The engines' calls block, and a connection belongs to one thread.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::db::{Connection, Error, Location};

/// Queries at a time.
const THREADS: usize = 4;

type Work = Box<dyn FnOnce(Result<&mut Connection, Error>) + Send>;

/// Hands work to whichever thread is free.
#[derive(Clone)]
pub struct Pool {
    work: Sender<Work>,
}

impl Pool {
    /// Starts the threads; each connects when it has something to do.
    pub fn start(location: &Location) -> std::io::Result<Pool> {
        let (work, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..THREADS {
            let (location, queue) = (location.clone(), queue.clone());
            let name = format!("database-{number}");
            std::thread::Builder::new().name(name).spawn(move || serve(&location, &queue))?;
        }
        Ok(Pool { work })
    }

    /// Does something with a connection.
    pub async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, done) = oneshot::channel();
        let work: Work = Box::new(move |connection| {
            let _ = answer.send(connection.and_then(work));
        });
        self.work.send(work).map_err(|_| Error::Gone)?;
        done.await.unwrap_or(Err(Error::Gone))
    }
}

fn serve(location: &Location, queue: &Mutex<Receiver<Work>>) {
    let mut connection: Option<Connection> = None;
    loop {
        let next = queue.lock().expect("no holder panics").recv();
        let Ok(work) = next else { return };
        // A server that was away has closed its end; the next attempt gets a new one.
        if connection.as_mut().is_some_and(|connection| !connection.is_alive()) {
            connection = None;
        }
        match connection.take().map_or_else(|| Connection::open(location), Ok) {
            Ok(opened) => work(Ok(connection.insert(opened))),
            Err(error) => work(Err(error)),
        }
    }
}
