"""Clusters whose sizes have limits, beside k-means-constrained.

    python -m benchmarks.limits                    # runs what is missing, writes the page
    python -m benchmarks.limits --methods amclust --fresh    # the peer's partitions are kept

peer    five of the paper's tables and two made ones, three numbers of clusters, two kinds of
        limits: inertia as a part of the peer's, by the default objective and by "reconstruction"
random  hundreds of small random tables with random limits (missing values, cosine): violations
large   1,000,000 rows, free and within limits
"""
