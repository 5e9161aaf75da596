//! A table through one matrix an axis, in place: independent attributes without their joint matrix.
//!
//! # Law
//! The table in C order, each axis through its own step; the order of the axes does not matter.
//!
//! # Bytes
//! Axes are taken in groups, and a part of the table that one group needs fits in a core's own cache,
//! so that the table travels through memory once a group (twice for a million cells), not once an axis.

use crate::law::{Composition, Matrix};
use crate::operator::map::{Operator, Scratch, Way};
use crate::operator::spectral::Spectrum;
use crate::system::memory::{self, Gather};
use crate::system::pool;
use std::sync::Arc;

mod loops;

pub(super) use loops::turn as transpose;

/// Cells of a part: a quarter of a megabyte.
const PART: usize = 1 << 15;

/// Columns that are taken along with an axis that is not the last one.
const WIDTH: usize = 64;

/// Cells of the last axes that are turned outward together, since few numbers in a row are slow.
const TAIL: usize = 128;

/// Numbers in a row from which a loop over them is worth while.
const WIDE: usize = 8;

/// Sizes up to which the plain product is the shortest way, of a matrix with a transform or with none.
const SHORT: usize = 16;

const TRANSFORMED: usize = 64;

const UNSTRUCTURED: usize = 128;

/// What happens along an axis.
#[derive(Debug)]
enum Step {
    /// `own x + all sum(x)`.
    Shift { own: f64, all: f64 },
    /// A row vector times this table, in C order.
    Table(Vec<f64>),
    /// A map that takes a vector at a time.
    Map(Arc<dyn Operator>),
}

/// An axis and its step; without one it stays as it is.
#[derive(Debug)]
struct Axis {
    size: usize,
    step: Option<Step>,
}

/// All axes of a joint domain, one way.
#[derive(Debug)]
pub struct Joint {
    axes: Vec<Axis>,
    way: Way,
    inverse: bool,
    /// Axes that have no step here, since their matrix has no structure and is not small.
    pub left: Vec<usize>,
}

/// One thread's room to work in.
struct Room {
    part: Vec<f64>,
    one: Vec<f64>,
    other: Vec<f64>,
    scratch: Vec<Scratch>,
}

/// The matrices of the axes, also of a kron inside a kron. Those of one code are left out: there may be very many.
pub(super) fn axes_of<'a>(matrix: &'a Matrix, out: &mut Vec<&'a Matrix>) {
    if matrix.family.size() == 1 {
        return;
    }
    match matrix.family.composition() {
        Some(Composition::Kron(factors)) => factors.iter().for_each(|factor| axes_of(factor, out)),
        _ => out.push(matrix),
    }
}

impl Step {
    fn new(matrix: &Matrix, way: Way, inverse: bool) -> Option<Self> {
        let size = matrix.family.size() as usize;
        let spectrum = matrix.spectrum();
        if let Some(Spectrum::Flat(a)) = spectrum.map(|spectrum| &**spectrum) {
            let lie = (1.0 - a) / size as f64;
            return Some(match inverse {
                false => Step::Shift { own: *a, all: lie },
                true => Step::Shift {
                    own: 1.0 / a,
                    all: -lie / a,
                },
            });
        }
        let short = match (spectrum, matrix.operator()) {
            (Some(_), _) => TRANSFORMED,
            (None, Some(_)) => SHORT,
            (None, None) => UNSTRUCTURED,
        };
        if !inverse && size <= short {
            return Some(Step::Table(table(matrix, size, way)));
        }
        matrix.operator().map(|map| Step::Map(Arc::clone(map)))
    }
}

fn table(matrix: &Matrix, size: usize, way: Way) -> Vec<f64> {
    let mut rows = memory::zeros(size * size);
    for (u, row) in rows.chunks_mut(size).enumerate() {
        matrix.family.fill_row(u as u64, row);
    }
    if way == Way::Back {
        for u in 0..size {
            for v in 0..u {
                rows.swap(u * size + v, v * size + u);
            }
        }
    }
    rows
}

impl Joint {
    /// Of a kron; matrices inside it that are kron themselves are taken apart too.
    pub fn new(matrix: &Matrix, way: Way, inverse: bool) -> Self {
        let mut matrices = Vec::new();
        axes_of(matrix, &mut matrices);
        let mut left = Vec::new();
        let axes = matrices
            .iter()
            .enumerate()
            .map(|(axis, matrix)| {
                let size = matrix.family.size() as usize;
                let still = size == 1 || matrix.is_identity();
                let step = if still {
                    None
                } else {
                    Step::new(matrix, way, inverse)
                };
                if !still && step.is_none() {
                    left.push(axis);
                }
                Axis { size, step }
            })
            .gather();
        Joint {
            axes,
            way,
            inverse,
            left,
        }
    }

    /// Tables one after the other, each in C order, changed in place.
    pub fn run(&self, tables: &mut [f64]) {
        let mut end = self.axes.len();
        let mut inner = 1;
        while end > 0 {
            let mut start = end - 1;
            let mut height = self.axes[start].size;
            let width = WIDTH.min(inner);
            while start > 0 && height * self.axes[start - 1].size * width <= PART {
                start -= 1;
                height *= self.axes[start].size;
            }
            let group = &self.axes[start..end];
            if group.iter().any(|axis| axis.step.is_some()) {
                self.run_group(group, height, inner, tables);
            }
            inner *= height;
            end = start;
        }
    }

    /// The axes of a group, `height` rows of `inner` numbers.
    fn run_group(&self, group: &[Axis], height: usize, inner: usize, tables: &mut [f64]) {
        if tables.is_empty() {
            return;
        }
        let longest = group.iter().map(|axis| axis.size).max().unwrap_or(1);
        let width = WIDTH.min(inner);
        let scratch = |axis: &Axis| match &axis.step {
            Some(Step::Map(map)) => map.scratch(),
            _ => Scratch::default(),
        };
        let threads = if tables.len() < 1 << 15 {
            1
        } else {
            pool::threads()
        };
        let mut rooms: Vec<Room> = (0..threads)
            .map(|_| Room {
                part: memory::zeros(PART.max(height * width)),
                one: memory::zeros(PART.max(WIDTH * longest)),
                other: memory::zeros(longest.max(WIDTH)),
                scratch: group.iter().map(scratch).gather(),
            })
            .gather();
        if inner == 1 {
            let part = height * (PART / height).max(1);
            let (last, tail) = tail_of(group);
            let (before, after) = group.split_at(last);
            pool::share_out(tables.chunks_mut(part), &mut rooms, |room, part| {
                let mut turned = std::mem::take(&mut room.part);
                let cells = &mut turned[..part.len()];
                let rows = part.len() / tail;
                if tail == 1 {
                    room.part = turned;
                    return self.run_part(0, group, 1, part, room);
                }
                loops::turn(part, tail, cells);
                self.run_part(last, after, rows, cells, room);
                loops::turn(cells, rows, part);
                self.run_part(0, before, tail, part, room);
                room.part = turned;
            });
            return;
        }
        // A panel is `width` columns of all rows; its pieces are copied together and back.
        let panels = tables.chunks_mut(height * inner).flat_map(|table| {
            let mut panels: Vec<Vec<&mut [f64]>> = Vec::new();
            panels.resize_with(inner.div_ceil(width), || memory::room(height));
            for row in table.chunks_mut(inner) {
                for (panel, piece) in panels.iter_mut().zip(row.chunks_mut(width)) {
                    panel.push(piece);
                }
            }
            panels
        });
        let panels: Vec<Vec<&mut [f64]>> = panels.gather();
        pool::share_out(panels.into_iter(), &mut rooms, |room, panel| {
            let width = panel.first().map_or(0, |piece| piece.len());
            let mut part = std::mem::take(&mut room.part);
            let cells = &mut part[..height * width];
            for (row, piece) in cells.chunks_mut(width).zip(&panel) {
                row.copy_from_slice(piece);
            }
            self.run_part(0, group, width, cells, room);
            for (row, piece) in cells.chunks(width).zip(panel) {
                piece.copy_from_slice(row);
            }
            room.part = part;
        });
    }

    /// Axes from place `first` of a group over a part in cache; the last of them holds `inner` columns.
    fn run_part(
        &self,
        first: usize,
        axes: &[Axis],
        mut inner: usize,
        part: &mut [f64],
        room: &mut Room,
    ) {
        for (at, axis) in axes.iter().enumerate().rev() {
            match &axis.step {
                None => {}
                Some(Step::Shift { own, all }) => {
                    loops::shift(part, axis.size, inner, *own, *all, &mut room.one);
                }
                Some(Step::Table(table)) => {
                    loops::multiply(part, axis.size, inner, table, room);
                }
                Some(Step::Map(map)) => {
                    let Room {
                        one,
                        other,
                        scratch,
                        ..
                    } = room;
                    let size = axis.size;
                    let (one, other) = (&mut one[..size], &mut other[..size]);
                    for rows in part.chunks_mut(size * inner) {
                        for column in 0..inner {
                            for (x, row) in one.iter_mut().zip(rows.chunks(inner)) {
                                *x = row[column];
                            }
                            if self.inverse {
                                map.solve(self.way, one, other, &mut scratch[first + at]);
                            } else {
                                map.apply(self.way, one, other, &mut scratch[first + at]);
                            }
                            for (x, row) in other.iter().zip(rows.chunks_mut(inner)) {
                                row[column] = *x;
                            }
                        }
                    }
                }
            }
            inner *= axis.size;
        }
    }
}

/// Where the last axes begin that are better turned outward, and their cells; `None` if all of those with
/// few numbers in a row are shifts of one, two or four.
fn tail_of(group: &[Axis]) -> (usize, usize) {
    let (mut last, mut tail) = (group.len(), 1);
    let mut direct = true;
    while last > 0 && tail * group[last - 1].size <= TAIL {
        last -= 1;
        direct &= match group[last].step {
            Some(Step::Shift { .. }) => matches!(tail, 1 | 2 | 4) || tail >= WIDE,
            Some(_) => tail >= WIDE,
            None => true,
        };
        tail *= group[last].size;
    }
    if direct {
        (group.len(), 1)
    } else {
        (last, tail)
    }
}
