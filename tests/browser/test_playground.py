"""The playground in a real browser: its labels are right, and doing something shows something."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM
from amclust._assemblies import Neighbours, Spectrum
from amclust._playground import open_playground

PHONE = {"viewport": {"width": 360, "height": 720}, "has_touch": True, "is_mobile": True}
# The colours of the picture, row by row, from a copy: reading a canvas twice is frowned upon.
COLOURS = """(() => {
  const drawn = document.getElementById("basins"), copy = document.createElement("canvas");
  copy.width = copy.height = drawn.width;
  const pen = copy.getContext("2d", { willReadFrequently: true });
  pen.drawImage(drawn, 0, 0);
  return pen.getImageData(0, 0, drawn.width, drawn.width).data;
})()"""
# The colour at (x, y).
COLOUR = f"""([x, y]) => {{
  const data = {COLOURS}, n = Math.sqrt(data.length / 4);
  const start = 4 * (Math.floor((1 - y) / 2 * n) * n + Math.floor((1 + x) / 2 * n));
  return [...data.slice(start, start + 4)];
}}"""
COUNT_COLOURS = f"new Set(new Uint32Array({COLOURS}.buffer)).size"


@pytest.fixture
def page(open_file):
    page = open_file(open_playground(show=False))
    wait(page)
    return page


def wait(page, until="ready"):
    """Wait until the last change is drawn; with "calm" as finely as it will be."""
    page.wait_for_function(f"playground.{until}")


def colour(page, x, y):
    wait(page)
    return page.evaluate(COLOUR, [x, y])


def spot(page, x, y):
    """Where (x, y) of the plane is in the window."""
    box = page.locator("#overlay").bounding_box()
    return box["x"] + (1 + x) / 2 * box["width"], box["y"] + (1 - y) / 2 * box["height"]


def memories(page):
    """Rows of x, y, weight."""
    return np.array(page.evaluate("playground.state.memories.map((m) => [m.x, m.y, m.weight])"))


def probe(page):
    return page.evaluate(
        "playground.state.probe && [playground.state.probe.x, playground.state.probe.y]"
    )


def state_of(R, weights=None):
    weights = np.ones(len(R)) if weights is None else weights
    rows = zip(R.tolist(), weights.tolist(), strict=True)
    return [{"x": x, "y": y, "weight": weight} for (x, y), weight in rows]


def change(page, **state):
    page.evaluate("(state) => playground.change(state)", state)


def click(page, x, y, **options):
    page.mouse.click(*spot(page, x, y), **options)


def drag(page, start, end):
    page.mouse.move(*spot(page, *start))
    page.mouse.down()
    page.mouse.move(*spot(page, *end), steps=4)
    page.mouse.up()


def grid(cells):
    """Centres of the cells, row by row from the top left."""
    centres = (np.arange(cells) + 0.5) * 2 / cells - 1
    x, y = np.meshgrid(centres, -centres)
    return np.column_stack([x.ravel(), y.ravel()])


def recall(starts, R, weights, beta, steps, alpha):
    """The dynamics as the formulas have it."""
    v = starts.copy()
    for _ in range(steps):
        logits = np.log(weights) - beta * ((v[:, None] - R) ** 2).sum(axis=2)
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        v += alpha * (p / p.sum(axis=1, keepdims=True) @ R - v)
    return v


# --- the labels are right -----------------------------------------------------------------------


def random_state(rng, trial):
    """Memories far from each other or close together, every fifth time two of them in one place."""
    k = int(rng.integers(1, 9))
    R = (rng.uniform(-1, 1, (k, 2)) * rng.choice([1, 0.3])).round(3)
    R[-1] = R[0] if trial % 5 == 0 else R[-1]
    weights = np.exp(rng.normal(0, 0.7, k)) if trial % 2 else np.ones(k)
    return {
        "memories": state_of(R, weights),
        "beta": float(10 ** rng.uniform(-3, 3)),
        "steps": int(rng.integers(1, 30)),
        "alpha": float(rng.choice([0.05, 0.3, 0.6, 1])),
        "chosen": 0,
    }


def test_labels_are_those_of_the_formulas(page):
    rng = np.random.default_rng(0)
    cells = 48
    starts = grid(cells)
    states = [random_state(rng, trial) for trial in range(20)]
    found = page.evaluate(
        """([states, cells]) => states.map((state) => {
          playground.change(state);
          return [...playground.label(cells)];
        })""",
        [states, cells],
    )
    for state, labels in zip(states, found, strict=True):
        R = np.array([[memory["x"], memory["y"]] for memory in state["memories"]])
        weights = np.array([memory["weight"] for memory in state["memories"]])
        ends = recall(starts, R, weights, state["beta"], state["steps"], state["alpha"])
        distances = ((ends[:, None] - R) ** 2).sum(axis=2)
        given = np.take_along_axis(distances, np.array(labels)[:, None], axis=1)[:, 0]
        # Where two memories are equally near, either is right.
        assert (given - distances.min(axis=1)).max() < 1e-6, state
        assert (labels == distances.argmin(axis=1)).mean() > 0.999, state


def test_labels_are_those_of_the_estimator(page):
    X, _ = make_blobs(200, centers=4, cluster_std=0.15, center_box=(-0.8, 0.8), random_state=1)
    model = ClAM(n_clusters=4, scale=None, n_init=1, random_state=0).fit(X)
    state = state_of(model.cluster_centers_)
    change(
        page, memories=state, beta=float(model.beta_), steps=model.n_steps, alpha=model.step_size
    )
    cells = 120
    labels = np.array(page.evaluate(f"[...playground.label({cells})]"))
    assert len(np.unique(labels)) == 4
    # The core computes in single precision: the borders may differ by a cell here and there.
    assert (labels == model.predict(grid(cells))).mean() > 0.999


def test_what_is_drawn_in_the_end_is_exact_also_when_it_took_many_frames(page):
    rng = np.random.default_rng(3)
    state = state_of(rng.uniform(-0.9, 0.9, (8, 2)).round(3))
    change(page, memories=state, beta=5, steps=40, alpha=0.3)
    wait(page, "calm")
    assert page.evaluate(
        """() => {
          const drawn = playground.labels, again = playground.label(Math.sqrt(drawn.length));
          return drawn.length > 40000 && drawn.every((label, i) => label === again[i]);
        }"""
    )


def test_energy_never_rises(page):
    checked = page.evaluate(
        """() => {
          let checked = 0;
          for (const beta of [0.001, 0.1, 1, 5, 30, 1000])
            for (const alpha of [0.05, 0.5, 1])
              for (let i = 0; i < 25; i++) {
                playground.change({ beta, alpha, steps: 20 });
                const { energies } = playground.path(-1 + (i % 5) / 2, -1 + Math.floor(i / 5) / 2);
                const rounding = 1e-12 * Math.abs(energies[0]);
                for (let t = 1; t < energies.length; t++)
                  if (energies[t] > energies[t - 1] + rounding) return { beta, alpha, i, t };
                checked++;
              }
          return checked;
        }"""
    )
    assert checked == 6 * 3 * 25


# --- what one does changes what one sees ----------------------------------------------------------


def test_sliders_change_the_basins(page):
    page.click("[data-preset=three]")
    place = (0.05, 0.5)  # between 1 and 2, which at small beta pull it down to 3
    before = colour(page, *place)
    page.locator("#beta").fill("2")
    wait(page)
    assert page.locator("#beta-value").inner_text() == "100"
    assert page.evaluate("playground.state.beta") == 100
    assert colour(page, *place) != before
    assert page.locator("#fact-share").inner_text() == "< 0.1 %"

    page.click("#reset")
    seen = {page.evaluate("playground.label(64).join('')")}
    for slider, value in [("steps", "1"), ("alpha", "0.6"), ("weight", "1")]:
        page.locator(f"#{slider}").fill(value)
        seen.add(page.evaluate("playground.label(64).join('')"))
    assert len(seen) == 4
    assert memories(page)[0, 2] == 10


def test_dragging_a_memory_moves_its_region(page):
    at_home = colour(page, -0.7, 0.6)
    assert colour(page, -0.5, -0.7) != at_home
    drag(page, (-0.62, 0.5), (-0.42, -0.8))
    np.testing.assert_allclose(memories(page)[0, :2], [-0.42, -0.8], atol=0.01)
    assert colour(page, -0.5, -0.7) == at_home
    assert colour(page, -0.7, 0.6) != at_home
    # It cannot be lost outside, not even in part.
    drag(page, (-0.42, -0.8), (-1.3, -0.8))
    assert memories(page)[0, 0] < -0.85
    ring, stage = (page.locator(part).first.bounding_box() for part in (".ring", "#overlay"))
    assert ring["x"] >= stage["x"]


def test_a_click_lets_a_point_go_and_its_energy_falls(page):
    click(page, 0.9, -0.9)
    wait(page)
    np.testing.assert_allclose(probe(page), [0.9, -0.9], atol=0.01)
    assert page.locator("#verdict").inner_text() == "It is carried to memory 5, the closest."
    # A dot a step, and a ring at the end.
    assert page.locator("#track circle").count() == 10 + 1
    heights = [float(dot.get_attribute("cy")) for dot in page.locator("#chart circle").all()]
    assert len(heights) == 11
    assert heights == sorted(heights)  # y goes down on a screen
    assert heights[0] < heights[-1]
    page.click("#clear")
    wait(page)
    assert probe(page) is None
    assert page.locator("#track circle").count() == 0
    page.click("#drop")
    assert probe(page) is not None


def test_the_point_can_be_dragged(page):
    drag(page, (0.12, 0.05), (-0.8, -0.8))
    np.testing.assert_allclose(probe(page), [-0.8, -0.8], atol=0.01)
    drag(page, (0.2, -0.8), (0.5, 0.9))  # anywhere on the plane, with a mouse
    np.testing.assert_allclose(probe(page), [0.5, 0.9], atol=0.01)
    assert len(memories(page)) == 5


def test_memories_are_added_and_removed_with_the_mouse(page):
    before = probe(page)
    click(page, -0.8, -0.8, click_count=2)
    np.testing.assert_allclose(memories(page)[5, :2], [-0.8, -0.8], atol=0.01)
    assert probe(page) == before  # the first of the two clicks left no point behind
    wait(page)
    assert page.locator(".memory").count() == 6
    assert page.locator("#fact-count").inner_text() == "6 memories"
    click(page, -0.8, -0.8, click_count=2)
    wait(page)
    assert page.locator(".memory").count() == len(memories(page)) == 5


def test_buttons_add_and_remove_within_bounds(page):
    for _ in range(3):
        page.click("#add")
    wait(page)
    assert len(memories(page)) == 8
    assert page.locator("#add").is_disabled()
    assert page.locator("#add").text_content() == "Add a memory (at most 8)"
    assert len(np.unique(memories(page), axis=0)) == 8
    for _ in range(7):
        page.click("#remove")
        wait(page)
    assert len(memories(page)) == 1
    assert page.locator("#remove").is_disabled()
    assert page.evaluate("playground.label(64).every((label) => label === 0)")
    page.click("#reset")
    assert len(memories(page)) == 5
    assert page.locator("#add").text_content() == "Add a memory"


def test_keys_reach_everything(page):
    page.locator("#overlay").focus()
    page.keyboard.press("ArrowUp")
    np.testing.assert_allclose(probe(page), [0.12, 0.07])
    page.keyboard.press("Tab")
    x, y, _ = memories(page)[0]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    np.testing.assert_allclose(memories(page)[0, :2], [x + 0.02, y - 0.1])
    page.keyboard.press("a")
    assert len(memories(page)) == 6
    assert "Memory 6" in page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("Delete")
    assert len(memories(page)) == 5
    assert "Memory 5" in page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("Escape")
    assert probe(page) is None
    page.locator("#beta").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("playground.state.beta") == 5.13


def test_what_is_shown_can_be_chosen(page):
    assert page.locator("#voronoi").get_attribute("d").count("M") == 7
    page.uncheck("#show-voronoi")
    page.uncheck("#show-pulls")
    wait(page)
    assert page.locator("#voronoi").get_attribute("d") == ""
    assert page.locator("#pulls path").count() == 0
    assert page.locator("#contours").is_hidden()
    page.check("#show-contours")
    wait(page)
    assert page.locator("#contours").is_visible()
    hatched = page.evaluate(COUNT_COLOURS)
    page.uncheck("#show-hatch")
    wait(page)
    assert hatched > page.evaluate(COUNT_COLOURS) == 5


# --- Voronoi cells --------------------------------------------------------------------------------


def assert_no_end_in_mid_air(page):
    """Every dashed line ends where three cells have a corner in common, or at the border."""
    lines = page.locator("#voronoi").get_attribute("d").split("M")[1:]
    ends = np.array([end.split() for line in lines for end in line.split("L")], dtype=float)
    border = float(page.locator("#overlay").get_attribute("viewBox").split()[-1])
    assert len(ends)
    apart = np.linalg.norm(ends[:, None] - ends, axis=2)
    corners = (apart < 0.3).sum(axis=1) >= 3
    at_border = np.abs(np.minimum(ends, border - ends)).min(axis=1) < 0.1
    assert (corners | at_border).all()


@pytest.mark.parametrize(
    "R",
    [
        [[-0.7, 0.1], [0.5, 0.3]],
        [[0.5, 0.5], [0.501, 0.5]],
        [[-0.7, 0], [0.5, 0], [0.7, 0]],
        [[-0.6, -0.6], [-0.1, -0.1], [0.3, 0.3], [0.7, 0.7]],
        [[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]],
        [[-0.3, 0.2], [0.1, -0.4], [0.1, -0.4], [0.6, 0.9]],
    ],
    ids=["two", "two close together", "in a row", "in a slanted row", "a square", "two in one"],
)
def test_voronoi_lines_end_at_each_other_or_at_the_border(page, R):
    change(page, memories=state_of(np.array(R)))
    wait(page)
    assert_no_end_in_mid_air(page)


def test_voronoi_lines_reach_the_border_while_a_memory_is_dragged(page):
    page.mouse.move(*spot(page, -0.62, 0.5))
    page.mouse.down()
    for goal in [(-0.2, 0.9), (0.9, -0.1), (-0.9, -0.9)]:
        page.mouse.move(*spot(page, *goal), steps=3)
        wait(page)
        assert_no_end_in_mid_air(page)
    page.mouse.up()


@pytest.mark.parametrize("size", [(1000, 620), (1280, 1000), (380, 800)])
def test_the_overlay_fits_a_resized_picture_before_the_next_frame(page, size):
    # A screenshot or a print may be taken then.
    page.evaluate("window.requestAnimationFrame = () => 0")
    before = page.locator("#stage").bounding_box()["width"]
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.wait_for_function("(before) => stage.clientWidth !== Math.round(before)", arg=before)
    assert_no_end_in_mid_air(page)
    dot = page.locator("[data-index='2'] .dot").bounding_box()
    centre = dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2
    assert centre == pytest.approx(spot(page, 0.55, 0.1), abs=0.5)


# --- presets and links ----------------------------------------------------------------------------


def test_presets_show_what_their_note_says(page):
    verdicts = {
        "three": "It is carried to memory 3, although 2 is the closest.",
        "five": "It is carried to memory 3, the closest.",
        "against": "It is carried to memory 1, the closest.",
        "together": "It is carried to memory 2, although 1 is the closest.",
        "cancelling": "It is carried to memory 1, although 2 is the closest.",
    }
    assert page.locator("#presets [data-preset]").count() == len(verdicts)
    for preset, verdict in verdicts.items():
        button = page.locator(f"[data-preset={preset}]")
        button.click()
        wait(page)
        assert page.locator("#verdict").inner_text() == verdict
        assert button.get_attribute("aria-pressed") == "true"
        # With the figure's largest beta every point goes to its closest memory.
        page.click("[data-beta='100']")
        wait(page)
        assert page.locator("#verdict").inner_text().endswith(", the closest.")


def test_the_link_holds_the_picture(page, open_file):
    page.click("[data-preset=together]")
    page.locator("#weight").fill("0.5")
    page.uncheck("#show-hatch")
    click(page, 0.3, 0.4)
    wait(page)
    wait(page, "calm")
    state = page.evaluate("playground.state")
    drawing = page.locator("#overlay").inner_html()
    fragment = page.evaluate("location.hash").removeprefix("#")
    page.goto("about:blank")
    open_file(open_playground(show=False), fragment)
    wait(page)
    assert page.evaluate("playground.state") == state
    assert page.locator("#overlay").inner_html() == drawing


def test_a_damaged_link_still_gives_a_picture(page, open_file):
    fragments = [
        "nonsense",
        "m=&b=&t=&a=&p=&s=",
        "m=0,0;NaN,1;,;1e999,0;0.5,0.5,-3&b=-1&t=1e9&a=7&p=x&s=9",
        "m=" + ";".join(["9,-9"] * 50) + "&b=Infinity&t=0.2&a=0",
        "m=%00<script>alert(1)</script>&p=<b>",
        "m=0,0;0.1,0&r=toString&k=3",
        "m=" + ";".join(["0.5,0.5"] * 50) + "&r=moons&k=99",
        "m=0.2,0.2&r=rings&k=-4&s=01",
    ]
    for fragment in fragments:
        open_file(open_playground(show=False), fragment)  # a new fragment of the page that is open
        wait(page)
        assert 1 <= len(memories(page)) <= (32 if "r=moons" in fragment else 8)
        assert np.abs(memories(page)[:, :2]).max() <= 1
        state = page.evaluate("playground.state")
        assert 1e-3 <= state["beta"] <= 1e3
        assert 1 <= state["steps"] <= 60
        assert 0.05 <= state["alpha"] <= 1


# --- assemblies ---------------------------------------------------------------------------------

SHAPES = ["moons", "rings"]


def assemblies(page):
    """Rows, the cluster of each memory, and how many rows memories have and share."""
    found = page.evaluate("playground.assemblies")
    return {key: np.array(values) for key, values in found.items()}


def true_shape(preset, rows):
    """Which moon or ring each row is of."""
    if preset == "rings":
        return np.linalg.norm(rows, axis=1) > 0.56
    angles = np.linspace(0, np.pi, 200)
    upper = np.c_[0.56 * np.cos(angles) - 0.28, 0.8 * np.sin(angles) - 0.2]
    near = [np.linalg.norm(rows[:, None] - moon, axis=2).min(axis=1) for moon in (upper, -upper)]
    return near[0] < near[1]


def clusters_of(page, points):
    """The cluster that each point of the plane has in the picture."""
    labels = np.array(page.evaluate("[...playground.label(200)]")).reshape(200, 200)
    columns, lines = ((1 + points * [1, -1]) * 100).astype(int).T
    return labels[lines, columns]


def overlap(rows, R):
    """How the library shares out rows among memories."""
    distances = ((rows[:, None] - R) ** 2).sum(axis=2)
    order = np.argsort(distances, axis=1, kind="stable")[:, :5]
    near = np.take_along_axis(distances, order, axis=1)
    return Neighbours(np.arange(len(rows)), np.ones(len(rows)), order, near, len(R)).overlap(3, 4.0)


@pytest.mark.parametrize("preset", SHAPES)
def test_twenty_memories_make_two_assemblies(page, preset):
    page.click(f"[data-preset={preset}]")
    wait(page)
    assert page.locator(f"[data-preset={preset}]").get_attribute("aria-pressed") == "true"
    assert page.locator("#fact-count").inner_text() == "20 memories, 2 clusters"
    wait(page, "calm")
    assert ", cut 0.00" in page.locator("#summary").text_content()
    found, R = assemblies(page), memories(page)[:, :2]
    truth = true_shape(preset, found["rows"])
    assert adjusted_rand_score(truth, clusters_of(page, found["rows"])) == 1
    assert adjusted_rand_score(true_shape(preset, R), found["assembly"]) == 1
    # The memories cover the rows.
    assert np.linalg.norm(found["rows"][:, None] - R, axis=2).min(axis=1).max() < 0.25
    # One colour for all that belongs to an assembly, the other one for the rest.
    fills = [dot.get_attribute("fill") for dot in page.locator(".memory .dot").all()]
    assert len(set(fills)) == 2
    assert adjusted_rand_score(fills, found["assembly"]) == 1
    rows = page.locator("#rows path:not(.case)").all()
    assert {path.get_attribute("stroke") for path in rows} == set(fills)
    drawn = [path.get_attribute("d").count("M") for path in rows]
    assert sorted(drawn) == sorted(np.bincount(truth))
    page.uncheck("#show-hatch")
    wait(page)
    assert page.evaluate(COUNT_COLOURS) == 2


@pytest.mark.parametrize("preset", SHAPES)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_assemblies_are_those_of_the_library(page, preset, k):
    page.click(f"[data-preset={preset}]")
    page.locator("#clusters").fill(str(k))
    wait(page)
    assert page.locator("#clusters-value").inner_text() == str(k)
    found, expected = assemblies(page), overlap(assemblies(page)["rows"], memories(page)[:, :2])
    np.testing.assert_allclose(found["sizes"], expected.sizes, atol=1e-9)
    np.testing.assert_allclose(found["shared"], expected.shared, atol=1e-9)
    labels = Spectrum.of(expected, k).partition(k, 0)
    assert adjusted_rand_score(labels, found["assembly"]) == 1


def test_passes_are_drawn_within_assemblies_as_wide_as_the_rows_they_carry(page):
    page.click("[data-preset=moons]")
    page.locator("#clusters").fill("3")  # so that one of the moons is cut
    wait(page)
    found, R = assemblies(page), memories(page)[:, :2]
    size = float(page.locator("#overlay").get_attribute("viewBox").split()[-1])
    places = (1 + R * [1, -1]) / 2 * size
    drawn = {}
    for path in page.locator("#passes .line").all():
        ends = [np.array(end.split(), float) for end in path.get_attribute("d")[1:].split("L")]
        pair = tuple(sorted(int(np.linalg.norm(places - e, axis=1).argmin()) for e in ends))
        drawn[pair] = float(path.get_attribute("stroke-width"))
        dot = page.locator(".memory .dot").nth(pair[0])
        assert path.get_attribute("stroke") == dot.get_attribute("fill")
    same = found["assembly"][:, None] == found["assembly"]
    shared = np.triu(found["shared"], 1)
    assert set(drawn) == set(map(tuple, np.argwhere((shared > 0.3) & same).tolist()))
    assert ((shared > 0.3) & ~same).any()  # what is cut is not drawn
    widths, rows = list(drawn.values()), [shared[pair] for pair in drawn]
    np.testing.assert_allclose(widths, np.array(rows) * (widths[0] / rows[0]), rtol=0.1, atol=0.1)
    page.uncheck("#show-passes")
    page.uncheck("#show-rows")
    wait(page)
    assert page.locator("#passes path").count() == page.locator("#rows path").count() == 0


def test_there_is_no_border_within_an_assembly(page):
    page.click("[data-preset=rings]")
    wait(page)
    lines = page.locator("#voronoi").get_attribute("d").split("M")[1:]
    ends = np.array([[end.split() for end in line.split("L")] for line in lines], dtype=float)
    size = float(page.locator("#overlay").get_attribute("viewBox").split()[-1])
    radii = np.linalg.norm(ends / size * 2 - 1, axis=2)
    # One closed line, between the rings.
    assert len(lines) > 8
    assert ((radii > 0.4) & (radii < 0.75)).all()
    joints = np.unique(ends.reshape(-1, 2).round(), axis=0, return_counts=True)[1]
    assert (joints >= 2).mean() > 0.8
    page.locator("#clusters").fill("1")
    wait(page)
    assert page.locator("#voronoi").get_attribute("d") == ""
    assert page.evaluate(COUNT_COLOURS) == 1


def test_dragging_a_memory_changes_its_assembly_at_once(page):
    page.click("[data-preset=moons]")
    wait(page)
    R, before = memories(page)[:, :2], assemblies(page)["assembly"]
    # The first memory, of the upper moon, goes to the right end of the other one.
    moved, goal = 0, (0.83, 0.05)
    assert R[moved, 0] < 0.4
    page.mouse.move(*spot(page, *R[moved]))
    page.mouse.down()
    page.mouse.move(*spot(page, *goal), steps=6)
    wait(page)  # the mouse still holds it
    after = assemblies(page)["assembly"]
    np.testing.assert_allclose(memories(page)[moved, :2], goal, atol=0.01)
    assert after[moved] != before[moved]
    others = np.arange(20) != moved
    np.testing.assert_array_equal(after[others], before[others])  # colours hold, too
    dots = [dot.get_attribute("fill") for dot in page.locator(".memory .dot").all()]
    assert adjusted_rand_score(dots, after) == 1
    assert "in cluster" in page.locator(".memory").nth(moved).get_attribute("aria-label")
    page.mouse.up()
    assert page.locator("#preset-note").inner_text() == "A picture of your own."


def test_of_memories_close_together_the_one_below_the_mouse_is_dragged(page):
    page.click("[data-preset=moons]")
    R = np.c_[np.linspace(-0.2, 0.2, 12), np.zeros(12)].round(3)  # dots touch
    change(page, memories=state_of(R))
    wait(page)
    drag(page, R[4], (R[4, 0], 0.5))
    np.testing.assert_allclose(memories(page)[4, 1], 0.5, atol=0.02)
    assert (memories(page)[np.arange(12) != 4, 1] == 0).all()


def test_memories_with_rows_are_added_and_removed_within_bounds(page):
    page.click("[data-preset=moons]")
    page.locator("#clusters").fill("4")
    page.locator("#overlay").focus()
    for _ in range(14):
        page.keyboard.press("a")
    wait(page)
    assert len(memories(page)) == 32
    assert page.locator("#add").text_content() == "Add a memory (at most 32)"
    assert set(assemblies(page)["assembly"]) == {0, 1, 2, 3}
    for _ in range(31):
        page.click("#remove")
        wait(page)
    assert page.locator("#fact-count").inner_text() == "1 memory, 1 cluster"
    page.click("[data-preset=five]")
    wait(page)
    assert page.locator("#clusters").is_hidden()
    assert page.locator("#show-passes").is_hidden()
    assert page.locator("#rows path").count() == page.locator("#passes path").count() == 0
    wait(page, "calm")
    assert "cut" not in page.locator("#summary").text_content()


def test_memories_without_rows_and_in_one_place_have_clusters(page):
    page.click("[data-preset=moons]")
    rng = np.random.default_rng(0)
    for R in ([[0.5, 0.5]] * 6, [[0.9, 0.9]] * 3 + [[-0.9, -0.9]] * 2, rng.uniform(-1, 1, (9, 2))):
        for k in (1, 2, 5):
            change(page, memories=state_of(np.round(R, 3)), clusters=k, chosen=0)
            wait(page)
            assert set(assemblies(page)["assembly"]) == set(range(k))


def test_the_link_holds_assemblies(page, open_file):
    page.click("[data-preset=rings]")
    page.locator("#clusters").fill("3")
    page.uncheck("#show-passes")
    wait(page, "calm")
    state = page.evaluate("playground.state")
    fragment = page.evaluate("location.hash").removeprefix("#")
    page.goto("about:blank")
    open_file(open_playground(show=False), fragment)
    wait(page)
    assert page.evaluate("playground.state") == state
    # A short one opens the preset; one of an older page shows what that had not.
    open_file(open_playground(show=False), "r=moons")
    wait(page)
    assert page.locator("[data-preset=moons]").get_attribute("aria-pressed") == "true"
    open_file(open_playground(show=False), fragment.replace("s=111010", "s=0000"))
    wait(page)
    shown = page.evaluate("playground.state.show")
    assert [key for key, is_shown in shown.items() if is_shown] == ["rows", "passes"]


# --- screens --------------------------------------------------------------------------------------


@pytest.mark.parametrize("browser_page", [PHONE], indirect=True)
def test_on_a_phone_nothing_is_wider_than_the_screen_and_fingers_work(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.touchscreen.tap(*spot(page, 0.8, 0.8))
    wait(page)
    np.testing.assert_allclose(probe(page), [0.8, 0.8], atol=0.02)

    touch = page.context.new_cdp_session(page)
    x, y = spot(page, *memories(page)[0, :2])
    goal = spot(page, -0.5, -0.2)
    touches = [("touchStart", x, y), ("touchMove", x + 8, y + 20), ("touchMove", *goal)]
    for kind, x, y in touches:
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    np.testing.assert_allclose(memories(page)[0, :2], [-0.5, -0.2], atol=0.02)
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("browser_page", [{"color_scheme": "dark"}], indirect=True)
def test_dark_and_light_follow_the_system(page):
    dark = colour(page, -0.62, 0.6)
    page.emulate_media(color_scheme="light")
    page.wait_for_function(
        f"(sum) => {{ const [r, g, b] = ({COLOUR})([-0.62, 0.6]); return r + g + b > sum + 100; }}",
        arg=sum(dark[:3]),
    )
