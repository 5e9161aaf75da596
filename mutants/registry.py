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


LOOPS = "draw::loops::tests::both_compilations_draw_the_same"
EDGES = "tests/test_edges.py::"
ESTIMATE = "tests/test_estimate.py::"
ANATOMY = "tests/test_anatomy.py::"
WHERE = "tests/test_where.py::"
INTERVALS = "tests/test_intervals.py::"
AUDIT = "tests/test_audit.py::"
PARQUET = "tests/test_parquet.py::"

MUTANTS = [
    # Sampling: the inner loops.
    Mutant(
        "quotient-uncorrected",
        "src/draw/loops/eight.rs",
        "lies of eight records at a time without the correction of the quotient",
        (LOOPS,),
        avx2=True,
    ),
    Mutant(
        "gathered-threshold-inclusive",
        "src/draw/loops/eight.rs",
        "a column of a gathered table keeps one word more",
        (LOOPS,),
        avx2=True,
    ),
    Mutant(
        "halves-out-of-order",
        "src/draw/loops/sixteen.rs",
        "packed reports stay in the order of the halves of a register",
        (LOOPS,),
        avx2=True,
    ),
    Mutant(
        "digits-uncorrected",
        "src/draw/randomize/code.rs",
        "codes are split into digits without the correction of the quotient",
        ("draw::loops::digits::tests::digits_are_quotients_and_rests",),
    ),
    Mutant(
        "rows-decided-as-the-best",
        "src/draw/sampler/rows.rs",
        "vectors take the row that decides most words for all rows",
        (LOOPS,),
        avx2=True,
    ),
    # Sampling: what a first word decides, and what further ones do.
    Mutant(
        "threshold-inclusive",
        "src/draw/alias/table.rs",
        "a column of an alias table keeps one word more",
        ("draw::alias::tests::every_slot_is_what_the_table_says",),
    ),
    Mutant(
        "first-word-decides",
        "src/draw/alias/words.rs",
        "a number below n from one word, biased by 2^-64",
        ("draw::alias::words::tests::below_is_the_whole_part_of_the_product_with_all_digits",),
    ),
    Mutant(
        "undecided-slots-alike",
        "src/draw/alias/rest.rs",
        "every undecided word decides as the first of them",
        ("draw::sampler::one::tests::every_case_of_one_law_is_counted",),
    ),
    Mutant(
        "inverse-rounded-down",
        "src/draw/sampler/lies.rs",
        "the number to divide by multiplication with is one too small",
        ("draw::sampler::lies::tests::lies_without_a_table_own_equal_shares",),
    ),
    Mutant(
        "truth-one-case-more",
        "src/draw/sampler/lies.rs",
        "an undecided record tells the truth in one case too many",
        ("draw::sampler::lies::tests::every_case_of_randomized_response_is_counted",),
    ),
    Mutant(
        "spare-products-kept",
        "src/draw/sampler/classes.rs",
        "a class by multiplication alone, some codes with a word too many",
        ("draw::sampler::classes::tests::every_case_of_classes_is_counted",),
    ),
    Mutant(
        "staying-always-decided",
        "src/draw/sampler/neighbours.rs",
        "the last words let everyone stay",
        ("draw::sampler::neighbours::tests::every_case_of_neighbours_is_counted",),
    ),
    Mutant(
        "mirror-off-by-one",
        "src/draw/sampler/one.rs",
        "an ordinal scale is folded one step too late",
        ("draw::sampler::one::tests::every_case_of_one_law_is_counted",),
    ),
    Mutant(
        "rest-in-first-mark",
        "src/draw/sampler/rows.rs",
        "undecided records of rows beyond 256 search the first 32 outcomes",
        ("draw::sampler::rows::tests::undecided_words_of_a_long_row_find_their_owner",),
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
        "src/numeric/shuffle.rs",
        "classes are shuffled to cycles, so that nobody stays",
        ("numeric::shuffle::tests::marginals_are_one_over_n",),
    ),
    Mutant(
        "unfair-words-kept",
        "src/numeric/draw.rs",
        "words of which some numbers have one more are used, biased by 2^-64",
        ("numeric::draw::tests::every_number_has_as_many_fair_words",),
    ),
    Mutant(
        "coins-of-sixteen-bits",
        "src/numeric/draw.rs",
        "a chance is rounded down to 16 bits",
        ("numeric::draw::tests::what_is_left_open_is_decided_by_more_bits",),
    ),
    Mutant(
        "always-fewer-flagged",
        "src/numeric/flagged.rs",
        "the set that is shuffled never has the larger of its two sizes",
        ("numeric::flagged::tests::marginals_are_randomized_response",),
    ),
    Mutant(
        "pairs-swapped-as-if-first",
        "src/numeric/path.rs",
        "a pair is swapped with its alpha, whatever the one before it may be",
        ("numeric::path::tests::marginals_are_the_tridiagonal",),
    ),
    Mutant(
        "trails-begin-upwards",
        "src/birkhoff/sample.rs",
        "odd entries are halved the same way every time",
        ("birkhoff::sample::tests::leaves_add_up_to_the_matrix",),
    ),
    Mutant(
        "first-part-one-unit-more",
        "src/numeric/mod.rs",
        "a part of a mixture is taken for one unit more than its weight",
        ("numeric::tests::every_unit_of_a_mixture_belongs_to_its_part",),
    ),
    Mutant(
        "ties-in-file-order",
        "python/bistochastic/numeric/order.py",
        "equal values keep the order of the file",
        ("tests/test_permute.py::test_ties_are_broken_by_the_key_and_not_by_the_file",),
        old="np.ascontiguousarray(ends - starts + 1, dtype=np.int64)",
        new="np.ascontiguousarray(ends - ends + 1, dtype=np.int64)",
    ),
    Mutant(
        "beta-of-a-mixture-averaged",
        "python/bistochastic/numeric/displacement.py",
        "a column behind one part of a mixture is given the beta of the whole",
        ("tests/test_permute.py::test_beta_of_a_mixture_is_that_of_its_smallest_part",),
        old="beta = min(beta for beta, _ in parts)",
        new="beta = max(beta for beta, _ in parts)",
    ),
    Mutant(
        "singles-averaged",
        "python/bistochastic/numeric/average.py",
        "classes of one individual are published as means",
        ("tests/test_average.py::test_only_projections_onto_class_means_are_released",),
        old="if not alone:",
        new="if alone < secret.number:",
    ),
    # Derivation.
    Mutant(
        "counter-of-32-bits",
        "src/draw/keystream/lanes.rs",
        "the upper half of the block counter is lost",
        ("draw::keystream::tests::the_counter_carries_into_its_upper_half",),
    ),
    Mutant(
        "further-words-repeat",
        "src/draw/randomize/streams.rs",
        "a record's ninth further word is its first again",
        ("draw::randomize::streams::tests::further_words_are_the_blocks_of_the_row",),
    ),
    Mutant(
        "code-not-in-id",
        "src/draw/randomize/streams.rs",
        "a changed code draws from the same words, so that the change shows",
        ("tests/test_words.py::test_by_id",),
    ),
    Mutant(
        "block-not-in-noise",
        "src/draw/randomize/block.rs",
        "two files under one label share their noise row by row",
        ("tests/test_protect.py::test_two_files_under_one_label_share_no_noise",),
    ),
    Mutant(
        "missing-not-in-digest",
        "src/draw/randomize/block.rs",
        "files that differ in what is missing share their noise",
        ("tests/test_protect.py::test_what_is_missing_and_the_stratum_enter_the_noise",),
    ),
    Mutant(
        "block-number-lost",
        "src/draw/randomize/block.rs",
        "equal blocks of one file have equal reports",
        ("draw::randomize::block::tests::equal_blocks_at_two_places_are_drawn_apart",),
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
        "blocks-of-a-stream-not-counted",
        "python/bistochastic/plan/stream.py",
        "every piece of a stream starts with block 0 again",
        ("tests/test_stream.py::test_pieces_make_the_release_of_the_whole",),
        old="by_blocks(coded, piece.encoded, first // BLOCK, piece.last)",
        new="by_blocks(coded, piece.encoded, 0, piece.last)",
    ),
    Mutant(
        "column-not-in-permutation",
        "python/bistochastic/plan/protect.py",
        "two sorted files under one label are permuted alike",
        (
            "tests/test_plan_numbers.py::"
            "test_sorted_files_under_one_label_share_no_permutation_and_no_ties",
        ),
        old='options |= {"key": own, "stream": "plan"}',
        new='options |= {"key": self._key, "stream": "plan"}',
    ),
    Mutant(
        "mixture-of-permutations-overstated",
        "python/bistochastic/plan/definitions.py",
        "a numeric column counts the bits of a mixture, of which one part serves everybody",
        ("tests/test_plan_numbers.py::test_a_mixture_hides_what_its_weakest_part_hides",),
        old="else column_beta(law)",
        new="else law.beta",
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
        "epsilon-of-the-weakest-beta",
        "python/bistochastic/plan/definitions.py",
        "the epsilon of strata is that of the law with the smallest beta",
        (
            "tests/test_plan.py::"
            "test_the_epsilon_of_strata_is_the_largest_and_not_that_of_the_smallest_beta",
        ),
        old="epsilons = [matrix.epsilon for matrix in attribute.matrices]",
        new="epsilons = [law.epsilon]",
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
        "src/draw/randomize/streams.rs",
        "ids that differ by 2^64 share their words",
        ("draw::randomize::tests::ids_address_people_and_the_code_enters",),
    ),
    Mutant(
        "path-not-derived",
        "src/draw/derive.rs",
        "factors of a composite share their words",
        ("draw::randomize::tests::no_words_are_shared",),
    ),
    Mutant(
        "labels-run-together",
        "src/law/digest.rs",
        "the length of a text is not hashed, so that labels can meet",
        ("draw::derive::tests::derivation_is_derive_key_of_the_key_and_the_encoded_tuple",),
    ),
    Mutant(
        "matrix-not-derived",
        "src/draw/derive.rs",
        "two matrices share their words",
        ("draw::derive::tests::neighbouring_tuples_do_not_meet",),
    ),
    # Rounding.
    Mutant(
        "beta-nearest",
        "src/number/logarithms.rs",
        "bits and beta in closed form to nearest",
        ("tests/test_laws.py::test_reported_bits_are_never_above_the_truth",),
    ),
    Mutant(
        "long-sum-error-upwards",
        "src/number/bits.rs",
        "bits of a long sum to the far end of their error",
        ("law::family::circulant::tests::long_rows_are_measured_in_the_safe_direction",),
    ),
    Mutant(
        "epsilon-nearest",
        "src/number/logarithms.rs",
        "epsilon to nearest",
        ("tests/test_laws.py::test_reported_epsilon_is_never_below_the_truth",),
    ),
    Mutant(
        "kron-epsilon-nearest",
        "src/law/family/kron.rs",
        "the epsilon of a kron to nearest",
        (EDGES + "test_the_epsilon_of_a_kron_is_never_below_the_truth",),
    ),
    Mutant(
        "joint-entropy-nearest",
        "src/number/bits.rs",
        "bits of one permutation to nearest",
        (
            EDGES + "test_joint_entropy_of_one_coin_is_never_above_the_truth",
            EDGES + "test_joint_entropy_of_permutations_by_weight_is_never_above_the_truth",
            EDGES + "test_joint_entropy_of_shuffles_and_their_krons_is_never_above_the_truth",
        ),
    ),
    Mutant(
        "joint-sum-nearest",
        "src/numeric/bits.rs",
        "bits of the axes of a kron added to nearest",
        (EDGES + "test_joint_entropy_of_shuffles_and_their_krons_is_never_above_the_truth",),
    ),
    Mutant(
        "identities-counted-apart",
        "src/numeric/bits.rs",
        "two ways to move nobody count as two permutations",
        (EDGES + "test_permutations_that_move_nobody_are_one",),
    ),
    Mutant(
        "odd-unit-on-a-zero",
        "src/number/lattice/rounding.rs",
        "the odd unit of a kernel goes to c_0 even where that is 0",
        (EDGES + "test_a_kernel_that_never_stays_keeps_its_zero",),
    ),
    Mutant(
        "faint-entries-vanish",
        "src/number/lattice/rounding.rs",
        "entries below a unit of the grid become 0",
        ("number::lattice::rounding::tests::tiny_entries_survive_at_the_cost_of_the_largest",),
    ),
    Mutant(
        "faint-cells-vanish",
        "src/law/scaling/rounding.rs",
        "the same in a dense matrix",
        ("law::scaling::rounding::tests::tiny_entries_survive",),
    ),
    Mutant(
        "flatter-is-sharper",
        "src/number/lattice/rounding.rs",
        "what rounding leaves over goes to the largest where it should flatten",
        ("number::lattice::rounding::tests::the_direction_decides_who_gets_the_rest",),
    ),
    Mutant(
        "remainder-not-seen",
        "src/number/lattice/rationals.rs",
        "a quotient a hair above half a step counts as a tie",
        ("number::lattice::rationals::tests::the_nearest_double_is_exact_where_it_can_be",),
    ),
    Mutant(
        "request-missed-by-one",
        "src/number/calibrate.rs",
        "the parameter found is one short of what was asked for",
        ("law::family::randomized_response::tests::the_report_keeps_what_was_asked",),
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
        ("tests/test_grid.py::test_a_grid_that_is_too_coarse_names_the_smallest_safe_one",),
    ),
    # Estimation, in Python.
    Mutant(
        "hoeffding-one-sided",
        "python/bistochastic/estimate/intervals.py",
        "Hoeffding's bound for one side used on two",
        (EDGES + "test_bounds_of_few_records_hold_at_their_very_ends",),
        old="math.log(2 / alpha)",
        new="math.log(1 / alpha)",
    ),
    Mutant(
        "bernstein-two-events",
        "python/bistochastic/estimate/intervals.py",
        "the variance that looks too small is forgotten in Bernstein's bound",
        (EDGES + "test_few_of_many_have_the_three_events_of_bernstein",),
        old="math.log(3 / alpha)",
        new="math.log(2 / alpha)",
    ),
    Mutant(
        "doubt-forgotten",
        "python/bistochastic/estimate/result.py",
        "the error of probed variances does not widen the interval",
        (EDGES + "test_probed_variances_are_hardly_ever_too_small_for_an_interval",),
        old="spread + 3 * doubt",
        new="spread",
    ),
    Mutant(
        "region-confidence-unsplit",
        "python/bistochastic/estimate/intervals.py",
        "the rare and the others may both miss all that the region may",
        (EDGES + "test_half_of_what_a_region_may_miss_goes_to_the_rare",),
        old="confidence = min((1 + confidence) / 2, math.nextafter(1, 0))",
        new="confidence = confidence",
    ),
    Mutant(
        "no-bonferroni",
        "python/bistochastic/estimate/result.py",
        "simultaneous intervals are those of one share",
        (INTERVALS + "test_many_surveys_at_once_are_those_one_by_one",),
        old="alpha /= r",
        new="alpha /= 1",
    ),
    Mutant(
        "biased-variance",
        "python/bistochastic/estimate/result.py",
        "standard errors divide by n instead of n - 1",
        (ESTIMATE + "test_sampled_records_by_enumerating_everything",),
        old="1 / (self.records - 1)",
        new="1 / self.records",
    ),
    Mutant(
        "truths-counted-as-noise",
        "python/bistochastic/estimate/intervals.py",
        "of a fixed population, what truths differ by is counted as error",
        (INTERVALS + "test_a_conjunction_says_what_randomization_adds",),
        old="spread - shares * (1 - shares)",
        new="spread - 0 * shares",
    ),
    Mutant(
        "clopper-pearson-one-sided",
        "python/bistochastic/estimate/quantiles.py",
        "the exact lower bound may miss with all of alpha",
        (INTERVALS + "test_quantiles_are_those_of_scipy",),
        old="_beta_quantile(a, b, alpha / 2, upper=False)",
        new="_beta_quantile(a, b, alpha, upper=False)",
    ),
    Mutant(
        "skewness-unpaid",
        "python/bistochastic/estimate/intervals.py",
        "normal bounds without what they pay for skewness",
        (INTERVALS + "test_the_worst_skewness_is_covered_wherever_the_rule_changes",),
        old="normal + k * above",
        new="normal",
    ),
    Mutant(
        "one-corner-of-a-kron",
        "python/bistochastic/estimate/intervals.py",
        "the range of a joint pseudo-response from one end of the first factor",
        (EDGES + "test_the_range_of_a_kron_is_at_any_corner",),
        old="for a in (least, most) for b",
        new="for a in (most,) for b",
    ),
    Mutant(
        "projected-by-the-mean",
        "python/bistochastic/estimate/methods.py",
        "what is over one is taken off all shares, also those that fall below 0",
        (ESTIMATE + "test_the_projection_is_the_nearest_distribution",),
        old="over[last]",
        new="over[-1]",
    ),
    Mutant(
        "covariance-of-one-population-for-both",
        "python/bistochastic/estimate/result.py",
        "the covariance of a sample is that of a fixed population",
        (ESTIMATE + "test_standard_errors_are_the_roots_of_the_covariance",),
        old="spread -= np.outer(self._unbiased, self._unbiased)",
        new="spread -= np.diag(self._unbiased)",
    ),
    Mutant(
        "likelihood-unscaled",
        "python/bistochastic/estimate/likelihood.py",
        "reports of likely shares are not scaled by the mass that empty ones leave",
        ("tests/test_likelihood.py::test_maximum_likelihood_is_that_of_a_generic_solver",),
        old="(1 - first * lie) * phi[first:]",
        new="phi[first:]",
    ),
    Mutant(
        "plan-without-the-truth",
        "python/bistochastic/estimate/planning.py",
        "the worst case of a plan forgets the square of the share itself",
        ("tests/test_planning.py::test_planning",),
        old=" - t * t))",
        new="))",
    ),
    Mutant(
        "conjunction-counts-truths",
        "python/bistochastic/estimate/conjunctions.py",
        "of a fixed population, what truths differ by is counted as error",
        (INTERVALS + "test_a_conjunction_says_what_randomization_adds",),
        old="math.fsum(product**2) - count",
        new="math.fsum(product**2)",
    ),
    # Tables of a protected file.
    Mutant(
        "units-outside-the-subgroup",
        "python/bistochastic/tables/responses.py",
        "rows outside of a known subgroup count as units of the sample",
        (WHERE + "test_rows_outside_of_a_known_domain_are_no_units",),
        old="units = np.array([sheet.records])",
        new="units = np.array([sheet.rows])",
    ),
    Mutant(
        "true-for-one",
        "python/bistochastic/tables/question.py",
        "True is taken for 1 in a condition on an unprotected column",
        (WHERE + "test_true_is_not_1_and_1_is_not_true",),
        old="and key(level) not in there)",
        new="and level not in tuple(known))",
    ),
    Mutant(
        "unanswered-outside-the-subgroup",
        "python/bistochastic/tables/sheet.py",
        "records without an answer are counted outside of the subgroup, too",
        (WHERE + "test_who_did_not_answer_is_counted_inside_the_domain_alone",),
        old="asked = unanswered if inside is None else unanswered & inside",
        new="asked = unanswered",
    ),
    Mutant(
        "levels-of-another-kind",
        "python/bistochastic/tables/question.py",
        "a condition on a column that is asked about shows all of its levels",
        (WHERE + "test_a_scalar_of_numpy_beside_one_of_python_is_its_level",),
        old="if level in conditions.get(column, every)]",
        new="if level]",
    ),
    Mutant(
        "replicates-by-one-total",
        "python/bistochastic/estimate/linear.py",
        "all replicates divide by the total of the weights",
        ("tests/test_replicates.py::test_each_replicate_divides_by_its_own_total",),
        old="totals = told.sum(axis=1, keepdims=True)",
        new="totals = np.full((len(cells), 1), self.total)",
    ),
    # Classes of records.
    Mutant(
        "far-side-of-a-box-forgotten",
        "src/numeric/cloud.rs",
        "the farthest place of a box is taken to be its lower side",
        ("numeric::cloud::tests::finds_what_comparing_with_every_point_finds",),
    ),
    Mutant(
        "leftover-joins-any-class",
        "src/numeric/anatomy.rs",
        "a record that is left over may join a class that has its value",
        ("numeric::anatomy::tests::no_class_has_a_value_twice",),
    ),
    Mutant(
        "tables-of-two-files-alike",
        "src/py/microaggregate.rs",
        "the tables of another file are dealt out by the same words",
        (ANATOMY + "test_a_key_gives_the_same_tables_and_another_file_other_ones",),
    ),
    Mutant(
        "bound-of-the-largest-class",
        "python/bistochastic/numeric/anatomy.py",
        "the surest guess is that of classes as large as the largest",
        (ANATOMY + "test_joined_tables_never_beat_the_bound",),
        old="counts / sizes[pairs // (int(codes.max()) + 1)]",
        new="counts / sizes.max()",
    ),
    Mutant(
        "ties-by-the-file",
        "python/bistochastic/numeric/ranks.py",
        "equal masked values are ordered as the file is",
        ("tests/test_ranks.py::test_the_order_of_the_file_does_not_matter",),
        old="np.lexsort((x, y))",
        new="np.argsort(y, kind='stable')",
    ),
    # What is published unchanged, and how it is said.
    Mutant(
        "certain-in-one-report-only",
        "python/bistochastic/plan/published.py",
        "a category that some reports leave open counts as certain always",
        ("tests/test_published.py::test_what_the_certificate_lists_is_what_leaves",),
        old="always = sometimes & ~behind[~certain].any(axis=0)",
        new="always = sometimes",
    ),
    Mutant(
        "one-group-for-all",
        "python/bistochastic/plan/published.py",
        "a column is published unchanged as soon as one group of it is",
        ("tests/test_published.py::test_what_the_certificate_lists_is_what_leaves",),
        old="if several and all(one.whole for one in read):",
        new="if several and any(one.whole for one in read):",
    ),
    Mutant(
        "positions-known-after-a-shuffle",
        "python/bistochastic/plan/published.py",
        "numbers moved by position are listed as certain though the rows were shuffled",
        ("tests/test_published.py::test_what_the_certificate_lists_is_what_leaves",),
        old="        many = 0\n",
        new="        pass\n",
    ),
    Mutant(
        "beta-0-is-protected",
        "python/bistochastic/plan/published.py",
        "a column of beta 0 is counted among the protected ones",
        ("tests/test_published_words.py::test_numbers_that_stay_are_not_called_protected",),
        old="(each.beta == 0 and each.size != 1)",
        new="False",
    ),
    Mutant(
        "escapes-in-tables",
        "python/bistochastic/words.py",
        "tables show the text of others as it is",
        ("tests/test_terminal.py::test_reprs_and_pages_of_foreign_text_are_harmless",),
        old="lines = [[visible(text) for text in line] for line in (header, *rows)]",
        new="lines = [list(line) for line in (header, *rows)]",
    ),
    Mutant(
        "anyone-answers",
        "python/bistochastic/sources.py",
        "a key that anyone can guess is taken without a word",
        ("tests/test_waves.py::test_a_client_needs_all_columns_a_key_and_an_id",),
        old='and fingerprint == "insecure":',
        new="and False:",
    ),
    # Audits: what would make a bad release look good.
    Mutant(
        "equals-not-shared",
        "python/bistochastic/audit/linkage.py",
        "people who are equally likely are all found first",
        (AUDIT + "test_linkage_is_that_of_an_exhaustive_search[0]",),
        old="(few - above) / level",
        new="few - above",
    ),
    Mutant(
        "equals-told-apart-by-rounding-below",
        "python/bistochastic/audit/linkage.py",
        "a product that is a hair larger, computed in another order, goes before",
        (AUDIT + "test_equal_products_are_ties_in_spite_of_rounding[2-5]",),
        old="high, low = own * (1 + TIES), ",
        new="high, low = own, ",
    ),
    Mutant(
        "equals-told-apart-by-rounding-above",
        "python/bistochastic/audit/linkage.py",
        "a product that is a hair smaller, computed in another order, goes behind",
        (AUDIT + "test_equal_products_are_ties_in_spite_of_rounding[2-9]",),
        old="own * (1 + TIES), own * (1 - TIES)",
        new="own * (1 + TIES), own",
    ),
    Mutant(
        "columns-in-clear-not-compared",
        "python/bistochastic/audit/linkage.py",
        "the attacker looks through everybody, whatever stands in clear",
        (AUDIT + "test_linkage_is_that_of_an_exhaustive_search[0]",),
        old="key[order] = np.repeat",
        new="key[order] = 0 * np.repeat",
    ),
    Mutant(
        "record-not-left-out",
        "python/bistochastic/audit/giveaways.py",
        "a value is guessed from itself, too, so that rare entries give it away",
        (AUDIT + "test_left_out_guesses_are_those_of_a_loop",),
        old="own = number - 1",
        new="own = number",
    ),
    Mutant(
        "strata-not-in-repeats",
        "python/bistochastic/audit/giveaways.py",
        "two reports of one value count as redrawn, though each has a law of its own",
        (AUDIT + "test_what_has_another_law_or_was_missing_was_not_redrawn",),
        old="truths + (0 if channel.strata is None else channel.strata)",
        new="truths + 0",
    ),
    Mutant(
        "shuffled-rows-attacked",
        "python/bistochastic/audit/pairing.py",
        "shuffled rows are taken in their order, and nobody is found",
        (AUDIT + "test_what_cannot_be_audited_is_refused_with_the_reason",),
        old="    if mixed:\n",
        new="    if False:\n",
    ),
    Mutant(
        "reports-not-held-against-the-plan",
        "python/bistochastic/audit/guesses.py",
        "reports of other rows are attacked as if they were right",
        (AUDIT + "test_what_cannot_be_audited_is_refused_with_the_reason",),
        old="if not abs(found.hits - found.expected) <= allowed:",
        new="if False:",
    ),
    # Reports.
    Mutant(
        "belief-rounded-down",
        "python/bistochastic/report/beliefs.py",
        "what a belief can become is rounded down",
        ("tests/test_report.py::test_a_belief_is_never_understated_and_exact",),
        old="whole = -(-top * 10**decimals // bottom)",
        new="whole = top * 10**decimals // bottom",
    ),
    Mutant(
        "odds-of-one-factor",
        "python/bistochastic/report/beliefs.py",
        "columns that are drawn independently favour a truth no more than the worst of them",
        ("tests/test_report.py::test_a_belief_is_never_understated_and_exact",),
        old="return math.prod((part for part in each if part is not None), start=Fraction(1))",
        new="return max(part for part in each if part is not None)",
    ),
    Mutant(
        "labels-as-markup",
        "python/bistochastic/markup/elements.py",
        "text stands in a page as it is",
        ("tests/test_markup.py::test_labels_are_text_everywhere",),
        old="yield escaped(child)",
        new="yield child",
    ),
    # Parquet files.
    Mutant(
        "run-cut-short",
        "src/draw/packed.rs",
        "a run of one place is written with one less than it has",
        ("draw::packed::tests::runs_of_every_length_and_beginning_are_read_again",),
    ),
    Mutant(
        "pages-not-moved",
        "python/bistochastic/adapters/parquet_file.py",
        "columns are looked for where they stood in a file of their own",
        (PARQUET + "test_columns_of_every_kind_come_back_as_they_were[none]",),
        old="new[number][1] + by",
        new="new[number][1]",
    ),
    Mutant(
        "missing-rows-swapped",
        "python/bistochastic/adapters/parquet_pages.py",
        "rows that have a value are written as missing",
        (PARQUET + "test_pages_and_groups_of_many_rows_with_missing_values",),
        old="np.packbits(~missing[",
        new="np.packbits(missing[",
    ),
]
