"""Individuals as categories: a column of N people moved or averaged by a matrix over them.

``permute.py`` moves values, ``average.py`` takes means, ``order.py`` says who is next to whom, and
``displacement.py`` how far people move. The matrix itself is never formed. ``classes.py`` groups
similar records, ``anatomy.py`` makes two tables of them, and ``ranks.py`` finds what masking did to
ranks.
"""
