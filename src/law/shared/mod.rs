//! What several families need.

pub mod canonical;
pub mod classes;
pub mod collapse;
pub mod composite;
pub mod kernel;
