"""Entry point of ``python -m benchmarks.quality``."""

from benchmarks.quality.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
