"""
========================
The colours of a picture
========================

A picture has tens of thousands of colours; a palette has few. To choose the palette is to cluster
the pixels by their colour: the clusters' centres are the palette, and every pixel is painted in the
colour of its cluster. The measure is how far that is from the pixel's own colour, squared, in the
mean. ``objective="reconstruction"`` minimises it, as k-means does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from amclust import ClAM

picture = load_sample_image("china.jpg")
pixels = picture.reshape(-1, 3).astype(np.float32)
print(f"{len(pixels):,} pixels, {len(np.unique(pixels, axis=0)):,} colours")

# %%
# Both methods get one start. To be quick, palettes are fitted on 20,000 pixels drawn at random; all
# pixels are then painted. Red, green and blue share their units, so columns are not scaled.

sample = np.random.default_rng(0).permutation(pixels)[:20_000]
sizes = (8, 64, 256)
reduced = {}
for k in sizes:
    for model in (
        KMeans(k, n_init=1, random_state=0),
        ClAM(k, n_init=1, scale=None, objective="reconstruction", random_state=0),
    ):
        model.fit(sample)
        reduced[f"{type(model).__name__}, {k} colours"] = model.cluster_centers_[
            model.predict(pixels)
        ]

# %%
# The picture, and what is left of it. Errors are mean squared errors over all pixels and the three
# channels, whose values go from 0 to 255.

grid = [["picture", *(f"{name}, {k} colours" for k in sizes)] for name in ("KMeans", "ClAM")]
figure, panels = plt.subplot_mosaic(grid, figsize=(12, 4.4), layout="constrained")
panels["picture"].imshow(picture)
panels["picture"].set_title("the picture")
for name, colours in reduced.items():
    error = np.mean((colours - pixels) ** 2)
    panels[name].imshow(colours.round().clip(0, 255).astype(np.uint8).reshape(picture.shape))
    panels[name].set_title(f"{name}: error {error:.1f}")
for axes in panels.values():
    axes.set_axis_off()

# %%
# With 8 colours the sky falls apart into large bands: where colours change slowly, a palette has
# steps. The more colours there are, the narrower the bands become.

plt.show()
