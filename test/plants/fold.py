"""Puts the parts of a run of run.sh together, names the launches, and prints a table.

    fold.py WORK OUT [BEFORE]

reads what driver and ncu have left in WORK, and writes files in gzip's format to OUT: the same bytes from the same files.
Kernels that WORK's plan.txt does not have come from the recording in the folder BEFORE.
"""

import contextlib
import csv
import glob
import gzip
import io
import os
import re
import sys


def read_csv(name):
    """Returns a CSV file's lines from ncu's header on; what programs print stands before it."""
    with open(name, newline="") as file:
        lines = file.read().splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    return list(csv.reader(lines[start:]))


@contextlib.contextmanager
def pack(out, name):
    """Opens a CSV file in gzip's format, without the time of its making."""
    with open(f"{out}/{name}.csv.gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
        with io.TextIOWrapper(packed, newline="") as text:
            yield text


def parts(work, name, ending):
    """Yields the parts of a stage, in order, with the ID that their first launch has in the whole."""
    first = 0
    for launches in sorted(glob.glob(f"{work}/{name}-*.csv"), key=lambda f: int(re.findall(r"\d+", os.path.basename(f))[-1])):
        with open(launches, newline="") as file:
            rows = list(csv.DictReader(file))
        yield first, rows, launches[: -len(".csv")] + ending
        first += len(rows)


def merge(work, name, ending, out, target, units):
    """Writes all parts of a stage into one file, launches numbered through, and returns its lines."""
    header, unit, lines = [], [], []
    for first, launches, file in parts(work, name, ending):
        table = read_csv(file) if os.path.exists(file) else []
        if not table:
            continue
        own, body = table[0], table[1 + units :]
        for i, column in enumerate(own):
            if column not in header:
                header.append(column)
                unit.append(table[1][i] if units else "")
        for line in body:
            row = dict(zip(own, line))
            row["ID"] = str(first + int(row["ID"]))
            lines.append(row)
    if lines:
        with pack(out, target) as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow(header)
            if units:
                writer.writerow(unit)
            writer.writerows([row.get(column, "") for column in header] for row in lines)
    return lines


def unpack(folder, name):
    """Returns the lines of a file that pack wrote; of none where it is not there."""
    file = f"{folder}/{name}.csv.gz"
    if not os.path.exists(file):
        return []
    with gzip.open(file, "rt", newline="") as text:
        return list(csv.reader(text))


def complete(out, before, planned):
    """Adds to the recording in out what the one before has of kernels that were not planned, as later launches."""
    for name in ("times", "verify", "rules"):
        lines, old = unpack(out, name), unpack(before, name)
        if old:
            with pack(out, name) as file:
                csv.writer(file).writerows((lines or old[:1]) + [line for line in old[1:] if line[0] not in planned])
    launches, old = unpack(out, "launches"), unpack(before, "launches")
    later = {}
    for line in old[1:]:
        if line[1] not in planned:
            later[line[0]] = str(max(0, len(launches) - 1) + len(later))
    with pack(out, "launches") as file:
        csv.writer(file).writerows((launches or old[:1]) + [[later[line[0]]] + line[1:] for line in old[1:] if line[0] in later])
    raw, old = unpack(out, "raw"), unpack(before, "raw")
    columns, units = list(raw[0]) if raw else [], list(raw[1]) if raw else []
    for column, unit in zip(*old[:2]) if old else ():
        if column not in columns:
            columns.append(column)
            units.append(unit)
    with pack(out, "raw") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([columns, units])
        for table, ids in ((raw, None), (old, later)):
            for line in table[2:]:
                row = dict(zip(table[0], line))
                if ids is not None:
                    if row["ID"] not in ids:
                        continue
                    row["ID"] = ids[row["ID"]]
                writer.writerow([row.get(column, "") for column in columns])


def causes_of(rule, text, table):
    """Returns the causes that a rule of ncu names, in the words of the key."""
    return next((line["causes"] for line in table if line["rule"] == rule and line["text"] in text), "")


def rules(work, out, table):
    """Lists what ncu's rules say of each kernel, the largest estimate first; global estimates before local ones."""
    names = [row for _, launches, _ in parts(work, "rules", "") for row in launches]
    said = {}
    for row in merge(work, "rules", ".details", out, "details", 0):
        if row.get("Rule Name"):
            said.setdefault(int(row["ID"]), []).append(row)
    if not said:
        return {}
    first = {}
    with pack(out, "rules") as file:
        writer = csv.writer(file)
        writer.writerow(["kernel", "size", "place", "rule", "type", "estimate", "percent", "causes", "text"])
        for launch, found in sorted(said.items()):
            found.sort(key=lambda r: (r["Rule Type"] != "OPT", r["Estimated Speedup Type"] != "global", -float(r["Estimated Speedup"] or 0)))
            at = names[launch]
            for place, r in enumerate(found, 1):
                causes = causes_of(r["Rule Name"], r["Rule Description"], table)
                first.setdefault((at["kernel"], at["size"]), (r["Rule Name"], causes))
                writer.writerow([at["kernel"], at["size"], place, r["Rule Name"], r["Rule Type"], r["Estimated Speedup Type"],
                                 r["Estimated Speedup"], causes, r["Rule Description"][:300]])
    return first


def show(value, width, digits=1):
    return " " * width if value is None else f"{value:{width}.{digits}f}"


def main():
    work, out, before = (sys.argv[1:] + [None])[:3]
    here = os.path.dirname(os.path.abspath(__file__))
    with open(f"{here}/key.csv", newline="") as file:
        key = list(csv.DictReader(file))
    with open(f"{here}/ncu_rules.csv", newline="") as file:
        table = list(csv.DictReader(file))

    lines = merge(work, "metrics", ".raw", out, "raw", 1)
    launches = [row for _, rows, _ in parts(work, "metrics", "") for row in rows]
    if launches:
        with pack(out, "launches") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "kernel", "size", "entry"])
            writer.writerows([i, r["kernel"], r["size"], r["entry"]] for i, r in enumerate(launches))
    duration = {}
    for row in lines:
        at = launches[int(row["ID"])]
        if not row["Kernel Name"].startswith(at["entry"]):
            print(f"launch {row['ID']} is {row['Kernel Name']}, expected {at['entry']}")
        duration[at["kernel"], at["size"]] = float((row.get("gpu__time_duration.sum") or "nan").replace(",", "")) / 1000
    merge(work, "rules", ".raw", out, "sections", 1)
    top = rules(work, out, table)

    for name in ("times", "verify"):
        if os.path.exists(f"{work}/{name}.csv"):
            with open(f"{work}/{name}.csv", newline="") as file, pack(out, name) as to:
                to.write(file.read())
    if before:
        with open(f"{work}/plan.txt") as file:
            complete(out, before, {line.split()[1] for line in file if line.startswith("kernel ")})
    times = {}
    if os.path.exists(f"{work}/times.csv"):
        with open(f"{work}/times.csv", newline="") as file:
            times = {(r["kernel"], r["size"]): float(r["median_us"]) for r in csv.DictReader(file)}
    print(f"{'plant':24}{'size':7}{'us':>10}{'twin us':>10}{'gain':>7}{'ncu us':>10}{'twin':>10}  {'planted':20}ncu's first rule")
    slow, right, all_ = [], 0, 0
    for p in key:
        for size in ("small", "large"):
            a, b = times.get((p["face"], size)), times.get((p["face"] + "_fixed", size))
            rule, causes = top.get((p["face"], size), ("", ""))
            gain = a / b if a and b else None
            print(f"{p['face']:24}{size:7}{show(a, 10)}{show(b, 10)}{show(gain, 7, 2)}{show(duration.get((p['face'], size)), 10)}"
                  f"{show(duration.get((p['face'] + '_fixed', size)), 10)}  {p['cause']:20}{rule} {causes}")
            if p["cause"] and rule:
                all_ += 1
                right += p["cause"] in causes.split()
            if gain and gain < 1.1 and p["cause"] != "at-roof":
                slow.append(f"{p['face']}/{size}")
    if all_:
        print(f"ncu's first rule names the cause in {right} of {all_}")
    if slow:
        print("twins that are not 10% faster:", " ".join(slow))
    if os.path.exists(f"{work}/verify.csv"):
        with open(f"{work}/verify.csv", newline="") as file:
            wrong = [f"{r['kernel']}/{r['size']}" for r in csv.DictReader(file) if r["wrong"] != "0"]
        if wrong:
            print("answers that differ:", " ".join(wrong))


main()
