"""What amclust promises to its users, and how each promise is tested.

    python -m benchmarks.soak                      # all parts at full size: two hours and more
    python -m benchmarks.soak --parts kills --kills 50 --fresh

memory   many predictions and fits in one process: resident memory stays flat
threads  many threads fit and predict at once: the same bits, no error
kills    commands that are killed at random moments: no damaged file, searches that go on
input    hostile tables and changed model files (`fuzz/`): an error with a name, or a right answer
trouble  a full disk, a folder that is read-only, ...: one line each
"""
