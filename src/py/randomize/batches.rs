//! A column drawn a batch at a time, so that signals are looked at in between.

use std::time::{Duration, Instant};

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice};

use super::columns::Columns;
use super::ids::Keyed;
use crate::draw::code::{Width, typed};
use crate::draw::randomize::{Address, Code, Id, Many, Randomizer, Refused, Rows, refuse};
use crate::py::id::one_id;
use crate::py::spelled::of_ids;
use crate::py::work::{detached, guarded};

/// How long a batch should take before signals are looked at, and how many records the first one has.
const BATCH_TIME: Duration = Duration::from_millis(50);
const FIRST_BATCH: usize = 1 << 18;
const LEAST_BATCH: usize = 1 << 10;

/// Records with ids in a batch at most, where they are objects of Python's and where not, and in the first one: whole
/// numbers are never long.
const OBJECTS_BATCH: usize = 1 << 16;
const IDS_BATCH: usize = 1 << 18;
const FIRST_INTEGERS: usize = 1 << 17;
const FIRST_IDS: usize = 1 << 10;

/// Draw for all records, a batch at a time, so that the caller's thread can look at signals.
pub fn run<'py>(
    py: Python<'py>,
    columns: &Columns<'py>,
    keyed: &Keyed<'_, 'py>,
    threads: usize,
    sizes: (u64, u64),
) -> PyResult<()> {
    typed!(Width::of_bytes(columns.bytes), T => run_as::<T>(py, columns, keyed, threads, sizes))
}

fn run_as<'py, T: Code + numpy::Element>(
    py: Python<'py>,
    columns: &Columns<'py>,
    keyed: &Keyed<'_, 'py>,
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
    // A composite takes many draws per record.
    let draws = usize::try_from(draws).map_or(usize::MAX, |draws| draws.max(1));
    let (first, least, most) = match keyed {
        Keyed::Rows(..) => (FIRST_BATCH, LEAST_BATCH, 1 << 26),
        Keyed::Integers(..) => (FIRST_INTEGERS, 1, IDS_BATCH),
        // Ids may be long, so the first batch is a short one.
        Keyed::Spelled(..) => (FIRST_IDS, 1, IDS_BATCH),
        Keyed::Objects(..) => (FIRST_IDS, 1, OBJECTS_BATCH),
    };
    let mut batch = (first / draws).max(least);
    while start < out.len() {
        let mut end = out.len().min(start.saturating_add(batch));
        if let Keyed::Spelled(_, ids) = keyed {
            // Up to the end of their part.
            end = start + ids.get().from(start, end).len();
        }
        let part = &mut out[start..end];
        let codes = codes.map(|codes| &codes[start..end]);
        let rows = PySlice::new(py, start as isize, end as isize, 1);
        let n = (end - start) as u64;
        let began = Instant::now();
        let now = Batch {
            py,
            codes,
            out: part,
            threads,
        };
        let done = match keyed {
            Keyed::Rows(randomizer, row) => {
                let rows = Rows(row + start as u64);
                now.draw(randomizer, rows, n.saturating_mul(draws as u64))
            }
            Keyed::Integers(randomizer, ids, signed) => {
                let ids = ids.get_item(&rows)?;
                let numpy = py.import("numpy")?;
                let wide = if *signed { "int64" } else { "uint64" };
                let ids = numpy.call_method1("require", (ids, wide, "CA"))?;
                // Several blocks of rounds a record are long work even for few.
                let long = (32 * n).saturating_mul(draws as u64);
                if *signed {
                    let ids = ids.cast::<PyArray1<i64>>()?.readonly();
                    now.draw(randomizer, ids.as_slice()?, long)
                } else {
                    let ids = ids.cast::<PyArray1<u64>>()?.readonly();
                    now.draw(randomizer, ids.as_slice()?, long)
                }
            }
            Keyed::Spelled(randomizer, ids) => {
                let (text, ids) = (ids.get().is_text(), ids.get().from(start, end));
                now.draw(randomizer, Many { ids, text }, u64::MAX)
            }
            Keyed::Objects(randomizer, items) => {
                let items = items.get_item(&rows)?;
                let items = match items.cast_into::<PyList>() {
                    Ok(list) => list,
                    Err(error) => error.into_inner().call_method0("tolist")?.cast_into()?,
                };
                let items: Vec<Bound<'py, PyAny>> = items.iter().collect();
                let ids: PyResult<Vec<Id<'_>>> = items
                    .iter()
                    .enumerate()
                    .map(|(i, item)| one_id("ids", item, Some(start + i)))
                    .collect();
                let ids = ids?;
                // Nobody knows how long they are. Texts or bytes alone are hashed many at a time.
                match guarded(|| of_ids(&ids))? {
                    Some((held, text)) => {
                        let ids = held.part(0, held.len());
                        now.draw(randomizer, Many { ids, text }, u64::MAX)
                    }
                    None => now.draw(randomizer, &ids[..], u64::MAX),
                }
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

/// Records that are drawn between two looks at signals.
struct Batch<'py, 'a, T> {
    py: Python<'py>,
    codes: Option<&'a [T]>,
    out: &'a mut [T],
    threads: usize,
}

impl<T: Code> Batch<'_, '_, T> {
    /// Work on so many `numbers`.
    fn draw<A: Address>(
        self,
        randomizer: &Randomizer<'_, A::Keys>,
        addresses: A,
        numbers: u64,
    ) -> PyResult<Result<(), Refused>> {
        let Batch {
            py,
            codes,
            out,
            threads,
        } = self;
        detached(py, numbers, || {
            randomizer.run(codes, out, addresses, threads)
        })
    }
}
