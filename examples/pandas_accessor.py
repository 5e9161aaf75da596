"""An accessor of pandas: ``people.survey.protect(plan, key=source, ids="person")``."""

from __future__ import annotations

import pandas as pd

import bistochastic as bs
import bistochastic_survey as sv


@pd.api.extensions.register_dataframe_accessor("survey")
class Survey:
    """Protects a DataFrame by the ids of its people."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def protect(self, plan: sv.Plan, *, key: bs.KeySource, ids: str) -> pd.DataFrame:
        """Return the protected frame; the column of ids is left out, and rows are numbered anew."""
        frame = self._frame.reset_index(drop=True)
        responder = plan.responder(key=key, after="first")
        return responder.columns(frame.drop(columns=[ids]), ids=frame[ids])
