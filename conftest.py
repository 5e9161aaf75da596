"""What all tests share: names for the examples in docstrings, and how hypothesis draws."""

import os
import signal
from typing import Any

import pytest
from hypothesis import settings

# LAPACK's own threads wait busily for each other where every core already runs tests. It reads this
# when NumPy is first imported, which is below.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import bistochastic

try:
    import bistochastic_survey
except ModuleNotFoundError:
    # The tests of the library run without the toolkit.
    bistochastic_survey = None

# The same examples every time, so that what passed passes. BISTOCHASTIC_FUZZ=1 draws fresh ones. No
# deadline: timings belong in the benchmarks.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("fuzz", max_examples=300, deadline=None)
settings.load_profile("fuzz" if os.environ.get("BISTOCHASTIC_FUZZ") else "fixed")

# What a shell starts in the background ignores Ctrl-C, and tests that send it would wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _examples_know_both(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["bs"] = bistochastic
    if bistochastic_survey is not None:
        doctest_namespace["sv"] = bistochastic_survey
