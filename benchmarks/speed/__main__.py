"""Entry point of ``python -m benchmarks.speed``."""

from benchmarks.speed.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
