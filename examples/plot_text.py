"""
Clustering texts by their words
===============================

The documentation of scikit-learn's classes, clustered by the words in it: does a class end up with
the others of its module? The texts come with scikit-learn, so nothing is downloaded.
"""

import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn import (
    cluster,
    decomposition,
    ensemble,
    feature_selection,
    linear_model,
    neighbors,
    preprocessing,
)
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score, confusion_matrix
from sklearn.preprocessing import normalize

from amclust import ClAM

modules = [
    cluster,
    decomposition,
    ensemble,
    feature_selection,
    linear_model,
    neighbors,
    preprocessing,
]
members = [(m, getattr(m, name)) for m in modules for name in m.__all__]
classes = [(m.__name__.removeprefix("sklearn."), one) for m, one in members if inspect.isclass(one)]
module = np.array([name for name, _ in classes])
# The attributes are named alike everywhere: leave them and what follows out.
texts = [inspect.getdoc(one).partition("Attributes\n")[0] for _, one in classes]
print(len(texts), "texts of", len(modules), "modules")

# %%
# Words are weighed by TF-IDF and reduced to 20 dimensions. ``metric="cosine"`` then compares
# directions, so that long and short texts are alike.

vectorizer = TfidfVectorizer(
    sublinear_tf=True, stop_words="english", min_df=2, max_df=0.3, token_pattern="[a-z]{3,}"
)
words = vectorizer.fit_transform(texts)
svd = TruncatedSVD(20, random_state=0).fit(words)
X = svd.transform(words)
model = ClAM(n_clusters=len(modules), metric="cosine", random_state=0).fit(X)

# %%
# A memory is a direction in the reduced space. The words of its cluster's texts say what it is
# about: those that have more weight there than in all texts.

names = vectorizer.get_feature_names_out()
top = model.top_features(6, X=words, feature_names=names)
for label, features in enumerate(top.names):
    print(f"{label}: {np.sum(model.labels_ == label):3d} texts  {', '.join(features)}")

# %%
# Modules against clusters.

order = sorted(set(module))
table = confusion_matrix([order.index(name) for name in module], model.labels_)[: len(order)]
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.imshow(table, cmap="Blues")
for (i, j), count in np.ndenumerate(table):
    if count:
        axes.text(j, i, count, ha="center", va="center", color="white" if count > 9 else "black")
axes.set(xticks=range(len(modules)), yticks=range(len(order)), yticklabels=order, xlabel="cluster")

# %%
# How much of this is luck? The number of dimensions matters more than the method. Below is the
# agreement with the modules (ARI) for several of them, beside k-means on rows of length 1.

for n_dimensions in (10, 20, 30, 50):
    Z = TruncatedSVD(n_dimensions, random_state=0).fit_transform(words)
    clam = ClAM(n_clusters=len(modules), metric="cosine", random_state=0).fit(Z)
    k_means = KMeans(len(modules), n_init=10, random_state=0).fit(normalize(Z))
    scores = [adjusted_rand_score(module, one.labels_) for one in (clam, k_means)]
    print(f"{n_dimensions} dimensions: ClAM {scores[0]:.2f}, k-means {scores[1]:.2f}")
