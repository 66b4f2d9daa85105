"""Reads an export with pandas, polars and DuckDB, and compares each with the rows that the API answered: numbers to the bit.

Arguments: the folder of the export, its format, a file with the API's rows in NDJSON.
"""
import glob
import json
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl

folder, form, reference = sys.argv[1:]
files = sorted(glob.glob(f"{folder}/*.{form}"))
pattern = f"{folder}/*.{form}"
# A CSV file has no types: a reader would take exact decimals for doubles.
TEXT = ["amount0", "amount1", "token0", "token1", "id", "pool", "sender"]

expected: dict[str, list] = {}
with open(reference) as lines:
    for line in lines:
        for name, value in json.loads(line).items():
            expected.setdefault(name, []).append(value)


def with_pandas() -> pd.DataFrame:
    if form == "parquet":
        return pd.concat(map(pd.read_parquet, files))
    if form == "arrow":
        return pd.concat(map(pd.read_feather, files))
    if form == "csv":
        types = {name: str for name in TEXT if name in expected}
        return pd.concat(pd.read_csv(file, dtype=types, float_precision="round_trip") for file in files)
    return pd.concat(pd.read_json(file, lines=True, dtype=False, convert_dates=False, precise_float=True) for file in files)


def with_polars() -> pd.DataFrame:
    if form == "parquet":
        frame = pl.read_parquet(files)
    elif form == "arrow":
        frame = pl.concat(pl.read_ipc(file) for file in files)
    elif form == "csv":
        types = {name: pl.String for name in TEXT if name in expected}
        frame = pl.concat(pl.read_csv(file, schema_overrides=types, infer_schema_length=None) for file in files)
    else:
        frame = pl.concat(pl.read_ndjson(file, infer_schema_length=None) for file in files)
    return frame.to_pandas()


def with_duckdb() -> pd.DataFrame:
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    if form == "parquet":
        query = f"SELECT * FROM read_parquet('{pattern}')"
    elif form == "csv":
        types = ", ".join(f"'{name}': 'VARCHAR'" for name in TEXT if name in expected)
        query = f"SELECT * FROM read_csv('{pattern}', types = {{{types}}})"
    elif form == "ndjson":
        query = f"SELECT * FROM read_json('{pattern}', format = 'newline_delimited')"
    else:
        import pyarrow.feather

        tables = [pyarrow.feather.read_table(file) for file in files]
        table = pyarrow.concat_tables(tables)  # noqa: F841 (DuckDB reads the variable)
        query = "SELECT * FROM table"
        query = query.replace("table", "arrow_rows")
        database.register("arrow_rows", table)
    return database.execute(query).df()


def difference(frame: pd.DataFrame) -> str | None:
    for name, want in expected.items():
        if name not in frame:
            return f"has no column {name}"
        got = frame[name].reset_index(drop=True)
        if len(got) != len(want):
            return f"has {len(got)} rows, not {len(want)}"
        if name in ("time", "timestamp"):
            seconds = pd.to_datetime(got, utc=True).dt.tz_localize(None).astype("datetime64[s]").astype("int64")
            same = seconds.to_numpy() == np.array([stamp[:-1] for stamp in want], dtype="datetime64[s]").astype("int64")
        elif isinstance(next((value for value in want if value is not None), None), str):
            empty = got.isna().to_numpy()
            same = np.where(empty, None, got.astype(object).to_numpy()) == np.array(want, dtype=object)
        else:
            same = got.astype("float64").to_numpy().view("int64") == np.array(want, dtype="float64").view("int64")
        if not same.all():
            row = int(np.argmin(same))
            return f"{name} of row {row} is {got[row]!r}, not {want[row]!r}"
    return None


tools = {"pandas": with_pandas, "polars": with_polars, "duckdb": with_duckdb}
print(json.dumps({tool: difference(read()) or "equal" for tool, read in tools.items()}))
