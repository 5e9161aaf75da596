//! What the machine is to the mathematics: memory that can run out, people who press Ctrl-C, processes
//! that fork.

pub mod fork;
pub mod kept;
pub mod memory;
pub mod stop;
