//! One node's deciding core: wires the flow engine, messaging, resolution, coin selection and the notary into a single
//! pure state machine that the node's shell and the simulator drive alike.

pub mod port;
