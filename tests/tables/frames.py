"""Tables as data frames, which are easier to compare."""

from amclust.cli import tables


def choose(table, decimal=".", thousands=None, **choice):
    spelling = tables.Spelling(decimal, thousands)
    return tables.choose_columns(table, tables.Choice(spelling=spelling, **choice))


def categories(columns):
    return {column.name: [*column.categories] for column in columns.columns if column.categories}


def read_table(path, **options):
    return tables.read_table(path, tables.ReadOptions(**options)).to_pandas()


def read_chunks(path, chunk_rows, **options):
    return tables.Chunks(path, chunk_rows, tables.ReadOptions(**options))


def frames(chunks):
    return [chunk.to_pandas() for chunk in chunks]
