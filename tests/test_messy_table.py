"""A frame of ten types goes through all of it, without a warning."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from amclust import ClAM, load

N = 150


def frame_of_ten():
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=N)
    level = (kind + (rng.random(N) < 0.2)) % 2
    frame = pd.DataFrame(
        {
            "float64": kind + rng.normal(0, 0.5, N),
            "float32": (100 * kind + rng.normal(0, 50, N)).astype(np.float32),
            "int64": rng.poisson(5 + 5 * kind),
            "Int64": pd.array(rng.poisson(5, N), dtype="Int64"),
            "bool": level == 1,
            "boolean": pd.array(level == 0, dtype="boolean"),
            "category": pd.Categorical.from_codes(level, ["no", "yes"]),
            "ordered": pd.Categorical.from_codes(level, ["low", "high"], ordered=True),
            "string": pd.array(np.array(["ja", "nein"])[level], dtype="string"),
            "object": pd.Series(np.array(["rot", "blau"])[level], dtype=object),
        }
    )
    gaps = rng.random(frame.shape) < 0.1
    gaps[:, [2, 4]] = False  # types without gaps
    frame = frame.mask(gaps)
    frame["double[pyarrow]"] = pd.array(rng.normal(size=N), dtype="double[pyarrow]")
    frame.index = [f"row {at}" for at in range(N)]
    return frame, kind


@pytest.mark.parametrize("more", [{}, {"contamination": 0.05}, {"size_min": 60}])
def test_a_frame_of_ten_types(more, tmp_path):
    pytest.importorskip("plotly")
    frame, kind = frame_of_ten()
    assert len(set(frame.dtypes)) >= 10
    model = ClAM(2, n_init=3, random_state=0, **more).fit(frame)
    inside = model.labels_ >= 0
    agree = np.mean(model.labels_[inside] == kind[inside])
    assert max(agree, 1 - agree) > 0.7
    assert len(model.cluster_summary_) == 2
    assert model.predict(frame).shape == (N,)
    full = model.complete(frame)
    assert not full.isna().any().any()
    assert (full.dtypes == frame.dtypes).all()
    assert_array_equal(full.index, frame.index)
    for name in frame:
        seen = frame[name].notna()
        assert (full[name][seen] == frame[name][seen]).all()
    model.report(frame, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "category=yes" in page
    assert "row 0" in page
    model.save(tmp_path / "model.amc")
    assert_array_equal(load(tmp_path / "model.amc").predict(frame), model.predict(frame))


def test_the_report_tells_levels_by_column(tmp_path):
    pytest.importorskip("plotly")
    from amclust.report._facts import Facts
    from amclust.report._subject import Subject

    frame, _ = frame_of_ten()
    model = ClAM(2, n_init=2, random_state=0).fit(frame)
    facts = Facts(Subject.of(model, frame, None, 0))
    assert facts.subject.n_columns == frame.shape[1]
    assert facts.subject.n_missing == frame.isna().to_numpy().sum()
    for cluster in facts.clusters:
        told = [one.name.split("=")[0] for one in cluster.departures]
        assert len(set(told)) == len(told)
        shares = [one for one in cluster.departures if "=" in one.name]
        assert shares
        assert all(one.value.endswith("%") for one in shares)
    cells = {cell.column: cell.value for cell in facts.completed}
    assert set(cells) <= set(frame)
    assert any(value.startswith(("no (", "yes (")) for value in cells.values())


@pytest.mark.parametrize("display", ["Basins", "Energy", "Entropy", "Memories", "Silhouette"])
def test_displays_take_the_frame(display):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from amclust import plotting

    frame, _ = frame_of_ten()
    model = ClAM(2, n_init=2, random_state=0).fit(frame)
    rows = () if display == "Memories" else (frame,)
    getattr(plotting, f"{display}Display").from_estimator(model, *rows)
    plt.close("all")
