//! What a plan draws: columns by position in blocks, columns by ids, the key of a numeric column, pseudonyms. And
//! what it counts: the rows of an id.

use std::sync::{Mutex, PoisonError};

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::ids::{HeldIds, one_id};
use super::key::{self, Key, Secret};
use super::matrix::Matrix;
use super::memory::written;
use super::randomize::{Column, Draws};
use super::widths::pair;
use super::work::detached;
use crate::draw::code::each;
use crate::draw::derive::{Label, Purpose};
use crate::draw::plan::{Pseudonyms, column_key, own_key};
use crate::draw::randomize::block::{self, Labels};
use crate::draw::respond::keyed;
use crate::draw::tally;
use crate::error::Error;
use crate::system::pool;

fn names(columns: &[String]) -> Vec<Label> {
    columns.iter().cloned().map(Label::Text).collect()
}

/// The 32 bytes that identify a family with its realised parameters, as hexadecimal digits.
///
/// >>> bs._core.digest_of(bs.uniform(5))[:16]
/// '67fd0e53643b28d9'
#[pyfunction]
pub fn digest_of(py: Python<'_>, matrix: &Bound<'_, Matrix>) -> PyResult<String> {
    let matrix = matrix.get().inner();
    let digest = detached(py, u64::MAX, || *matrix.digest())?;
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Arrays of one column, as they come: names, codes, missing rows, strata, matrices.
type Given<'py> = (
    Vec<String>,
    Bound<'py, PyAny>,
    Option<PyReadonlyArray1<'py, bool>>,
    Option<PyReadonlyArray1<'py, u32>>,
    Vec<Bound<'py, Matrix>>,
);

/// Reports of the columns of a plan by position: consecutive blocks of rows, from block number ``first`` on, up to the
/// end of the table where ``last``. Each column is (names, codes, missing rows, strata, matrices).
#[pyfunction]
pub fn plan_blocks<'py>(
    py: Python<'py>,
    key: &Bound<'py, PyAny>,
    plan: &str,
    release: &str,
    columns: Vec<Given<'py>>,
    first: u64,
    last: bool,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let key = key::given(key)?;
    let labels: Vec<Vec<Label>> = columns.iter().map(|given| names(&given.0)).collect();
    let numpy = py.import("numpy")?;
    let (mut answers, mut pairs) = (Vec::new(), Vec::new());
    for given in &columns {
        // Through Python, so that an allocation that fails is a MemoryError.
        let out = numpy.call_method1("empty_like", (&given.1,))?;
        pairs.push(pair(&given.1, &out)?);
        answers.push(out);
    }
    let matrices = columns
        .iter()
        .map(|given| given.4.iter().map(|m| m.get().inner()).collect());
    let matrices: Vec<Vec<_>> = matrices.collect();
    let mut blocks = Vec::new();
    for (i, (given, pair)) in columns.iter().zip(&mut pairs).enumerate() {
        let codes = each!(pair, as_such, (codes, out) => {
            as_such((codes.as_slice()?, out.as_slice_mut()?))
        });
        blocks.push(block::Column {
            names: &labels[i],
            codes,
            missing: given.2.as_ref().map(|array| array.as_slice()).transpose()?,
            strata: given.3.as_ref().map(|array| array.as_slice()).transpose()?,
            matrices: &matrices[i],
        });
    }
    let labels = Labels { plan, release };
    let threads = pool::threads();
    let drawn = detached(py, u64::MAX, || {
        block::run(key, labels, blocks, (first, last), threads)
    })?;
    drawn?;
    Ok(answers)
}

/// Reports of a column of a plan by ids: the same person with the same code has the same report in every file.
#[pyfunction]
pub fn plan_ids<'py>(
    py: Python<'py>,
    key: &Bound<'py, PyAny>,
    plan: &str,
    columns: Vec<String>,
    matrix: &Bound<'py, Matrix>,
    codes: &Bound<'py, PyAny>,
    ids: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let labels = Label::plan(plan, [Label::List(names(&columns))]);
    let matrix = matrix.get().inner();
    let draws = Draws {
        matrix,
        secret: &Secret::labelled(key::given(key)?, labels),
        column: Column::new(codes, matrix.size(), None)?,
        threads: pool::threads(),
    };
    draws.by_ids(py, ids)
}

/// The reported code of one record of a plan by its id, as `plan_ids` draws it.
#[pyfunction]
pub fn plan_respond(
    key: &Bound<'_, PyAny>,
    plan: &str,
    columns: Vec<String>,
    matrix: &Bound<'_, Matrix>,
    code: u64,
    id: &Bound<'_, PyAny>,
) -> PyResult<u64> {
    let labels = Label::plan(plan, [Label::List(names(&columns))]);
    let secret = Secret::labelled(key::given(key)?, labels);
    let id = one_id("id", id, None)?;
    let matrix = matrix.get().inner();
    Ok(keyed(matrix, secret.key(), &secret.labels, code, id)?)
}

/// The key of the order of a numeric column: another for other values.
///
/// ``values`` are the column as words of eight bytes; ``kind`` says of what.
#[pyfunction]
pub fn plan_column_key(
    py: Python<'_>,
    key: &Bound<'_, PyAny>,
    plan: &str,
    release: &str,
    column: &str,
    kind: &str,
    values: PyReadonlyArray1<'_, u64>,
) -> PyResult<Key> {
    let key = key::given(key)?;
    let values = values.as_slice()?;
    let derived = detached(py, values.len() as u64, || {
        column_key(key, (plan, release, column), kind, values)
    })?;
    Ok(derived.into())
}

/// The key for one purpose of a plan: the "rows" of a release, the "units" of a column, the "numbers" inside one
/// reported class of a binned column. The labels are texts, lists of texts, integers.
#[pyfunction]
pub fn plan_key(
    key: &Bound<'_, PyAny>,
    purpose: &str,
    plan: &str,
    labels: Vec<Bound<'_, PyAny>>,
) -> PyResult<Key> {
    let purpose = match purpose {
        "rows" => Purpose::Rows,
        "units" => Purpose::Units,
        "numbers" => Purpose::Numbers,
        _ => return Err(Error::value("purpose", "be rows, units or numbers", purpose).into()),
    };
    let label = |given: &Bound<'_, PyAny>| -> PyResult<Label> {
        Ok(match given.cast::<PyList>() {
            Ok(list) => Label::List(names(&list.extract::<Vec<String>>()?)),
            Err(_) => match given.extract::<u64>() {
                Ok(number) => Label::Integer(number.into()),
                Err(_) => Label::Text(given.extract()?),
            },
        })
    };
    let labels = labels.iter().map(label).collect::<PyResult<_>>()?;
    Ok(own_key(key::given(key)?, purpose, plan, labels).into())
}

/// Pseudonyms: a keyed hash of 16 bytes for every id, the same in every wave of a plan.
#[pyfunction]
pub fn plan_pseudonyms<'py>(
    py: Python<'py>,
    key: &Bound<'py, PyAny>,
    plan: &str,
    ids: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let pseudonyms = Pseudonyms::new(key::given(key)?, plan);
    let ids = HeldIds::new(ids)?;
    let (shape, read) = ([ids.len() as u64, 16], ids.read(py)?);
    let ids = read.ids();
    written(py, "pseudonyms", &shape, u64::MAX, |to| {
        pseudonyms.fill(ids, to)
    })
}

/// Rows of an id, in bounded memory: Misra and Gries.
///
/// An id with more than ``bound`` rows is always found, and one with at most ``limit`` never. The two are the same up
/// to about 2^20 ids.
#[pyclass(frozen, module = "bistochastic._core")]
pub struct Tally(Mutex<tally::Tally>);

impl Tally {
    /// Never with the GIL: the thread that holds the lock may be waiting for it.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut tally::Tally) -> T + Send,
    ) -> PyResult<T> {
        detached(py, u64::MAX, || {
            work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }
}

#[pymethods]
impl Tally {
    #[new]
    fn new(limit: u64) -> Self {
        Tally(Mutex::new(tally::Tally::new(limit)))
    }

    /// Count rows by their pseudonyms; the position of the first that is one too many, if any.
    fn add(&self, py: Python<'_>, pseudonyms: PyReadonlyArray2<'_, u8>) -> PyResult<Option<usize>> {
        let bytes = pseudonyms.as_slice()?;
        self.with(py, |tally| tally.add(bytes.as_chunks().0))
    }

    /// More rows than this would have been found.
    #[getter]
    fn bound(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |tally| tally.bound())
    }
}
