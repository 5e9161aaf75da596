//! Classes of records and the tables of Anatomy, from NumPy's arrays.

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use super::key::Secret;
use super::work::detached;
use crate::draw::derive::Purpose;
use crate::error::Error;
use crate::law::digest;
use crate::law::parameters::Value;
use crate::numeric::columns::{self as scales, Kind};
use crate::numeric::{anatomy as tables, mdav, optimal};
use crate::system::memory::{self, Gather};
use crate::system::stop::Paced;

type Wholes<'py> = Bound<'py, PyArray1<i64>>;

fn wholes<'py>(py: Python<'py>, numbers: &[u32]) -> PyResult<Wholes<'py>> {
    let numbers = detached(py, numbers.len() as u64, || {
        numbers.iter().map(|&n| i64::from(n)).gather()
    })?;
    Ok(numbers.into_pyarray(py))
}

/// Integers below `most` as the core counts them.
fn codes(given: &[i64], most: usize) -> Result<Vec<u32>, Error> {
    let code = |&n: &i64| u32::try_from(n).ok().filter(|&n| (n as usize) < most);
    let must = format!("be from 0 to below {most}");
    let outside = |i| Error::value("codes", &*must, format!("one outside, at {i}"));
    let given = (0..).zip(given).paced();
    memory::all(given.map(|(i, n)| code(n).ok_or_else(|| outside(i))))
}

/// Refuses what the core would have no room to count.
fn countable(n: usize, k: usize) -> Result<(), Error> {
    if n < k || n >= u32::MAX as usize || k < 2 {
        let must = format!("be from 2 to the number of records, {n}, below 2^32 - 1");
        return Err(Error::value("k", must, k));
    }
    Ok(())
}

/// The class of each row, the size of each class and the information loss. ``kinds`` says for each column what it
/// holds: -1 for numbers to be standardized, 0 for numbers as they are, else the number of codes. One column of numbers is divided in the
/// best way, others by MDAV.
#[pyfunction]
pub fn group<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray2<'py, f64>,
    kinds: Vec<i64>,
    k: usize,
) -> PyResult<(Wholes<'py>, Wholes<'py>, f64)> {
    let (n, d) = (rows.shape()[0], rows.shape()[1]);
    countable(n, k)?;
    let rows = rows.as_slice()?;
    let kinds: Vec<Kind> = kinds
        .into_iter()
        .map(|kind| match kind {
            ..0 => Kind::Number,
            0 => Kind::Scaled,
            levels => Kind::Nominal(levels as usize),
        })
        .collect();
    if kinds.len() != d || d == 0 {
        let must = format!("say what each of {d} columns holds, one at least");
        return Err(Error::value("kinds", must, kinds.len()).into());
    }
    let (classes, sizes, loss) = detached(py, u64::MAX, || {
        let scaled = scales::on_one_scale(rows, &kinds);
        let mut classes = match kinds[..] {
            [Kind::Number | Kind::Scaled] => optimal::classes(&scaled, k),
            _ => mdav::classes(&scaled, &scales::levels(&kinds), k),
        };
        let sizes = scales::numbered(&mut classes);
        let loss = scales::information_loss(&scaled, &kinds, &classes, &sizes);
        (classes, sizes, loss)
    })?;
    Ok((wholes(py, &classes)?, wholes(py, &sizes)?, loss))
}

/// The mean of each column in each class, a row for each class.
#[pyfunction]
pub fn class_means<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray2<'py, f64>,
    classes: PyReadonlyArray1<'py, i64>,
    sizes: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (n, d) = (rows.shape()[0], rows.shape()[1]);
    let (classes, sizes) = (classes.as_slice()?, sizes.as_slice()?);
    if classes.len() != n || d == 0 {
        return Err(Error::value("classes", format!("hold {n}"), classes.len()).into());
    }
    let rows = rows.as_slice()?;
    let means = detached(py, rows.len() as u64, || {
        let classes = codes(classes, sizes.len())?;
        let sizes = codes(sizes, n + 1)?;
        Ok::<_, Error>(scales::means(rows, d, &classes, &sizes))
    })??;
    means.into_pyarray(py).reshape([sizes.len(), d])
}

/// ``(classes, rows, others)``: the class of each record, and two random orders of the records, for the two tables.
/// ``columns`` holds the codes of all columns, one after the other; the last one is the sensitive one if there is an
/// ``l``. Else ``classes`` are those that were found, and only their numbers are drawn.
#[pyfunction]
#[pyo3(signature = (records, columns, classes, k, l, key, stream))]
#[allow(clippy::too_many_arguments)]
pub fn anatomy<'py>(
    py: Python<'py>,
    records: usize,
    columns: PyReadonlyArray1<'py, i64>,
    classes: Option<PyReadonlyArray1<'py, i64>>,
    k: usize,
    l: Option<usize>,
    key: Option<&Bound<'py, PyAny>>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Wholes<'py>, Wholes<'py>, Wholes<'py>)> {
    let secret = Secret::new(key, stream)?;
    countable(records, k)?;
    let columns = columns.as_slice()?;
    let given = classes.as_ref().map(|classes| classes.as_slice());
    let given = given.transpose()?.unwrap_or(&[]);
    let fits = match l {
        None => given.len() == records,
        Some(l) => l >= k && l <= records && columns.len() >= records,
    };
    if !fits {
        let must = format!("hold a class or codes for each of {records} records");
        let got = format!("{} classes and {} codes", given.len(), columns.len());
        return Err(Error::value("columns", must, got).into());
    }
    // What is dealt out decides the words too: two files under one label share none.
    let digest = detached(py, u64::MAX, || {
        let whole = |n: usize| Value::Whole(n as i128);
        digest::of(
            "anatomy",
            &[
                ("records", whole(records)),
                ("k", whole(k)),
                ("l", whole(l.unwrap_or(0))),
                ("columns", Value::Wholes(memory::shared_copy(columns))),
                ("classes", Value::Wholes(memory::shared_copy(given))),
            ],
        )
    })?;
    let keystream = secret.keystream(Purpose::Anatomy, &[], &digest);
    let drawn = detached(py, u64::MAX, || {
        let mut words = keystream.words();
        let mut classes = match l {
            None => codes(given, records)?,
            Some(l) => {
                let codes = codes(&columns[columns.len() - records..], records)?;
                tables::classes(&codes, records, l, &mut words)
            }
        };
        let made = scales::numbered(&mut classes).len();
        let ids = tables::shuffled(made, &mut words);
        for class in classes.iter_mut().paced() {
            *class = ids[*class as usize];
        }
        let rows = tables::shuffled(records, &mut words);
        let others = tables::shuffled(records, &mut words);
        Ok::<_, Error>((classes, rows, others))
    })??;
    let (classes, rows, others) = drawn;
    Ok((
        wholes(py, &classes)?,
        wholes(py, &rows)?,
        wholes(py, &others)?,
    ))
}
