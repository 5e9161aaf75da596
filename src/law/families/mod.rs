//! From what a caller gives to a law: one builder a family.

pub mod classes;
pub mod composites;
pub mod dense;
pub mod difference_set;
pub mod geometric;
pub mod gibbs;
pub mod randomized_response;
pub mod reflected;
pub mod shifts;
pub mod t_transform;
pub mod tridiagonal;
