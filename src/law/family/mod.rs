//! One law, one file.

pub mod balance;
pub mod blocks;
pub mod circulant;
pub mod dense;
pub mod geometric;
pub mod gibbs;
pub mod identity;
pub mod k_anonymous;
pub mod kron;
pub mod mix;
pub mod permutation;
pub mod product;
pub mod randomized_response;
pub mod reflected;
pub mod t_transform;
pub mod tridiagonal;
pub mod uniform;
