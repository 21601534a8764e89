"""The paper's evaluation, every table and figure: ``python -m paper``."""
