"""
=======================
Patches from a codebook
=======================

Vector quantisation stores, instead of a vector, the number of an entry in a codebook that is near
it. Here the vectors are patches of a grey picture, 4 × 4 pixels each, and a codebook of k patches
needs log2(k) bits for 16 values. To find a codebook is to cluster: its entries are the memories,
``predict`` encodes, and looking up the memories decodes.
"""

# %%
# The size of the codebook
# ------------------------
# ``objective="reconstruction"`` minimises the error of the decoded rows. Pixels share their units,
# so columns are not scaled. Beside it are k-means and k-means in small batches, one start each.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_sample_image

from amclust import ClAM

picture = load_sample_image("flower.jpg")[:424].mean(axis=2)  # 427 is not a multiple of 4
rows = picture.reshape(106, 4, 160, 4).swapaxes(1, 2).reshape(-1, 16).astype(np.float32)
print(f"{len(rows):,} patches of {rows.shape[1]} values")

sizes = [16, 32, 64, 128, 256, 512]
fitted = [
    [
        MiniBatchKMeans(k, n_init=1, random_state=0).fit(rows),
        KMeans(k, n_init=1, random_state=0).fit(rows),
        ClAM(k, n_init=1, scale=None, objective="reconstruction", random_state=0).fit(rows),
    ]
    for k in sizes
]

# %%
# Twice as many entries cost one bit more for each patch. The error is the mean squared error of a
# decoded value; values go from 0 to 255.

bits = np.log2(sizes) / rows.shape[1]
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for models, colour in zip(zip(*fitted, strict=True), ("gray", "#E69F00", "#0072B2"), strict=True):
    errors = []
    for model in models:
        codes = model.predict(rows)
        decoded = model.cluster_centers_[codes]
        errors.append(np.mean((decoded - rows) ** 2))
    name = type(model).__name__
    axes.plot(bits, errors, "o-", color=colour, label=name)
    print(f"{name:>15}:", " ".join(f"{error:6.1f}" for error in errors))
axes.set(xlabel="bits per value", ylabel="mean squared error", ylim=(0, None))
axes.set_xticks(bits, [f"{b:.2f}\nk = {k}" for b, k in zip(bits, sizes, strict=True)])
axes.legend()

# %%
# The decoded picture
# -------------------
# With 256 entries a patch takes one byte instead of sixteen. (The codebook has to be kept too:
# 256 × 16 bytes, here about a quarter of what the codes take.)

model = fitted[sizes.index(256)][-1]
decoded = model.cluster_centers_[model.predict(rows)]
images = {
    "8 bits per value": picture,
    "0.5 bits per value": decoded.reshape(106, 160, 4, 4).swapaxes(1, 2).reshape(picture.shape),
}
figure, panels = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained")
for axes, (title, image) in zip(panels, images.items(), strict=True):
    axes.imshow(image, cmap="gray", vmin=0, vmax=255)
    axes.set_title(title)
    axes.set_axis_off()
plt.show()
