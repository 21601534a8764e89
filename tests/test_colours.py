"""Colours of clusters, as people with every kind of colour vision see them."""

import numpy as np
import pytest

from amclust._colours import DARK, LIGHT, cluster_colours, cluster_styles

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def seen(colours, vision):
    """Return colours in OKLab as someone sees them."""
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.transpose(VISIONS[vision]), 0, 1)
    cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.cbrt(linear @ np.transpose(cones)) @ np.transpose(lab)


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize(("palette", "apart"), [(LIGHT, 0.069), (DARK, 0.06)])
def test_any_two_colours_can_be_told_apart(palette, apart, vision):
    places = seen(palette, vision)
    distances = np.linalg.norm(places[:, None] - places, axis=-1)
    assert distances[~np.eye(len(palette), dtype=bool)].min() >= apart


@pytest.mark.parametrize(("palette", "page"), [(LIGHT, "#ffffff"), (DARK, "#111111")])
def test_colours_stand_out_from_the_page(palette, page):
    places = seen([page, *palette], "normal")
    assert np.linalg.norm(places[1:] - places[0], axis=1).min() > 0.15


@pytest.mark.parametrize(("palette", "most"), [(LIGHT[5:], 0.17), (DARK[4:], 0.15)])
def test_colours_are_calm(palette, most):
    assert np.hypot(*seen(palette, "normal")[:, 1:].T).max() <= most


def test_colours_come_again_with_another_marker_and_hatch():
    styles = cluster_styles(140)
    assert len(set(styles)) == 140
    assert styles[20].colour == styles[0].colour == LIGHT[0]
    assert {style.hatch for style in styles[:20]} == {""}
    assert len(cluster_styles(150)) == 150


def test_there_are_as_many_colours_as_clusters():
    assert cluster_colours(20) == list(LIGHT)
    assert cluster_colours(3, dark=True) == list(DARK[:3])
