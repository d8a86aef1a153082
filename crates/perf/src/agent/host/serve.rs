//! An agent serves a coordinator as a host.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval};

use super::order::{Answer, Facts, Order, Trouble};
use super::share::Share;
use crate::agent::channel::{Channel, Gone, Sender};
use crate::agent::wire::{Ask, COORDINATOR_SILENCE_MAX, Tell};

/// Orders that are performed at the same time, at most.
const ORDERS_MAX: usize = 32;
/// Interval between two checks of the processes.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Interval between two signs of life.
const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// Closes a share. Orders in progress hold the share a little longer.
struct Closing(Arc<Share>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Performs the coordinator's orders until it is gone. Then everything that it has started ends. Returns the number of
/// nodes that ran until then, in words.
pub(in crate::agent) async fn serve(
    channel: &mut Channel<Ask>,
    binary: PathBuf,
    facts: Facts,
) -> String {
    let share = match Share::new(binary, facts.address) {
        Ok(share) => Arc::new(share),
        Err(error) => return error.to_string(),
    };
    let closing = Closing(Arc::clone(&share));
    // The coordinator is gone in every case.
    let Err(Gone) = until_gone(channel, &share).await;
    let nodes = share.close();
    drop(closing);
    format!("{nodes} nodes of it ran until then")
}

/// Serves until the coordinator is gone.
async fn until_gone(
    channel: &mut Channel<Ask>,
    share: &Arc<Share>,
) -> Result<std::convert::Infallible, Gone> {
    let places = Arc::new(Semaphore::new(ORDERS_MAX));
    let to = channel.sender();
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut alive = interval(ALIVE_EVERY);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard = tokio::time::Instant::now();
    loop {
        let ask = tokio::select! {
            ask = channel.receive() => ask?,
            _ = looks.tick() => {
                for (process, event) in share.events() {
                    to.send(&Tell::Process { process, event }).await?;
                }
                if heard.elapsed() > COORDINATOR_SILENCE_MAX {
                    return Err(Gone);
                }
                continue;
            }
            _ = alive.tick() => {
                to.send(&Tell::Alive).await?;
                continue;
            }
        };
        heard = tokio::time::Instant::now();
        match ask {
            Ask::Alive => {}
            // At once and in order: a process that is stopped and then continued must not end up stopped.
            Ask::Order {
                number,
                order: Order::Signal { process, signal },
            } => {
                share.signal(process, signal.signal());
                let answer = Ok(Answer::Done);
                to.send(&Tell::Answer { number, answer }).await?;
            }
            Ask::Order { number, order } => {
                let place = Arc::clone(&places).acquire_owned().await;
                let place = place.map_err(|_| Gone)?;
                let (share, to) = (Arc::clone(share), to.clone());
                tokio::spawn(async move {
                    perform(share, number, order, to).await;
                    drop(place);
                });
            }
            _ => return Err(Gone),
        }
    }
}

/// Performs an order in a thread of its own, and sends the answer.
async fn perform(share: Arc<Share>, number: u64, order: Order, to: Sender) {
    let performed = tokio::task::spawn_blocking(move || share.perform(order)).await;
    let answer = match performed {
        Ok(answer) => answer.map_err(Trouble::from),
        Err(error) => Err(Trouble::Refused {
            message: format!("the order ended unexpectedly: {error}"),
        }),
    };
    // If the coordinator is gone, it needs no answer.
    let _ = to.send(&Tell::Answer { number, answer }).await;
}
