"""Every mutant: a fault on purpose, and the tests of the normal suite that find it.

Those in Rust stand in the source as ``mutant!("name")``, see ``src/mutant.rs``. Those in Python
leave no trace there: ``old`` is replaced by ``new`` in a copy of the package.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A fault, and who finds it."""

    name: str
    room: str
    does: str
    killed_by: tuple[str, ...]
    """Node ids of pytest (``tests/...``), or names of tests of the core."""
    avx2: bool = False
    """Whether it stands in code that only processors with AVX2 run."""
    old: str = ""
    """Of a mutant in Python: the text, once in the file, that is replaced."""
    new: str = ""
    """And what by."""


KERNELS = "kernel::tests::both_compilations_draw_the_same"
EDGES = "tests/test_edges.py::"
ESTIMATE = "tests/test_estimate.py::"
INTERVALS = "tests/test_intervals.py::"

MUTANTS = [
    # Sampling: the inner loops.
    Mutant(
        "quotient-uncorrected",
        "src/kernel/eight.rs",
        "lies of eight records at a time without the correction of the quotient",
        (KERNELS,),
        avx2=True,
    ),
    Mutant(
        "gathered-threshold-inclusive",
        "src/kernel/eight.rs",
        "a column of a gathered table keeps one word more",
        (KERNELS,),
        avx2=True,
    ),
    Mutant(
        "halves-out-of-order",
        "src/kernel/sixteen.rs",
        "packed reports stay in the order of the halves of a register",
        (KERNELS,),
        avx2=True,
    ),
    Mutant(
        "digits-uncorrected",
        "src/randomize/code.rs",
        "codes are split into digits without the correction of the quotient",
        ("kernel::digits::tests::digits_are_quotients_and_rests",),
    ),
    Mutant(
        "rows-decided-as-the-best",
        "src/sampler/rows.rs",
        "vectors take the row that decides most words for all rows",
        (KERNELS,),
        avx2=True,
    ),
    # Sampling: what a first word decides, and what further ones do.
    Mutant(
        "threshold-inclusive",
        "src/alias.rs",
        "a column of an alias table keeps one word more",
        ("alias::tests::every_slot_is_what_the_table_says",),
    ),
    Mutant(
        "first-word-decides",
        "src/alias.rs",
        "a number below n from one word, biased by 2^-64",
        ("alias::tests::below_is_the_whole_part_of_the_product_with_all_digits",),
    ),
    Mutant(
        "undecided-slots-alike",
        "src/alias.rs",
        "every undecided word decides as the first of them",
        ("sampler::one::tests::every_case_of_one_law_is_counted",),
    ),
    Mutant(
        "inverse-rounded-down",
        "src/sampler/lies.rs",
        "the number to divide by multiplication with is one too small",
        ("sampler::lies::tests::lies_without_a_table_own_equal_shares",),
    ),
    Mutant(
        "truth-one-case-more",
        "src/sampler/lies.rs",
        "an undecided record tells the truth in one case too many",
        ("sampler::lies::tests::every_case_of_randomized_response_is_counted",),
    ),
    Mutant(
        "spare-products-kept",
        "src/sampler/classes.rs",
        "a class by multiplication alone, some codes with a word too many",
        ("sampler::classes::tests::every_case_of_classes_is_counted",),
    ),
    Mutant(
        "staying-always-decided",
        "src/sampler/neighbours.rs",
        "the last words let everyone stay",
        ("sampler::neighbours::tests::every_case_of_neighbours_is_counted",),
    ),
    Mutant(
        "mirror-off-by-one",
        "src/sampler/one.rs",
        "an ordinal scale is folded one step too late",
        ("sampler::one::tests::every_case_of_one_law_is_counted",),
    ),
    Mutant(
        "rest-in-first-mark",
        "src/sampler/rows.rs",
        "undecided records of rows beyond 256 search the first 32 outcomes",
        ("sampler::rows::tests::undecided_words_of_a_long_row_find_their_owner",),
    ),
    # Sampling: permutations.
    Mutant(
        "one-in-one-more",
        "src/birkhoff/sample.rs",
        "a coin for 1 in n falls 1 in n + 1",
        (
            "birkhoff::sample::tests::one_in_n_holds_for_one_word_in_n",
            EDGES + "test_permutations_of_an_odd_total_have_their_chance",
        ),
    ),
    Mutant(
        "no-word-thrown-away",
        "src/birkhoff/sample.rs",
        "words beyond the last multiple of n are used, biased by 2^-64",
        ("birkhoff::sample::tests::words_beyond_the_last_multiple_are_thrown_away",),
    ),
    Mutant(
        "nobody-stays-in-class",
        "src/birkhoff/sample.rs",
        "classes are shuffled to cycles, so that nobody stays",
        ("birkhoff::sample::tests::every_order_of_a_class_has_as_many_words",),
    ),
    Mutant(
        "trails-begin-upwards",
        "src/birkhoff/sample.rs",
        "odd entries are halved the same way every time",
        ("birkhoff::sample::tests::leaves_add_up_to_the_matrix",),
    ),
    Mutant(
        "first-part-one-unit-more",
        "src/birkhoff/sample.rs",
        "a part of a mixture is taken for one unit more than its weight",
        ("birkhoff::sample::tests::every_unit_of_a_mixture_belongs_to_its_part",),
    ),
    # Derivation.
    Mutant(
        "counter-of-32-bits",
        "src/keystream/lanes.rs",
        "the upper half of the block counter is lost",
        ("keystream::tests::the_counter_carries_into_its_upper_half",),
    ),
    Mutant(
        "further-words-repeat",
        "src/randomize/streams.rs",
        "a record's ninth further word is its first again",
        ("randomize::streams::tests::further_words_are_the_blocks_of_the_row",),
    ),
    Mutant(
        "code-not-in-id",
        "src/randomize/streams.rs",
        "a changed code draws from the same words, so that the change shows",
        ("tests/test_words.py::test_by_id",),
    ),
    Mutant(
        "block-not-in-noise",
        "src/randomize/block.rs",
        "two files under one label share their noise row by row",
        ("tests/test_protect.py::test_two_files_under_one_label_share_no_noise",),
    ),
    Mutant(
        "missing-not-in-digest",
        "src/randomize/block.rs",
        "files that differ in what is missing share their noise",
        ("tests/test_protect.py::test_what_is_missing_and_the_stratum_enter_the_noise",),
    ),
    Mutant(
        "block-number-lost",
        "src/randomize/block.rs",
        "equal blocks of one file have equal reports",
        ("randomize::block::tests::equal_blocks_at_two_places_are_drawn_apart",),
    ),
    Mutant(
        "rows-of-ids-not-counted",
        "python/bistochastic/plan/waves.py",
        "an id with more rows than declared goes through",
        ("tests/test_waves.py::test_ids_with_more_rows_than_declared_are_refused",),
        old="if over is not None:",
        new="if False:",
    ),
    Mutant(
        "waves-not-compared",
        "python/bistochastic/plan/waves.py",
        "a wave draws people anew and does not say so",
        ("tests/test_waves.py::test_what_would_draw_anew_is_named_and_refused",),
        old="if changed and not self.redraw:",
        new="if False:",
    ),
    Mutant(
        "weakest-stratum-ignored",
        "python/bistochastic/plan/definitions.py",
        "the beta of an attribute is that of its first stratum",
        ("tests/test_plan.py::test_strata_count_as_the_weakest",),
        old="return min(attribute.matrices, key=lambda matrix: matrix.beta)",
        new="return attribute.matrices[0]",
    ),
    Mutant(
        "missing-cells-shift",
        "python/bistochastic/plan/columns.py",
        "codes over possible cells come back one cell off",
        ("tests/test_protect.py::test_an_impossible_combination_is_named_by_row",),
        old='codes.astype(np.int64), "right")',
        new='codes.astype(np.int64), "left")',
    ),
    Mutant(
        "sign-of-id-lost",
        "src/randomize/streams.rs",
        "ids that differ by 2^64 share their words",
        ("randomize::tests::ids_address_people_and_the_code_enters",),
    ),
    Mutant(
        "path-not-derived",
        "src/derive.rs",
        "factors of a composite share their words",
        ("randomize::tests::no_words_are_shared",),
    ),
    Mutant(
        "labels-run-together",
        "src/derive.rs",
        "the length of a text is not hashed, so that labels can meet",
        ("derive::tests::derivation_is_derive_key_of_the_key_and_the_encoded_tuple",),
    ),
    Mutant(
        "matrix-not-derived",
        "src/derive.rs",
        "two matrices share their words",
        ("derive::tests::neighbouring_tuples_do_not_meet",),
    ),
    # Rounding.
    Mutant(
        "beta-nearest",
        "src/measure.rs",
        "bits and beta in closed form to nearest",
        ("tests/test_laws.py::test_reported_bits_are_never_above_the_truth",),
    ),
    Mutant(
        "long-sum-error-upwards",
        "src/measure.rs",
        "bits of a long sum to the far end of their error",
        ("family::circulant::tests::long_rows_are_measured_in_the_safe_direction",),
    ),
    Mutant(
        "epsilon-nearest",
        "src/measure.rs",
        "epsilon to nearest",
        ("tests/test_laws.py::test_reported_epsilon_is_never_below_the_truth",),
    ),
    Mutant(
        "kron-epsilon-nearest",
        "src/family/kron.rs",
        "the epsilon of a kron to nearest",
        (EDGES + "test_the_epsilon_of_a_kron_is_never_below_the_truth",),
    ),
    Mutant(
        "joint-entropy-nearest",
        "src/measure.rs",
        "bits of one permutation to nearest",
        (
            EDGES + "test_joint_entropy_of_one_coin_is_never_above_the_truth",
            EDGES + "test_joint_entropy_of_permutations_by_weight_is_never_above_the_truth",
            EDGES + "test_joint_entropy_of_shuffles_and_their_krons_is_never_above_the_truth",
        ),
    ),
    Mutant(
        "joint-sum-nearest",
        "src/birkhoff/joint.rs",
        "bits of the axes of a kron added to nearest",
        (EDGES + "test_joint_entropy_of_shuffles_and_their_krons_is_never_above_the_truth",),
    ),
    Mutant(
        "identities-counted-apart",
        "src/birkhoff/joint.rs",
        "two ways to move nobody count as two permutations",
        (EDGES + "test_permutations_that_move_nobody_are_one",),
    ),
    Mutant(
        "odd-unit-on-a-zero",
        "src/lattice/mod.rs",
        "the odd unit of a kernel goes to c_0 even where that is 0",
        (EDGES + "test_a_kernel_that_never_stays_keeps_its_zero",),
    ),
    Mutant(
        "faint-entries-vanish",
        "src/lattice/mod.rs",
        "entries below a unit of the grid become 0",
        ("lattice::tests::tiny_entries_survive_at_the_cost_of_the_largest",),
    ),
    Mutant(
        "faint-cells-vanish",
        "src/lattice/matrix.rs",
        "the same in a dense matrix",
        ("lattice::matrix::tests::tiny_entries_survive",),
    ),
    Mutant(
        "flatter-is-sharper",
        "src/lattice/mod.rs",
        "what rounding leaves over goes to the largest where it should flatten",
        ("lattice::tests::the_direction_decides_who_gets_the_rest",),
    ),
    Mutant(
        "remainder-not-seen",
        "src/lattice/mod.rs",
        "a quotient a hair above half a step counts as a tie",
        ("lattice::tests::the_nearest_double_is_exact_where_it_can_be",),
    ),
    Mutant(
        "request-missed-by-one",
        "src/calibrate.rs",
        "the parameter found is one short of what was asked for",
        ("family::randomized_response::tests::the_report_keeps_what_was_asked",),
    ),
    # Decomposition.
    Mutant(
        "term-one-unit-longer",
        "src/birkhoff/draw.rs",
        "a term is drawn for one unit more than its weight",
        ("birkhoff::draw::tests::every_unit_belongs_to_its_term",),
    ),
    Mutant(
        "open-fraction-passed",
        "src/birkhoff/draw.rs",
        "a word that does not decide counts as beyond the fraction",
        ("birkhoff::draw::tests::fractions_are_decided_by_as_many_words_as_it_takes",),
    ),
    Mutant(
        "weight-below-bottleneck",
        "src/birkhoff/bottleneck.rs",
        "a term takes one unit less than its smallest entry allows",
        ("birkhoff::bottleneck::tests::terms_add_up_on_both_sides_of_every_bound",),
    ),
    Mutant(
        "time-left-forgotten",
        "src/birkhoff/events.rs",
        "a row that leaves a column early keeps all that it had there",
        ("tests/test_birkhoff.py::test_whole_numbers_come_back",),
    ),
    Mutant(
        "entries-lost-on-a-coarse-grid",
        "src/birkhoff/realise.rs",
        "a coarser grid is allowed on which an entry is less than a unit",
        ("tests/test_birkhoff.py::test_a_grid_that_is_too_coarse_names_the_smallest_safe_one",),
    ),
    # Estimation, in Python.
    Mutant(
        "hoeffding-one-sided",
        "python/bistochastic/intervals.py",
        "Hoeffding's bound for one side used on two",
        (EDGES + "test_bounds_of_few_records_hold_at_their_very_ends",),
        old="math.log(2 / alpha)",
        new="math.log(1 / alpha)",
    ),
    Mutant(
        "bernstein-two-events",
        "python/bistochastic/intervals.py",
        "the variance that looks too small is forgotten in Bernstein's bound",
        (EDGES + "test_few_of_many_have_the_three_events_of_bernstein",),
        old="math.log(3 / alpha)",
        new="math.log(2 / alpha)",
    ),
    Mutant(
        "doubt-forgotten",
        "python/bistochastic/estimate.py",
        "the error of probed variances does not widen the interval",
        (EDGES + "test_probed_variances_are_hardly_ever_too_small_for_an_interval",),
        old="spread + 3 * doubt",
        new="spread",
    ),
    Mutant(
        "region-confidence-unsplit",
        "python/bistochastic/intervals.py",
        "the rare and the others may both miss all that the region may",
        (EDGES + "test_half_of_what_a_region_may_miss_goes_to_the_rare",),
        old="confidence = min((1 + confidence) / 2, math.nextafter(1, 0))",
        new="confidence = confidence",
    ),
    Mutant(
        "no-bonferroni",
        "python/bistochastic/estimate.py",
        "simultaneous intervals are those of one share",
        (INTERVALS + "test_many_surveys_at_once_are_those_one_by_one",),
        old="alpha /= r",
        new="alpha /= 1",
    ),
    Mutant(
        "biased-variance",
        "python/bistochastic/estimate.py",
        "standard errors divide by n instead of n - 1",
        (ESTIMATE + "test_sampled_records_by_enumerating_everything",),
        old="1 / (self.records - 1)",
        new="1 / self.records",
    ),
    Mutant(
        "truths-counted-as-noise",
        "python/bistochastic/intervals.py",
        "of a fixed population, what truths differ by is counted as error",
        (INTERVALS + "test_a_conjunction_says_what_randomization_adds",),
        old="spread - shares * (1 - shares)",
        new="spread - 0 * shares",
    ),
    Mutant(
        "clopper-pearson-one-sided",
        "python/bistochastic/quantiles.py",
        "the exact lower bound may miss with all of alpha",
        (INTERVALS + "test_quantiles_are_those_of_scipy",),
        old="_beta_quantile(a, b, alpha / 2, upper=False)",
        new="_beta_quantile(a, b, alpha, upper=False)",
    ),
    Mutant(
        "skewness-unpaid",
        "python/bistochastic/intervals.py",
        "normal bounds without what they pay for skewness",
        (INTERVALS + "test_the_worst_skewness_is_covered_wherever_the_rule_changes",),
        old="normal + k * above",
        new="normal",
    ),
    Mutant(
        "one-corner-of-a-kron",
        "python/bistochastic/intervals.py",
        "the range of a joint pseudo-response from one end of the first factor",
        (EDGES + "test_the_range_of_a_kron_is_at_any_corner",),
        old="for a in (least, most) for b",
        new="for a in (most,) for b",
    ),
    Mutant(
        "projected-by-the-mean",
        "python/bistochastic/estimate.py",
        "what is over one is taken off all shares, also those that fall below 0",
        (ESTIMATE + "test_the_projection_is_the_nearest_distribution",),
        old="over[last]",
        new="over[-1]",
    ),
    Mutant(
        "covariance-of-one-population-for-both",
        "python/bistochastic/estimate.py",
        "the covariance of a sample is that of a fixed population",
        (ESTIMATE + "test_standard_errors_are_the_roots_of_the_covariance",),
        old="spread -= np.outer(self._unbiased, self._unbiased)",
        new="spread -= np.diag(self._unbiased)",
    ),
    Mutant(
        "likelihood-unscaled",
        "python/bistochastic/likelihood.py",
        "reports of likely shares are not scaled by the mass that empty ones leave",
        (ESTIMATE + "test_maximum_likelihood_is_that_of_a_generic_solver",),
        old="(1 - first * lie) * phi[first:]",
        new="phi[first:]",
    ),
    Mutant(
        "plan-without-the-truth",
        "python/bistochastic/planning.py",
        "the worst case of a plan forgets the square of the share itself",
        (ESTIMATE + "test_planning",),
        old=" - t * t))",
        new="))",
    ),
    Mutant(
        "conjunction-counts-truths",
        "python/bistochastic/conjunctions.py",
        "of a fixed population, what truths differ by is counted as error",
        (INTERVALS + "test_a_conjunction_says_what_randomization_adds",),
        old="math.fsum(product**2) - count",
        new="math.fsum(product**2)",
    ),
]
