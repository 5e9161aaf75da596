//! What the machine is to the mathematics: memory that can run out, people who press Ctrl-C, processes
//! that fork, processors with more or fewer vectors.

pub mod erase;
pub mod fork;
pub mod kept;
pub mod memory;
pub mod pool;
pub mod processor;
pub mod progress;
pub mod stop;
