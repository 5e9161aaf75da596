//! A column drawn a batch at a time, so that signals are looked at in between.

use std::time::{Duration, Instant};

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice};

use super::columns::Columns;
use super::ids::{Given, id};
use crate::py::work::detached;
use crate::randomize::{Addresses, Code, Id, Randomizer, refuse};

/// How long a batch should take before signals are looked at, and how many records the first one has.
const BATCH_TIME: Duration = Duration::from_millis(50);
const FIRST_BATCH: usize = 1 << 18;
const LEAST_BATCH: usize = 1 << 10;

/// Records with ids in a batch at most, and in the first one.
const IDS_BATCH: usize = 1 << 16;
const FIRST_IDS: usize = 1 << 10;

/// Draw for all records, a batch at a time, so that the caller's thread can look at signals.
pub fn run<'py, T: Code + numpy::Element>(
    py: Python<'py>,
    randomizer: &Randomizer<'_>,
    columns: &Columns<'py>,
    given: &Given<'py>,
    threads: usize,
    (size, draws): (u64, u64),
) -> PyResult<()> {
    let codes = columns
        .codes
        .as_ref()
        .map(|codes| codes.cast::<PyArray1<T>>());
    let codes = codes.transpose()?.map(|codes| codes.readonly());
    let codes = codes.as_ref().map(|codes| codes.as_slice()).transpose()?;
    let mut out = columns.out.cast::<PyArray1<T>>()?.readwrite();
    let out = out.as_slice_mut()?;
    let mut start = 0;
    // A composite takes many draws a record.
    let draws = usize::try_from(draws).map_or(usize::MAX, |draws| draws.max(1));
    let (first, least, most) = match given {
        Given::From(_) => (FIRST_BATCH, LEAST_BATCH, 1 << 26),
        // Ids may be long, so the first batch is a short one.
        _ => (FIRST_IDS, 1, IDS_BATCH),
    };
    let mut batch = (first / draws).max(least);
    while start < out.len() {
        let end = out.len().min(start.saturating_add(batch));
        let part = &mut out[start..end];
        let codes = codes.map(|codes| &codes[start..end]);
        let rows = PySlice::new(py, start as isize, end as isize, 1);
        let n = (end - start) as u64;
        let began = Instant::now();
        let mut work = |addresses: Addresses<'_>, numbers: u64| {
            detached(py, numbers, || {
                randomizer.run(codes, &mut *part, addresses, threads)
            })
        };
        let done = match given {
            Given::From(row) => work(
                Addresses::From(row + start as u64),
                n.saturating_mul(draws as u64),
            ),
            Given::Integers(ids, signed) => {
                let ids = ids.get_item(&rows)?;
                let numpy = py.import("numpy")?;
                let wide = if *signed { "int64" } else { "uint64" };
                let ids = numpy.call_method1("require", (ids, wide, "CA"))?;
                // Several blocks of rounds a record are long work even for few.
                let long = (32 * n).saturating_mul(draws as u64);
                if *signed {
                    let ids = ids.cast::<PyArray1<i64>>()?.readonly();
                    work(Addresses::Signed(ids.as_slice()?), long)
                } else {
                    let ids = ids.cast::<PyArray1<u64>>()?.readonly();
                    work(Addresses::Unsigned(ids.as_slice()?), long)
                }
            }
            Given::Objects(items) => {
                let items = items.get_item(&rows)?;
                let items = match items.cast_into::<PyList>() {
                    Ok(list) => list,
                    Err(error) => error.into_inner().call_method0("tolist")?.cast_into()?,
                };
                let items: Vec<Bound<'py, PyAny>> = items.iter().collect();
                let ids: PyResult<Vec<Id<'_>>> = items
                    .iter()
                    .enumerate()
                    .map(|(i, item)| id("ids", item, Some(start + i)))
                    .collect();
                // Nobody knows how long they are.
                work(Addresses::Ids(&ids?), u64::MAX)
            }
        };
        done?.map_err(|refused| refuse(refused, start, size))?;
        // Signals are looked at by the caller's thread, with the GIL, between batches.
        py.check_signals()?;
        let took = began.elapsed();
        if took > 2 * BATCH_TIME {
            batch = (batch / 2).max(least);
        } else if took < BATCH_TIME {
            batch = batch.saturating_mul(2).min(most);
        }
        start = end;
    }
    Ok(())
}
