//! `Matrix.randomize` and `Matrix.respond`: check, detach, draw, hand back.

use std::time::{Duration, Instant};

use numpy::{PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyList, PyString, PyTuple};
use zeroize::Zeroize;

use super::convert::{self, type_name};
use super::key::Key;
use super::matrix::Matrix;
use super::{DETACH_FROM, detached};
use crate::derive::{Label, Purpose, derive};
use crate::error::Error;
use crate::key;
use crate::keystream::Keystream;
use crate::randomize::{Addresses, By, Code, Id, Randomizer, floor, refuse};
use crate::{pool, respond};

/// Rows are counted below this.
const ROWS: u64 = 1 << 62;

/// How long a batch should take before signals are looked at, and how many records the first one has.
const BATCH_TIME: Duration = Duration::from_millis(50);
const FIRST_BATCH: usize = 1 << 18;
const LEAST_BATCH: usize = 1 << 10;

/// Records with ids in a batch at most, and in the first one.
const IDS_BATCH: usize = 1 << 16;
const FIRST_IDS: usize = 1 << 10;

/// The key of a call.
enum Held<'a> {
    Given(&'a key::Key),
    Fresh(key::Key),
}

/// A key, given or fresh, and the labels of the call.
pub struct Secret<'a> {
    key: Held<'a>,
    labels: Vec<Label>,
}

impl<'a> Secret<'a> {
    /// Without a key a fresh one is drawn and forgotten. With one, words must not be used twice, so
    /// the call has to say what they are for (`stream`) and where (`addressed`).
    pub fn new(
        key: Option<&'a Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
        addressed: bool,
        address: &str,
    ) -> PyResult<Self> {
        let text = match stream {
            None => None,
            Some(stream) => match stream.cast::<PyString>() {
                Ok(text) => Some(text.to_str()?.to_owned()),
                Err(_) => {
                    return Err(Error::type_("stream", "be a text", type_name(stream)).into());
                }
            },
        };
        let key = match key {
            None => None,
            Some(key) => match key.cast::<Key>() {
                Ok(key) => Some(key.get().inner()),
                Err(_) => return Err(Error::type_("key", "be a Key", type_name(key)).into()),
            },
        };
        if let Some(key) = key
            && !key.is_insecure()
        {
            if text.is_none() {
                let must = "name what a key is used for";
                return Err(Error::value("stream", must, "none").into());
            }
            if !addressed {
                return Err(Error::value(address, "be given with a key", "none").into());
            }
        }
        Ok(Secret {
            key: match key {
                Some(key) => Held::Given(key),
                None => Held::Fresh(key::Key::generate()?),
            },
            labels: Label::stream(text.as_deref().unwrap_or_default()),
        })
    }

    /// The words of one purpose, for what is drawn in one go.
    pub fn keystream(&self, purpose: Purpose, more: &[Label], digest: &[u8; 32]) -> Keystream {
        let labels = [&self.labels, more].concat();
        let mut derived = derive(self.key(), purpose, &labels, &[], digest);
        let keystream = Keystream::new(&derived);
        derived.zeroize();
        keystream
    }

    fn key(&self) -> &key::Key {
        match &self.key {
            Held::Given(key) => key,
            Held::Fresh(key) => key,
        }
    }
}

/// A whole number from `low` to `high`.
pub fn whole(name: &str, given: &Bound<'_, PyAny>, low: u64, high: u64) -> PyResult<u64> {
    let must = format!("be a whole number from {low} to {high}");
    if given.is_instance_of::<PyBool>() || !given.hasattr("__index__")? {
        return Err(Error::type_(name, must, type_name(given)).into());
    }
    match given.extract::<i128>() {
        Ok(n) if (i128::from(low)..=i128::from(high)).contains(&n) => Ok(n as u64),
        Ok(n) => Err(Error::value(name, must, n).into()),
        Err(_) => Err(Error::value(name, must, "another").into()),
    }
}

/// The caller's codes, and the array that becomes the answer.
struct Columns<'py> {
    /// Contiguous and native, to be read; none where the codes were copied into `out`.
    codes: Option<Bound<'py, PyAny>>,
    /// Unsigned integers of the codes' width, one axis.
    out: Bound<'py, PyAny>,
    /// The same memory with the codes' type and shape.
    answer: Bound<'py, PyAny>,
    /// Whether the answer's bytes have to be swapped in the end.
    swapped: bool,
    bytes: usize,
    len: usize,
}

const CODES: &str = "be an array of whole numbers";

impl<'py> Columns<'py> {
    fn new(codes: &Bound<'py, PyAny>, size: u64) -> PyResult<Self> {
        let py = codes.py();
        let numpy = py.import("numpy")?;
        let mut array = as_array("codes", CODES, codes)?;
        // A masked array would lose its mask here, and what is missing become a code.
        if codes.hasattr("mask")? {
            let masked = numpy.getattr("ma")?.call_method1("is_masked", (codes,))?;
            if masked.extract()? {
                return Err(Error::value("codes", "hold no missing values", "masked ones").into());
            }
        }
        let shape = array.getattr("shape")?;
        let len: usize = array.getattr("size")?.extract()?;
        let dtype = array.getattr("dtype")?;
        let kind: String = dtype.getattr("kind")?.extract()?;
        let is_array = codes.cast::<PyUntypedArray>().is_ok();
        // An empty list has no type.
        if len == 0 && !is_array && kind == "f" {
            array = array.call_method1("astype", ("int64",))?;
        } else if !matches!(kind.as_str(), "i" | "u" | "b") {
            let name: String = dtype.getattr("name")?.extract()?;
            return Err(Error::type_("codes", CODES, format!("dtype {name}")).into());
        }
        let dtype = array.getattr("dtype")?;
        let bytes: usize = dtype.getattr("itemsize")?.extract()?;
        let most = match kind.as_str() {
            "b" => 1,
            "u" => u64::MAX >> (64 - 8 * bytes),
            _ => i64::MAX as u64 >> (64 - 8 * bytes),
        };
        if size - 1 > most {
            let name: String = dtype.getattr("name")?.extract()?;
            let must = format!("have a dtype that holds {}", size - 1);
            return Err(Error::value("codes", must, name).into());
        }
        let unsigned = format!("u{bytes}");
        let native: bool = dtype.getattr("isnative")?.extract()?;
        let flags = array.getattr("flags")?;
        let plain = native
            && flags.get_item("C_CONTIGUOUS")?.extract::<bool>()?
            && flags.get_item("ALIGNED")?.extract::<bool>()?;
        // Through Python, so that an allocation that fails is a MemoryError.
        let own = dtype.call_method1("newbyteorder", ("=",))?;
        let result = numpy.call_method1("empty", (&shape, own))?;
        let flat = |array: &Bound<'py, PyAny>| {
            array
                .call_method1("reshape", (-1,))?
                .call_method1("view", (&unsigned,))
        };
        let codes = if plain {
            Some(flat(&array)?)
        } else {
            numpy.call_method1("copyto", (&result, &array))?;
            None
        };
        Ok(Columns {
            codes,
            out: flat(&result)?,
            answer: if native {
                result
            } else {
                result.call_method1("view", (dtype,))?
            },
            swapped: !native,
            bytes,
            len,
        })
    }

    fn finish(self) -> PyResult<Bound<'py, PyAny>> {
        if self.swapped {
            self.answer.call_method1("byteswap", (true,))?;
        }
        Ok(self.answer)
    }
}

/// What a caller gave as an array. What is no array gets our sentence, an interrupt is passed on.
fn as_array<'py>(name: &str, must: &str, given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = given.py();
    let array = py.import("numpy")?.call_method1("asarray", (given,));
    array.map_err(|error| {
        if error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyTypeError>(py) {
            Error::type_(name, must, type_name(given)).into()
        } else {
            error
        }
    })
}

/// Where the records are, as the caller said it.
enum Given<'py> {
    From(u64),
    /// An array of integers, and whether they have a sign.
    Integers(Bound<'py, PyAny>, bool),
    /// Anything that can be cut and turned into a list.
    Objects(Bound<'py, PyAny>),
}

impl<'py> Given<'py> {
    fn ids(ids: &Bound<'py, PyAny>, len: usize) -> PyResult<Self> {
        let must = "hold one whole number, text or bytes a record";
        let given = if let Ok(tuple) = ids.cast::<PyTuple>() {
            Given::Objects(tuple.to_list().into_any())
        } else if let Ok(list) = ids.cast::<PyList>() {
            // As it is now: another thread may change the list meanwhile.
            Given::Objects(list.get_slice(0, list.len()).into_any())
        } else if ids.is_instance_of::<PyString>() || ids.is_instance_of::<PyBytes>() {
            return Err(Error::type_("ids", must, type_name(ids)).into());
        } else {
            if ids.hasattr("mask")? {
                return Err(Error::type_("ids", must, "a masked array").into());
            }
            let array = as_array("ids", must, ids)?.call_method1("reshape", (-1,))?;
            let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
            match kind.as_str() {
                "i" => Given::Integers(array, true),
                "u" => Given::Integers(array, false),
                "O" | "U" | "S" | "T" => Given::Objects(array),
                _ => {
                    let name: String = array.getattr("dtype")?.getattr("name")?.extract()?;
                    return Err(Error::type_("ids", must, format!("dtype {name}")).into());
                }
            }
        };
        let got = match &given {
            Given::From(_) => len,
            Given::Integers(array, _) => array.len()?,
            Given::Objects(items) => items.len()?,
        };
        if got != len {
            let must = format!("be one for each of the {len} records");
            return Err(Error::value("ids", must, got).into());
        }
        Ok(given)
    }
}

/// Draw for all records, a batch at a time, so that the caller's thread can look at signals.
fn run<'py, T: Code + numpy::Element>(
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
                let ids = ids.get_item(pyo3::types::PySlice::new(
                    py,
                    start as isize,
                    end as isize,
                    1,
                ))?;
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
                let items = items.get_item(pyo3::types::PySlice::new(
                    py,
                    start as isize,
                    end as isize,
                    1,
                ))?;
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
        done.map_err(|position| refuse(start + position, size))?;
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

/// One id. `position` says where it stands, if in an array.
fn id<'a>(name: &str, item: &'a Bound<'_, PyAny>, position: Option<usize>) -> PyResult<Id<'a>> {
    let must = "be a whole number from -2^63 to 2^64 - 1, a text or bytes";
    let at = |got: &str| match position {
        Some(position) => format!("{got} at position {position}"),
        None => got.to_owned(),
    };
    if let Ok(text) = item.cast::<PyString>() {
        // A half of a surrogate pair has no UTF-8. The id itself stays out of the error.
        return match text.to_str() {
            Ok(text) => Ok(Id::Text(text.as_bytes())),
            Err(_) => Err(Error::value(name, must, at("a text that is no Unicode")).into()),
        };
    }
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return Ok(Id::Bytes(bytes.as_bytes()));
    }
    let whole = item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>();
    let scalar = || Ok::<_, PyErr>(item.hasattr("dtype")? && item.hasattr("__index__")?);
    if !(whole || scalar()?) {
        let got = if item.is_none() { "none" } else { "another" };
        return Err(Error::type_(name, must, at(got)).into());
    }
    match item.extract::<i128>() {
        Ok(n) if (-(1 << 63)..1 << 64).contains(&n) => Ok(Id::Integer(n)),
        _ => Err(Error::value(name, must, at("another number")).into()),
    }
}

#[pymethods]
impl Matrix {
    /// Draw a report for every true code, from the exact law of its row.
    ///
    /// The answer has the dtype and shape of ``codes``: whole numbers of any width or bool, from 0 to
    /// ``size - 1``; any shape, stride or byte order. It is the same for any number of threads.
    ///
    /// Without a key the words come from the operating system and are forgotten. With one, the answer
    /// is a function of key, ``stream``, matrix, code and address of the record, and of nothing else:
    /// ``start`` is the row of the first record, so that a column may come in pieces; ``ids`` are one
    /// whole number, text or bytes a record instead, so that the same person with the same value gets the
    /// same answer in every file and wave, and another one as soon as the value changes. Never use one
    /// ``stream`` for two columns of a table: name it after the column. **Whoever holds the key can undo
    /// the release.**
    ///
    /// By position, one row of one ``stream`` must never carry two different contents: whoever sees both
    /// releases learns how they differ. Put the wave into the name of the stream, or use ``ids``.
    ///
    /// Circulant, randomized response, reflected, geometric, uniform and T-transform matrices draw alike
    /// for every code: the code selects no branch and no address. ``threads`` is at most the
    /// number of threads to use, all of them (or ``BISTOCHASTIC_THREADS``) by default. Arrays must not be
    /// changed by another thread meanwhile.
    ///
    /// >>> import numpy as np
    /// >>> m = bs.randomized_response(4, beta=0.6)
    /// >>> codes = np.array([0, 1, 2, 3, 3, 3], dtype=np.uint8)
    /// >>> reports = m.randomize(codes)
    /// >>> reports.dtype, reports.shape
    /// (dtype('uint8'), (6,))
    /// >>> key = bs.Key.insecure(1)          # for examples; Key.generate() for releases
    /// >>> m.randomize(codes, key=key, stream="class", start=0)
    /// array([0, 1, 2, 3, 1, 2], dtype=uint8)
    /// >>> m.randomize(codes[4:], key=key, stream="class", start=4)
    /// array([1, 2], dtype=uint8)
    /// >>> m.randomize([0, 4])
    /// Traceback (most recent call last):
    ///     ...
    /// ValueError: `codes` must hold whole numbers from 0 to 3; got another at position 1
    #[pyo3(signature = (codes, *, key=None, stream=None, start=None, ids=None, threads=None))]
    #[allow(clippy::too_many_arguments)]
    fn randomize<'py>(
        &self,
        py: Python<'py>,
        codes: &Bound<'py, PyAny>,
        key: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
        start: Option<&Bound<'py, PyAny>>,
        ids: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let matrix = self.inner();
        let size = matrix.family.size();
        if ids.is_some() && start.is_some() {
            let must = "be left out where ids address the records";
            return Err(Error::value("start", must, "both").into());
        }
        if ids.is_some() && key.is_none() {
            return Err(Error::value("key", "be given with ids", "none").into());
        }
        let threads = match threads {
            Some(threads) => whole("threads", threads, 1, 1024)? as usize,
            None => pool::threads(),
        };
        let row = start
            .map(|start| whole("start", start, 0, ROWS))
            .transpose()?;
        let addressed = row.is_some() || ids.is_some();
        let secret = Secret::new(key, stream, addressed, "start")?;
        let columns = Columns::new(codes, size)?;
        let given = match ids {
            Some(ids) => Given::ids(ids, columns.len)?,
            None => Given::From(row.unwrap_or(0)),
        };
        // Tables are built and hashed once a matrix, which may take a while.
        let tables = size.saturating_mul(size).max(DETACH_FROM);
        let by = match given {
            Given::From(_) => By::Position,
            Given::Integers(..) => By::Integers,
            Given::Objects(_) => By::Ids,
        };
        let randomizer = detached(py, tables, || {
            Randomizer::new(matrix, secret.key(), &secret.labels, by)
        })?;
        let sizes = (size, matrix.sampler().draws());
        match columns.bytes {
            1 => run::<u8>(py, &randomizer, &columns, &given, threads, sizes),
            2 => run::<u16>(py, &randomizer, &columns, &given, threads, sizes),
            4 => run::<u32>(py, &randomizer, &columns, &given, threads, sizes),
            _ => run::<u64>(py, &randomizer, &columns, &given, threads, sizes),
        }?;
        columns.finish()
    }

    /// One answer, for a client that has one value.
    ///
    /// With a key, ``stream`` and ``id`` it is the answer of ``randomize([code], ids=[id])``: asked again,
    /// the same person gives the same answer. Without a key it is a fresh draw, from a buffer that is
    /// safe to share between threads, is not shared with a forked child, and forgets what it gave.
    ///
    /// >>> m = bs.randomized_response(4, beta=0.6)
    /// >>> m.respond(2) in range(4)
    /// True
    /// >>> key = bs.Key.insecure(1)
    /// >>> m.respond(2, key=key, stream="class", id="person 7")
    /// 2
    /// >>> int(m.randomize([2], key=key, stream="class", ids=["person 7"])[0])
    /// 2
    #[pyo3(signature = (code, *, key=None, stream=None, id=None))]
    fn respond(
        &self,
        code: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
        id: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let matrix = self.inner();
        let size = matrix.family.size();
        let u = match code.cast_exact::<PyInt>().map(|code| code.extract::<u64>()) {
            Ok(Ok(u)) if u < size => u,
            _ => one_code(code, size)?,
        };
        if !matrix.has_sampler() {
            // Tables take long once, and others need not wait for them.
            code.py().detach(|| {
                matrix.sampler();
            });
        }
        if key.is_none() {
            if id.is_some() {
                return Err(Error::value("key", "be given with an id", "none").into());
            }
            let sampler = matrix.sampler();
            sampler.check()?;
            return Ok(respond::with_words(|words| sampler.respond(u, words))?);
        }
        let secret = Secret::new(key, stream, id.is_some(), "id")?;
        let id = id.map(|given| self::id("id", given, None)).transpose()?;
        let by = id.map_or(By::Position, By::from);
        let randomizer = Randomizer::new(matrix, secret.key(), &secret.labels, by)?;
        let ids = id.map(|id| [id]);
        let addresses = ids
            .as_ref()
            .map_or(Addresses::From(0), |ids| Addresses::Ids(ids));
        let mut out = [u];
        randomizer
            .run(None, &mut out, addresses, 1)
            .map_err(|position| refuse(position, size))?;
        Ok(out[0])
    }
}

/// A true code, never quoted.
fn one_code(code: &Bound<'_, PyAny>, size: u64) -> PyResult<u64> {
    let must = format!("be a whole number from 0 to {}", size - 1);
    let is_bool = code.is_instance_of::<PyBool>() || code.get_type().name()? == "bool";
    if !(is_bool && size == 2 || code.hasattr("__index__")? && !is_bool) {
        return Err(Error::type_("code", must, type_name(code)).into());
    }
    if is_bool {
        return Ok(u64::from(code.is_truthy()?));
    }
    match convert::code("code", code, size) {
        Ok(code) => Ok(code),
        Err(_) => Err(Error::value("code", must, "another").into()),
    }
}

/// What nothing can beat: two bytes of the keystream a byte of `codes`, and a copy of it. For
/// benchmarks.
///
/// >>> import numpy as np
/// >>> bs._core.bench_floor(np.arange(3, dtype=np.uint8), 1)
/// array([0, 1, 2], dtype=uint8)
#[pyfunction]
pub fn bench_floor<'py>(
    py: Python<'py>,
    codes: &Bound<'py, PyArray1<u8>>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let out = py
        .import("numpy")?
        .call_method1("empty_like", (codes,))?
        .cast_into::<PyArray1<u8>>()?;
    {
        let codes = codes.readonly();
        let codes = codes.as_slice()?;
        let mut out = out.readwrite();
        let out = out.as_slice_mut()?;
        py.detach(|| floor(codes, out, threads));
    }
    Ok(out.into_any())
}
