"""Random calls of the whole public surface, hostile and valid, and the laws of what succeeds.

A case is a function of a seed and a number, and is source code: what fails is printed as a call
that can be typed. ``make fuzz`` runs fresh seeds; ``test_fuzz.py`` a fixed one.

    watch.py       children that run the cases, watched: crashes, hangs, and what was found
    child.py       one case after the other: build, call, judge, laws
    case.py        a case: what is called on what with which source
    surface.py     what there is to call, by introspection
    parameters.py  valid arguments by name; matrices.py valid matrices, plans.py plans and tables
    values.py      hostile values; hostile.py objects and containers.py arrays they are made from
    operations.py  operators and protocols as functions
    files.py       hostile files
    terminal.py    the command line, by introspection of click
    chain.py       several commands on a random file
    judge.py       which exceptions, warnings and words are fine
    laws.py        what holds for every call; of_matrix.py for a matrix, of_result.py for the rest
    oracle.py      the law of a matrix and its measures, by definition
    prelude.py     names that sources may use
"""
