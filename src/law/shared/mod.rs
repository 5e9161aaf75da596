//! What several families need.

pub mod canonical;
pub mod classes;
pub mod composite;
pub mod kernel;
