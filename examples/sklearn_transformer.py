"""A transformer of scikit-learn that protects people by their ids, alike in all folds."""

from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin

import bistochastic_survey as sv


class Protect(TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Replaces the columns of a plan; the key, a ``KeySource``, and ids make all folds alike."""

    def __init__(self, plan: sv.Plan, key: Any, id_column: str) -> None:
        self.plan, self.key, self.id_column = plan, key, id_column

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Learn names alone: categories are declared, never read from the data."""
        self.names_ = [c for c in X.columns if c not in (self.id_column, *self.plan.drop)]
        return self

    def get_feature_names_out(self, _given: Any = None) -> list[str]:
        """List the columns that come out, for ``set_output``."""
        return self.names_

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Protect a DataFrame; the column of ids is left out, and rows keep their index."""
        given = X.reset_index(drop=True)
        responder = self.plan.responder(key=self.key, after="first")
        drawn = responder.columns(given.drop(columns=self.id_column), ids=given[self.id_column])
        return drawn.set_axis(X.index)
