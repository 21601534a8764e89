"""Entry point of ``python -m benchmarks.recipe``."""

from benchmarks.recipe.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
