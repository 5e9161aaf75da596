"""Long calls of ``randomize``: Ctrl-C, other threads, forks."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from draw_cases import KEY, MATRICES, codes_for


def slow() -> tuple[bs.Matrix, Any]:
    """About half a minute of work."""
    m = bs.kron(*[bs.randomized_response(2, beta=0.5)] * 40)
    return m, np.zeros(20_000_000, np.int64)


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
@pytest.mark.parametrize("by_ids", [False, True])
def test_ctrl_c_stops_a_long_call_before_its_work_is_done(by_ids: bool) -> None:
    """Work is counted in processor time, beside that of a hundredth: the clock says nothing."""
    m, codes = slow()
    ids = np.arange(len(codes))

    def work(records: int) -> float:
        where: Any = {"ids": ids[:records]} if by_ids else {"start": 0}
        begun = time.process_time()
        with suppress(KeyboardInterrupt):
            m.randomize(codes[:records], key=KEY, stream="a", **where)
        return time.process_time() - begun

    part = work(len(codes) // 100)
    # When a tenth of the work is done, or a fifth of it on two processors.
    timer = threading.Timer(min(0.5, 10 * part), os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    done = work(len(codes))
    timer.join()
    assert done < 50 * part


def test_other_threads_run_meanwhile() -> None:
    m = MATRICES["dense 300"]
    codes = codes_for(m, 3_000_000)
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks
    want = m.randomize(codes, key=KEY, stream="a", start=0, threads=1)
    m.randomize(codes, key=KEY, stream="a", ids=codes, threads=1)
    # A call that kept the interpreter to itself would let through one tick, before or after it.
    assert ticks > before + 2
    done.set()
    thread.join()
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(m.randomize, codes, key=KEY, stream="a", start=0) for _ in range(4)]
    assert all(np.array_equal(call.result(), want) for call in calls)


def in_child(work: Any) -> bytes:
    """What `work` returns in a forked child, within 20 seconds."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, work())
        finally:
            os._exit(0)
    os.close(write)
    for _ in range(200):
        if os.waitpid(pid, os.WNOHANG)[0]:
            with os.fdopen(read, "rb") as pipe:
                return pipe.read()
        time.sleep(0.1)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    pytest.fail("the child did not answer within 20 seconds")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_randomizes_and_repeats_nothing() -> None:
    m = MATRICES["rr"]
    codes = codes_for(m, 1_000_000)
    want = m.randomize(codes, key=KEY, stream="a", start=0, threads=2)

    def answers() -> bytes:
        return bytes(bs.uniform(256).respond(0) for _ in range(64))

    answers()
    children = [in_child(answers) for _ in range(3)]
    mine = answers()
    assert len({mine, *children}) == 4
    assert all(len(child) == 64 for child in children)
    same = in_child(
        lambda: hashlib.sha256(
            m.randomize(codes, key=KEY, stream="a", start=0, threads=2).tobytes()
        ).digest()
    )
    assert same == hashlib.sha256(want.tobytes()).digest()
