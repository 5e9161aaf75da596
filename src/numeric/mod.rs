//! Individuals as categories: classes of records that are close to each other.
//!
//! | file | what it holds |
//! |---|---|
//! | [`columns`] | columns on one scale, and how much of their spread classes lose |
//! | [`cloud`] | points that are taken away: the farthest from a place, the nearest to one |
//! | [`mdav`] | classes of `k` by maximum distance to the average vector, any number of columns |
//! | [`optimal`] | the best classes of at least `k` of one column |
//! | [`anatomy`] | classes of `l` different values, and everything in a random order |

pub mod anatomy;
pub mod cloud;
pub mod columns;
pub mod mdav;
pub mod optimal;
