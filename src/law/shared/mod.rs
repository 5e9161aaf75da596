//! What several families need.

pub mod classes;
pub mod closed;
pub mod collapse;
pub mod composite;
pub mod kernel;
