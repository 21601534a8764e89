"""From what users pass as a fitted model to the `ClAM` that owns the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from amclust._network import Network

if TYPE_CHECKING:
    from amclust._estimator import ClAM


def fitted_clam(estimator: Any) -> ClAM:
    """Return a fitted ClAM: the estimator, or the best one of a search."""
    check_is_fitted(estimator)
    model = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(getattr(model, "network_", None), Network):
        msg = f"estimator must be a fitted ClAM or ClAMSearch, got {kind_of(estimator)}."
        raise TypeError(msg)
    found: ClAM = model
    return found


def kind_of(estimator: Any) -> str:
    """Name the kind of an estimator that is refused; of a pipeline, with what to pass instead."""
    # Imported here, so that `import amclust` stays light.
    from sklearn.pipeline import Pipeline

    kind = type(estimator).__name__
    if not isinstance(estimator, Pipeline):
        return kind
    return f"{kind}: pass pipeline[-1] and the rows as it gets them: pipeline[:-1].transform(X)"


def column_names(network: Network, X: Any = None) -> list[str]:
    """Return the names of the columns: those of a frame, the network's, or x0, x1, ..."""
    names = getattr(X, "columns", None)
    if names is None or network.geometry.categories is not None:
        names = network.geometry.feature_names
    if names is None:
        return [f"x{index}" for index in range(network.n_features)]
    # A blank name could not be seen.
    return [str(name) if str(name).strip() else "(no name)" for name in names]
