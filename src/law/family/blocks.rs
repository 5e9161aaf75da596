//! Blocks, Expression (3): classes of given sizes, each a perfect secret (Anatomy).

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::Family;
use crate::law::parameters::{Arguments, Value};
use crate::law::shared::classes::Classes;
use crate::number::lattice::MAX_SIZE;

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    let must = "hold integers from 1 that add up to at most 2^53";
    let sizes = arguments.wholes("sizes", must)?;
    let mut size: u64 = 0;
    for (i, &n) in sizes.iter().enumerate() {
        size = match u64::try_from(n) {
            Ok(n) if n > 0 && n <= MAX_SIZE - size => size + n,
            _ => return Err(Error::value("sizes", must, format!("{n} at {i}"))),
        };
    }
    let parameters = vec![("sizes", Value::Wholes(Arc::clone(&sizes)))];
    let lengths = sizes.iter().map(|&n| (n as u64, 1));
    Ok(Arc::new(Classes::new("blocks", parameters, lengths)))
}
