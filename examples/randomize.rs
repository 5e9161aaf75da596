//! A column protected by randomized response, from Rust: `cargo run --example randomize`.

use bistochastic::draw::derive::Label;
use bistochastic::draw::key::Key;
use bistochastic::draw::randomize::{Addresses, randomize, refuse};
use bistochastic::error::Result;
use bistochastic::law::{self, parameters::Value};

fn main() -> Result<()> {
    // Four categories, beta 0.6.
    let given = vec![
        ("size".to_owned(), Value::Whole(4)),
        ("beta".to_owned(), Value::Real(0.6)),
    ];
    let matrix = law::build("randomized_response", given)?;
    println!("beta {:.4}, epsilon {:.4}", matrix.beta(), matrix.epsilon());

    // Use `Key::generate()` for a release. This key gives the same reported values every time.
    let key = Key::insecure(1);
    let true_codes = [0u8, 1, 2, 3, 0, 1, 2, 3];
    let mut reported = true_codes;
    let (labels, rows) = (Label::stream("answer"), Addresses::Rows(0));
    let done = randomize(&matrix, &key, &labels, None, &mut reported, rows, 1);
    done.map_err(|refused| refuse(refused, 0, 4))?;
    println!("{true_codes:?} became {reported:?}");
    Ok(())
}
