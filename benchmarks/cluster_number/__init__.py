"""How many clusters: what ClAM estimates, beside other ways to tell.

    python -m benchmarks.cluster_number                # runs what is missing, writes the page
    python -m benchmarks.cluster_number --ways amclust --fresh    # the others' answers are kept

Four ways, on the same made and real sets, each free to answer 2 to 20 (the last two also 1):

silhouette   the largest exact silhouette, of the partitions that ClAM's estimate compares
persistence  the number of attractors, of a network whose memories are the rows, that holds over the
             longest range of beta on a logarithmic scale; an attractor has at least 2 % of the rows
g-means      clusters are split as long as their rows, along the line between the centres of the
             halves, are not normal (Anderson-Darling, one false alarm in 10,000)
amclust      ClAM(n_clusters="auto", scale=None): made columns share their units, and tables are
             standardised before
"""
