"""Pictures for papers: a matrix, an estimate, and families at the same beta.

It needs the extra ``plot`` (matplotlib), which is imported only when a picture is drawn. Every
function returns the matplotlib ``Figure``: ``bs.plot.tradeoff(12).savefig("tradeoff.png")``. A
notebook shows it after ``%matplotlib inline``. Pyplot is not used, so no window opens and no figure
stays in memory. ``axes=`` draws into axes of your own. The pictures can be read in grey: lines also
differ by marker and style.

>>> import bistochastic as bs
>>> figure = bs.plot.tradeoff(12, betas=[0.5], against=["truthfulness", "epsilon"])
>>> len(figure.axes)
2
"""

from bistochastic.plot.curves import choices, tradeoff
from bistochastic.plot.heat import heatmap
from bistochastic.plot.shares import estimate

__all__ = ["choices", "estimate", "heatmap", "tradeoff"]
