"""What is compared: imputers, each before two clusterers, and methods that take the rows as is."""

import inspect
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (IterativeImputer)
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.preprocessing import StandardScaler

from amclust import ClAM
from benchmarks.data import FloatArray, IntArray
from benchmarks.framework.environment import UnavailableError, optional_module
from benchmarks.framework.pages import say
from benchmarks.kpod import k_pod
from benchmarks.partitions import draw_seeds

RESTARTS = 10  # the same for every clusterer

Parameters = Mapping[str, Any]

# What does not change the labels that ClAM finds.
_IMMATERIAL = ("n_jobs", "random_state", "verbose")


@dataclass(frozen=True)
class Method:
    """One of what is compared; `parameters` are all that is chosen about it.

    It is left out where columns² x rows, which is what a regression of every column on all others
    costs, is more than `max_work`. `module` and `package` are those of an optional peer.
    """

    title: str
    parameters: Parameters = field(default_factory=dict)
    max_work: float = math.inf
    module: str = ""
    package: str = ""

    @property
    def is_limited(self) -> bool:
        return math.isfinite(self.max_work)

    def takes(self, shape: tuple[int, ...]) -> bool:
        rows, columns = shape
        return columns**2 * rows <= self.max_work

    def is_available(self) -> bool:
        """Say whether its package is here, and which one is not."""
        try:
            if self.module:
                optional_module(self.module, self.package)
        except UnavailableError as error:
            say(f"{self.title:<22} SKIPPED: {error}")
            return False
        return True

    def definition(self) -> dict[str, Any]:
        return {"parameters": dict(self.parameters), "restarts": RESTARTS}


# --- imputers -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Imputer(Method):
    """Fills rows: `impute` gets them standardised by observed values, a seed and `parameters`."""

    impute: Callable[..., FloatArray] = field(kw_only=True)

    def fill(self, features: FloatArray, seed: int) -> FloatArray:
        """Fill the NaN of rows; in their own units."""
        scaler = StandardScaler().fit(features)
        filled = self.impute(scaler.transform(features), seed, **self.parameters)
        # What was observed stays as it was, to the bit.
        return np.where(np.isnan(features), scaler.inverse_transform(filled), features)


def _mean(features: FloatArray, seed: int) -> FloatArray:
    return SimpleImputer().fit_transform(features)


def _knn(features: FloatArray, seed: int, **parameters: Any) -> FloatArray:
    return KNNImputer(**parameters).fit_transform(features)


def _iterative(features: FloatArray, seed: int, **parameters: Any) -> FloatArray:
    return IterativeImputer(random_state=seed, **parameters).fit_transform(features)


def _extra_trees(features: FloatArray, seed: int, max_iter: int, **parameters: Any) -> FloatArray:
    trees = ExtraTreesRegressor(random_state=seed, **parameters)
    return _iterative(features, seed, estimator=trees, max_iter=max_iter)


def _miceforest(features: FloatArray, seed: int, iterations: int) -> FloatArray:
    import pandas as pd

    miceforest = optional_module("miceforest", "miceforest")
    frame = pd.DataFrame(features, columns=[f"x{j}" for j in range(features.shape[1])])
    kernel = miceforest.ImputationKernel(frame, random_state=seed)
    kernel.mice(iterations, num_threads=1)
    return kernel.complete_data().to_numpy()


KMEANS, CLAM = "kmeans", "clam"
CLUSTERERS = {KMEANS: "k-means", CLAM: "ClAM"}


def cluster(clusterer: str, filled: FloatArray, n_clusters: int, seed: int) -> IntArray:
    """Label filled rows by one of `CLUSTERERS`, standardised; in one thread."""
    if clusterer == CLAM:
        return ClAM(n_clusters, n_init=RESTARTS, n_jobs=1, random_state=seed).fit(filled).labels_
    standardised = StandardScaler().fit_transform(filled)
    return KMeans(n_clusters, n_init=RESTARTS, random_state=seed).fit_predict(standardised)


# --- methods that take missing values -------------------------------------------------------------


class Found(NamedTuple):
    """Labels; where the method completes also filled rows; where it says so also how sure it is."""

    labels: IntArray
    completed: FloatArray | None = None
    deviations: FloatArray | None = None


@dataclass(frozen=True)
class Direct(Method):
    """Labels rows with NaN, and may fill them: gets rows, k, a seed and `parameters`."""

    find: Callable[..., Found] = field(kw_only=True)

    def __call__(self, features: FloatArray, n_clusters: int, seed: int) -> Found:
        return self.find(features, n_clusters, seed, **self.parameters)


def _clam(features: FloatArray, n_clusters: int, seed: int, **parameters: Any) -> Found:
    model = ClAM(n_clusters, **parameters, n_jobs=1, random_state=seed).fit(features)
    if "return_std" in inspect.signature(ClAM.complete).parameters:
        return Found(model.labels_, *model.complete(features, return_std=True))
    return Found(model.labels_, model.complete(features))


def _k_pod(features: FloatArray, n_clusters: int, seed: int, **parameters: Any) -> Found:
    scaler = StandardScaler().fit(features)
    rows = scaler.transform(features)
    found = k_pod(rows, n_clusters, n_init=RESTARTS, random_state=seed, **parameters)
    return Found(found.labels, scaler.inverse_transform(found.completed))


# In the place of StepMix's "continuous_nan".
_FLOORED = "floored_nan"


def _stepmix(
    features: FloatArray, n_clusters: int, seed: int, reg_covar: float, **parameters: Any
) -> Found:
    """Fit with what scikit-learn's mixtures add to variances; keep the best restart.

    As shipped, a column that is constant in a class takes the likelihood to infinity, and then all
    rows get one label. Where that comes of a class without any value, the restart does not count.
    """
    stepmix = optional_module("stepmix.stepmix", "stepmix")
    measurement = add_to_variances(reg_covar)
    rows = StandardScaler().fit_transform(features)
    best, best_bound = np.zeros(len(rows), np.intp), -math.inf
    for one in draw_seeds(seed, RESTARTS):
        model = stepmix.StepMix(
            n_clusters, measurement=measurement, random_state=one, progress_bar=0, **parameters
        )
        with np.errstate(all="ignore"):
            labels = model.fit(rows).predict(rows)
        if math.isfinite(model.lower_bound_) and model.lower_bound_ > best_bound:
            best, best_bound = np.asarray(labels), model.lower_bound_
    return Found(best)


def add_to_variances(amount: float) -> str:
    """Tell StepMix of a model like "continuous_nan" whose variances never vanish; give its name."""
    models = optional_module("stepmix.emission.build_emission", "stepmix").EMISSION_DICT

    class Floored(models["continuous_nan"]):
        def _compute_cov(self, *arguments: Any) -> FloatArray:
            return super()._compute_cov(*arguments) + amount

    models[_FLOORED] = Floored
    return _FLOORED


def _defaults() -> dict[str, Any]:
    """Spell ClAM's defaults out, so that a changed one changes the definition."""
    defaults = ClAM(n_init=RESTARTS).get_params()
    left_out = ("n_clusters", *_IMMATERIAL)
    return {name: value for name, value in defaults.items() if name not in left_out}


OURS, MEAN, KNN, BAYES, TREES = "clam", "mean", "knn", "bayes", "trees"
MICEFOREST, K_POD, STEPMIX = "miceforest", "kpod", "stepmix"

_TREES = {"n_estimators": 10, "max_iter": 5}
# Variances as those of the Gaussian mixtures in benchmarks.quality.
_STEPMIX = {"reg_covar": 1e-3, "max_iter": 100, "abs_tol": 1e-4}
METHODS: dict[str, Imputer | Direct] = {
    OURS: Direct("ClAM", _defaults(), find=_clam),
    MEAN: Imputer("mean", impute=_mean),
    KNN: Imputer("KNN", {"n_neighbors": 5}, impute=_knn),
    BAYES: Imputer("iterative, Bayes", {"max_iter": 10}, 1.5e8, impute=_iterative),
    TREES: Imputer("iterative, extra trees", _TREES, 3e6, impute=_extra_trees),
    MICEFOREST: Imputer(
        *("miceforest", {"iterations": 5}, 1e6, "miceforest", "miceforest"), impute=_miceforest
    ),
    K_POD: Direct("k-POD", {"stop": "assignments"}, find=_k_pod),
    STEPMIX: Direct(*("StepMix", _STEPMIX, 1e7, "stepmix", "stepmix"), find=_stepmix),
}
IMPUTERS = tuple(name for name, method in METHODS.items() if isinstance(method, Imputer))


def timed_seconds(call: Callable[[], Any]) -> tuple[Any, float]:
    """Give what a call returns and the seconds it took."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start
