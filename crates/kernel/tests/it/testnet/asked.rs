//! Queries of tests to a test network.

use kernel::Reply;

use super::Testnet;

impl Testnet {
    /// Returns a node's counters.
    pub fn figures(&self, node: usize) -> kernel::Figures {
        self.nodes[node].kernel.as_ref().expect("up").figures()
    }

    /// Returns a node's balance over all tokens.
    pub fn balance(&self, node: usize) -> u64 {
        let fungible = |produced: &vault::Produced| {
            produced
                .facts
                .fungible
                .as_ref()
                .map_or(0, |fungible| fungible.quantity)
        };
        self.nodes[node].view.values().map(fungible).sum()
    }

    /// Returns the result of a flow that has ended. Panics with the logs if it has not.
    pub fn ended(&mut self, token: u64) -> Result<bool, String> {
        match self.replies.remove(&token) {
            Some(Reply::Ended {
                outcome, delivered, ..
            }) => match &outcome.result {
                Ok(_) => Ok(delivered),
                Err(rejection) => Err(rejection.code.to_string()),
            },
            Some(Reply::Rejected(rejection)) => Err(rejection.code),
            other => panic!("flow {token}: {other:?}; logs: {:#?}", self.logs),
        }
    }
}
