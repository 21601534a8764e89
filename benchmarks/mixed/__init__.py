"""Mixed tables of numbers and categories, with missing values, beside the methods for them.

    python -m benchmarks.mixed                     # runs what is missing, writes the page
    python -m benchmarks.mixed --seeds 1000:1030 --output mine.jsonl    # other tables

tables  made tables, a seed each: ARI and seconds of every method
cost    100,000 rows: a fit of numbers and categories beside one of as many numbers
"""
