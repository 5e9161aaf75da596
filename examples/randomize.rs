//! A column protected by randomized response, from Rust: `cargo run --example randomize`.

use bistochastic::{Key, Matrix, Result, Rows, Target};

fn main() -> Result<()> {
    let matrix = Matrix::randomized_response(4, Target::Beta(0.6))?;
    println!("beta {:.4}, epsilon {:.4}", matrix.beta(), matrix.epsilon());

    // Use `Key::generate()?` for a release. This key gives the same reported values every time.
    let key = Key::insecure(1);
    let true_codes = [0u8, 1, 2, 3, 0, 1, 2, 3];
    let mut reported = true_codes;
    matrix.randomize(&mut reported, &key, "answer", Rows(0))?;
    println!("{true_codes:?} became {reported:?}");
    Ok(())
}
