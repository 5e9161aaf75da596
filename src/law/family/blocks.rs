//! Blocks, Expression (3): classes of given sizes, each a perfect secret (Anatomy).

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::Family;
use crate::law::parameters::{Arguments, Value};
use crate::law::shared::classes::Classes;
use crate::number::lattice::MAX_SIZE;

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    arguments.known(&["sizes"])?;
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

#[cfg(test)]
mod tests {
    use crate::law::battery::{check_laws, make};
    use crate::law::parameters::Value;
    use crate::law::rate::beta;

    fn blocks(sizes: &[i64]) -> crate::error::Result<crate::law::Matrix> {
        make("blocks", &[("sizes", Value::Wholes(sizes.into()))])
    }

    #[test]
    fn laws() {
        for sizes in [&[1][..], &[4], &[2, 2, 3, 3, 2], &[1, 1, 5], &[10, 1, 1]] {
            check_laws(&blocks(sizes).unwrap());
        }
    }

    #[test]
    fn a_beta_that_is_a_double_is_that_double() {
        assert_eq!(beta(&*blocks(&[1, 1, 2]).unwrap().family), 0.25);
        let nine_pairs_and_six_triples = [[2; 9].as_slice(), &[3; 6]].concat();
        assert_eq!(
            beta(&*blocks(&nine_pairs_and_six_triples).unwrap().family),
            0.25
        );
    }
}
