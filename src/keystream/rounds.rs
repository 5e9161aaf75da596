//! The rounds over vectors, whatever their width.

/// The rounds over vectors: lane `j` of vector `i` is word `i` of block `j`. Two quarter rounds at a
/// time, so that few of the sixteen vectors have to leave the registers.
macro_rules! rounds {
    ($x:ident, $add:ident, $xor:ident, $rot16:ident, $rot12:ident, $rot8:ident, $rot7:ident) => {
        macro_rules! step {
            ($a:expr, $b:expr, $d:expr, $rot:ident) => {
                $x[$a] = $add($x[$a], $x[$b]);
                $x[$d] = $rot($xor($x[$d], $x[$a]));
            };
        }
        macro_rules! two {
            ($a:expr, $b:expr, $c:expr, $d:expr) => {
                step!($a[0], $b[0], $d[0], $rot16);
                step!($a[1], $b[1], $d[1], $rot16);
                step!($c[0], $d[0], $b[0], $rot12);
                step!($c[1], $d[1], $b[1], $rot12);
                step!($a[0], $b[0], $d[0], $rot8);
                step!($a[1], $b[1], $d[1], $rot8);
                step!($c[0], $d[0], $b[0], $rot7);
                step!($c[1], $d[1], $b[1], $rot7);
            };
        }
        for _ in 0..10 {
            two!([0, 1], [4, 5], [8, 9], [12, 13]);
            two!([2, 3], [6, 7], [10, 11], [14, 15]);
            two!([0, 1], [5, 6], [10, 11], [15, 12]);
            two!([2, 3], [7, 4], [8, 9], [13, 14]);
        }
    };
}
