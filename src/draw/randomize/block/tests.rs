#![cfg(test)]

use super::*;
use crate::draw::randomize::{Addresses, randomize};
use crate::law::examples::response;

/// A table of codes of one byte with strata, and of eight bytes with missing rows.
struct Held {
    one: Vec<u8>,
    eight: Vec<u64>,
    missing: Vec<bool>,
    strata: Vec<u32>,
    laws: [Matrix; 3],
}

const LABELS: Labels<'static> = Labels {
    plan: "survey",
    release: "2026",
};

fn names(name: &str) -> [Label; 1] {
    [Label::Text(name.into())]
}

impl Held {
    fn new(rows: usize) -> Self {
        let part = |i: u64, n: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) % n;
        let rows = 0..rows as u64;
        Held {
            one: rows.clone().map(|i| part(i, 5) as u8).collect(),
            eight: rows.clone().map(|i| part(i, 1 << 33)).collect(),
            missing: rows.clone().map(|i| i % 7 == 3).collect(),
            strata: rows.map(|i| part(i, 2) as u32).collect(),
            laws: [response(5, 0.2), response(5, 0.9), response(1 << 33, 0.6)],
        }
    }

    fn run(&self, key: &Key, labels: Labels<'_>, last: bool) -> Result<(Vec<u8>, Vec<u64>)> {
        let (mut one, mut eight) = (self.one.clone(), self.eight.clone());
        let [a, b, wide] = &self.laws;
        run(
            key,
            labels,
            vec![
                Column {
                    names: &names("one"),
                    codes: Codes::One((&self.one, &mut one)),
                    missing: None,
                    strata: Some(&self.strata),
                    matrices: &[a, b],
                },
                Column {
                    names: &names("eight"),
                    codes: Codes::Eight((&self.eight, &mut eight)),
                    missing: Some(&self.missing),
                    strata: None,
                    matrices: &[wide],
                },
            ],
            (0, last),
            2,
        )?;
        Ok((one, eight))
    }
}

#[test]
fn a_short_last_block_joins_the_one_before() {
    let all = |rows, last| blocks(rows, last).collect::<Vec<_>>();
    assert!(all(0, true).is_empty());
    for rows in [1, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS - 1] {
        assert_eq!(all(rows, true), [rows]);
    }
    assert_eq!(all(2 * ROWS, true), [ROWS, ROWS]);
    assert_eq!(all(3 * ROWS + 5, true), [ROWS, ROWS, ROWS + 5]);
    assert_eq!(all(3 * ROWS, false), [ROWS; 3]);
}

/// The law of the module, spelled out: the digest by blake3's one-shot function over bytes that are put
/// together here, the reports by the loop over one column. A row of a stratum is drawn as if all were in it.
#[test]
fn reports_are_those_of_the_law() {
    let rows = 2 * ROWS + 1000;
    let (held, key) = (Held::new(rows), Key::insecure(4));
    let found = held.run(&key, LABELS, true).unwrap();
    let secret = derive(&key, Purpose::Block, &LABELS.with([]), &[], &[0; 32]);
    for (number, block) in (0..).zip([0..ROWS, ROWS..rows]) {
        let (one, eight) = (&held.one[block.clone()], &held.eight[block.clone()]);
        let strata = &held.strata[block.clone()];
        let missing = held.missing[block.clone()].iter().map(|&x| u8::from(x));
        let le = |words: &[u64]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        let bytes = [
            &le(&[block.len() as u64, 2])[..],
            &[1],
            one,
            &[0, 1],
            &strata
                .iter()
                .flat_map(|s| s.to_le_bytes())
                .collect::<Vec<u8>>(),
            &[8],
            &le(eight),
            &[1],
            &missing.collect::<Vec<u8>>(),
            &[0],
        ]
        .concat();
        let digest = Key::from_bytes(*blake3::keyed_hash(&secret, &bytes).as_bytes());
        let drawn = |law: &Matrix, name, codes: Codes<'_>| {
            let names = Label::List(names(name).into());
            let (labels, at) = (
                LABELS.with([names, Label::Integer(number)]),
                Addresses::Rows(0),
            );
            each!(codes, (given, out) => {
                randomize(law, &digest, &labels, Some(given), out, at, 1).unwrap();
            });
        };
        let mut out = vec![0; block.len()];
        drawn(&held.laws[2], "eight", Codes::Eight((eight, &mut out)));
        assert_eq!(found.1[block.clone()], out);
        for (stratum, law) in (0..).zip(&held.laws[..2]) {
            let mut out = vec![0; block.len()];
            drawn(law, "one", Codes::One((one, &mut out)));
            let reports = found.0[block.clone()].iter().zip(out).zip(strata);
            assert!(
                reports
                    .into_iter()
                    .all(|((&a, b), &own)| own != stratum || a == b)
            );
        }
    }
}

/// One change anywhere, and all columns are drawn anew.
#[test]
fn all_of_a_block_enters_its_noise() {
    let (rows, key) = (300, Key::insecure(4));
    let run = |held: &Held, key: &Key, plan, release| {
        let labels = Labels { plan, release };
        held.run(key, labels, true).unwrap().1
    };
    let held = Held::new(rows);
    let whole = run(&held, &key, "survey", "2026");
    let changes: [fn(&mut Held); 5] = [
        |held| held.one[5] = (held.one[5] + 1) % 5,
        |held| held.eight[5] ^= 1,
        |held| held.missing[5] ^= true,
        |held| held.strata[5] ^= 1,
        |held| *held.eight.last_mut().unwrap() ^= 1,
    ];
    let mut others: Vec<_> = changes
        .iter()
        .map(|change| {
            let mut other = Held::new(rows);
            change(&mut other);
            run(&other, &key, "survey", "2026")
        })
        .collect();
    others.push(run(&held, &key, "survey", "2027"));
    others.push(run(&held, &key, "other", "2026"));
    others.push(run(&held, &Key::insecure(5), "survey", "2026"));
    for (i, other) in others.iter().enumerate() {
        let changed = other.iter().zip(&whole).filter(|(a, b)| a != b).count();
        assert!(changed > rows / 3, "{i}: {changed}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |rows, last, change: fn(&mut Held)| {
        let mut held = Held::new(rows);
        change(&mut held);
        let found = held.run(&Key::insecure(4), LABELS, last);
        found.unwrap_err().to_string()
    };
    let beyond = |held: &mut Held| {
        held.eight[ROWS + 3] = 1 << 33;
        held.one[ROWS + 50] = 5;
    };
    let outside =
        "`codes` must exist in their matrix and stratum; got one outside in column 0, row";
    assert_eq!(
        refused(ROWS + 100, true, beyond),
        format!("{outside} {}", ROWS + 50)
    );
    assert_eq!(
        refused(ROWS + 100, true, |held| held.strata[9] = 2),
        format!("{outside} 9")
    );
    assert_eq!(
        refused(ROWS + 100, false, |_| ()),
        "`codes` must come in blocks of 65536 rows until the last; got 65636"
    );
    assert_eq!(
        refused(100, true, |held| held.missing.truncate(99)),
        "`missing` must be one for each of the 100 records; got 99"
    );
    assert_eq!(
        refused(100, true, |held| held.laws[1] = response(6, 0.5)),
        "`matrices` must all have size 5; got 6"
    );
    assert_eq!(
        refused(100, true, |held| held.laws[2] = response(70, 0.5)),
        "`codes` must have 1 bytes each; got 8 bytes"
    );
}
