"""Pictures for reports: a profile, a matrix, and what families pay for the same beta.

Needs the extra ``plot`` (matplotlib), which is imported when a picture is asked for and not before.
Every function returns the matplotlib ``Figure``: ``bs.plot.tradeoff(12).savefig("tradeoff.png")``;
a notebook shows it after ``%matplotlib inline``. Nothing goes through pyplot, so no window opens
and no figure stays behind. With ``axes=`` a picture is drawn into axes of one's own. Colours differ
in grey, too, and are never alone: lines have markers and styles, bounds are hatched.

>>> import bistochastic as bs
>>> figure = bs.plot.tradeoff(12, betas=[0.5], against=["truthfulness", "epsilon"])
>>> len(figure.axes)
2
"""

from bistochastic.plot.bars import profile
from bistochastic.plot.curves import tradeoff
from bistochastic.plot.heat import heatmap

__all__ = ["heatmap", "profile", "tradeoff"]
