"""Records as categories: a column of N records permuted or averaged by a matrix over them.

``permute.py`` moves values, ``average.py`` computes means, ``order.py`` says which records are
neighbours, and ``displacement.py`` how far values move. The matrix itself is never formed.
``classes.py`` groups similar records, ``anatomy.py`` makes two tables of them, and ``ranks.py``
finds what masking did to ranks.
"""
