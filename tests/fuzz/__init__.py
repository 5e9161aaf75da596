"""Random calls of the whole public surface, hostile and valid, and the laws that what succeeds keeps.

A case is a function of a seed and a number, and is source code: what fails is printed as a call that
can be typed. ``make fuzz`` runs fresh seeds; ``test_fuzz.py`` a fixed one.

    watch.py       children that run the cases, watched: crashes, hangs, and where to go on
    child.py       one case after the other: build, call, judge, laws
    case.py        a case: what is called on what with which source
    surface.py     what there is to call, by introspection
    parameters.py  valid arguments by name; matrices.py valid matrices
    values.py      hostile values; hostile.py objects and containers.py arrays they are made from
    operations.py  operators and protocols as functions
    files.py       hostile files
    terminal.py    the command line, by introspection of click
    judge.py       which exceptions, warnings and words are fine
    laws.py        what holds for every result; oracle.py the same numbers by definition
"""
