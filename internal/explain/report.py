"""Writes a report of Nsight Compute as the CSV of its page raw: report.py FILE. It needs the package ncu-report."""

import csv
import sys

import ncu_report


def text(metric):
    """Returns a metric's value, or nothing where it has none."""
    if not metric.has_value():
        return ""
    value = metric.value()
    return repr(value) if isinstance(value, float) else str(value)


def main():
    report = ncu_report.load_report(sys.argv[1])
    actions = [r.action_by_idx(i) for r in (report.range_by_idx(k) for k in range(report.num_ranges())) for i in range(r.num_actions())]
    if not actions:
        sys.exit("there is no kernel in it, or it is broken")
    units = {}
    rows = []
    for number, action in enumerate(actions):
        row = {}
        for name in action.metric_names():
            if ":" in name:  # lists of other metrics
                continue
            metric = action.metric_by_name(name)
            units.setdefault(name, metric.unit() or "")
            row[name] = text(metric)
        size = lambda what: "(%s, %s, %s)" % tuple(row.get(f"launch__{what}_dim_{axis}", "") for axis in "xyz")
        cc = "%s.%s" % tuple(row.get(f"device__attribute_compute_capability_{part}", "") for part in ("major", "minor"))
        rows.append((str(number), action.name(action.NameBase_DEMANGLED), size("block"), size("grid"), cc, row))
    names = sorted(units)
    out = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL, lineterminator="\n")
    out.writerow(["ID", "Kernel Name", "Block Size", "Grid Size", "CC"] + names)
    out.writerow([""] * 5 + [units[name] for name in names])
    for row in rows:
        out.writerow(list(row[:5]) + [row[5].get(name, "") for name in names])


main()
