"""A transformer of scikit-learn that protects people by their ids, alike in all folds."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin

import bistochastic as bs
import bistochastic_survey as sv


class Protect(TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Replaces the columns of a plan; each person gets the same reported values in every fold."""

    def __init__(self, plan: sv.Plan, key: bs.KeySource, id_column: str) -> None:
        self.plan, self.key, self.id_column = plan, key, id_column

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Learn nothing: categories are declared, never read from the data."""
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Protect a DataFrame; the column of ids is left out, and rows are numbered anew."""
        X = X.reset_index(drop=True)  # noqa: N806
        responder = self.plan.responder(key=self.key, after="first")
        return responder.columns(X.drop(columns=[self.id_column]), ids=X[self.id_column])
