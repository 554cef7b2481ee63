//! The stream to the controller that leads: dialled again for ever, and never waited for.

use std::time::Duration;

use anyhow::Result;
use spur_proto::address::CONTROLLER_PORT;
use spur_proto::client::{self, Address};
use spur_proto::internal::agent_message::Message as Says;
use spur_proto::internal::controller_message::Message as Hears;
use spur_proto::internal::{AgentMessage, ControllerMessage, Launch};
use spur_proto::status::leader_hint;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tracing::{debug, info, warn};

use crate::agent::Input;

/// Our end of the stream.
pub struct Stream {
    events: mpsc::Receiver<Event>,
    line: Option<Line>,
}

/// An open stream; dropping it hangs up.
struct Line {
    messages: mpsc::Sender<AgentMessage>,
    _open: oneshot::Sender<()>,
}

enum Event {
    Opened(Line),
    Heard(Hears),
    Closed,
}

/// Messages that may wait to be sent. A controller that takes none for so long is better dialled anew:
/// reports are kept, and the tables tell the rest.
const WAITING: usize = 1024;

impl Stream {
    /// Begins to dial.
    pub fn dial(controllers: Vec<Address>) -> Stream {
        let (sender, events) = mpsc::channel(WAITING);
        tokio::spawn(keep_dialling(controllers, sender));
        Stream { events, line: None }
    }

    /// What the stream brings next.
    pub async fn next(&mut self) -> Input {
        match self.events.recv().await {
            Some(event) => self.input(event),
            // The dialler never ends.
            None => std::future::pending().await,
        }
    }

    /// What the stream has brought already.
    pub fn try_next(&mut self) -> Option<Input> {
        let event = self.events.try_recv().ok()?;
        Some(self.input(event))
    }

    /// Sends a message, if there is somebody to send it to.
    pub fn say(&mut self, message: Says) {
        let Some(line) = &self.line else { return };
        if line.messages.try_send(AgentMessage { message: Some(message) }).is_err() {
            warn!("the controller takes no messages; hanging up");
            self.hang_up();
        }
    }

    /// Gives the stream up; another one is dialled.
    pub fn hang_up(&mut self) {
        self.line = None;
    }

    fn input(&mut self, event: Event) -> Input {
        match event {
            Event::Opened(line) => {
                self.line = Some(line);
                Input::Connected
            }
            Event::Heard(message) => Input::Heard(message),
            Event::Closed => {
                self.line = None;
                Input::Disconnected
            }
        }
    }
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

async fn keep_dialling(controllers: Vec<Address>, events: mpsc::Sender<Event>) {
    let mut pause = SHORTEST_PAUSE;
    let mut was_welcome = true;
    let mut next = 0;
    let mut leader = None;
    loop {
        let mut welcome = false;
        let is_hint = leader.is_some();
        let Some(address) = leader.take().or_else(|| controllers.get(next).cloned()) else {
            return;
        };
        let is_only = controllers.len() == 1;
        let ended = session(&address, is_only, &events, &mut welcome).await;
        let error = ended.err();
        let reason = error.as_ref().map_or("closed".to_string(), |error| format!("{error:#}"));
        // Said once for a controller that is away, however long.
        if welcome || was_welcome {
            info!("no stream to the controller: {reason}");
        } else {
            debug!("no stream to the controller: {reason}");
        }
        if events.is_closed() {
            return;
        }
        was_welcome = welcome;
        let status = error.as_ref().and_then(|error| error.downcast_ref::<Status>());
        leader = status.and_then(leader_hint).filter(|_| !is_hint);
        if leader.is_some() {
            continue;
        }
        // One round through all of them, then a rest.
        next = (next + 1) % controllers.len();
        if welcome {
            pause = SHORTEST_PAUSE;
            sleep(pause).await;
        } else if next == 0 {
            pause = (pause * 2).min(LONGEST_PAUSE);
            sleep(pause).await;
        }
    }
}

async fn session(
    controller: &Address,
    is_only: bool,
    events: &mpsc::Sender<Event>,
    welcome: &mut bool,
) -> Result<()> {
    // Where there is no other to go to, one that is slow is not left.
    let channel = match is_only {
        true => client::connect_to_only(controller).await?,
        false => client::connect(controller).await?,
    };
    let (messages, waiting) = mpsc::channel(WAITING);
    let (open, hung_up) = oneshot::channel();
    // The controller answers only once it has our first message, so the stream counts as open now.
    events.send(Event::Opened(Line { messages, _open: open })).await?;
    let conversation = async {
        let mut stream =
            client::agents(channel).session(ReceiverStream::new(waiting)).await?.into_inner();
        while let Some(ControllerMessage { message }) = stream.message().await? {
            let Some(mut message) = message else { continue };
            if let Hears::Launches(launches) = &mut message {
                launches.launches.iter_mut().for_each(|it| tell_where(it, controller));
            }
            if matches!(message, Hears::Welcome(_)) {
                info!("welcome by the controller");
                *welcome = true;
            }
            events.send(Event::Heard(message)).await?;
        }
        Ok(())
    };
    let ended = tokio::select! {
        ended = conversation => ended,
        _ = hung_up => Err(anyhow::anyhow!("we hung up")),
    };
    events.send(Event::Closed).await?;
    ended
}

/// The cluster's name, where its controller is, and two numbers that Slurm's commands compare: the protocol's (25.11)
/// and that of how processors are chosen (`cons_tres`).
fn tell_where(launch: &mut Launch, controller: &Address) {
    let (host, port) = match controller {
        Address::Unix(_) => ("localhost", CONTROLLER_PORT),
        Address::Tls { host, port } => (host.as_str(), *port),
    };
    launch.working_cluster = format!("{}:{host}:{port}:11264:109", launch.cluster_name);
}

#[cfg(test)]
mod tests {
    use spur_proto::internal::Heartbeat;

    use super::*;

    #[test]
    fn a_controller_that_takes_nothing_is_hung_up_on() {
        let (messages, _taken_by_nobody) = mpsc::channel(2);
        let (open, mut hung_up) = oneshot::channel();
        let (_sender, events) = mpsc::channel(1);
        let mut stream = Stream { events, line: Some(Line { messages, _open: open }) };
        let beat = || Says::Heartbeat(Heartbeat::default());
        stream.say(beat());
        stream.say(beat());
        assert_eq!(hung_up.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        stream.say(beat());
        assert_eq!(hung_up.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        stream.say(beat());
    }
}
