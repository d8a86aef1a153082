//! Folders of a network: made, added to, read back, and every mistake that operators make told apart.

mod mistakes;
mod network;
mod stage;
