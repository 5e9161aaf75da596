"""Every file of the toolkit can be the first that is imported."""

from __future__ import annotations

import json
import subprocess
import sys

import bistochastic_survey as sv

# In one process: what belongs to the toolkit is forgotten before each import.
EACH_FIRST = """
import importlib, json, pkgutil, sys
import bistochastic_survey as sv

def forget():
    for name in [n for n in sys.modules if n.startswith("bistochastic_survey")]:
        del sys.modules[name]

names = [m.name for m in pkgutil.walk_packages(sv.__path__, "bistochastic_survey.")]
wrong = {}
for name in names:
    forget()
    try:
        importlib.import_module(name)
    except ImportError as error:
        wrong[name] = str(error)
for name in sv.__all__:
    forget()
    try:
        getattr(importlib.import_module("bistochastic_survey"), name)
    except ImportError as error:
        wrong[name] = str(error)
print(json.dumps([names, wrong]))
"""


def test_every_file_and_every_public_name_can_come_first() -> None:
    words = [sys.executable, "-c", EACH_FIRST]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    names, wrong = json.loads(done.stdout)
    assert len(names) > len(sv.__all__)
    assert "bistochastic_survey.release.waves" in names
    assert not wrong
