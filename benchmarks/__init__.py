"""Benchmarks of amclust against its peers; never imported by the library."""
