"""The tables of the page: one file each."""
