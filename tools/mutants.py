"""The score of `mutmut run`, for backward passes and the rest, and every survivor.

A mutant that no test calls has survived; one that runs into the time limit is killed,
as it hangs. Fails if too many mutants of backward passes survive.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

from mutmut.mutation.diff_apply import get_diff_for_mutant

WANTED = 0.95  # of the mutants of backward passes
SURVIVED = (0, 5, 33)  # exit codes: no test failed; pytest, mutmut found no test


def main():
    codes = {}
    for file in sorted(Path("mutants").rglob("*.meta")):
        codes |= json.loads(file.read_text())["exit_code_by_key"]
    killed = {n: code not in SURVIVED for n, code in codes.items() if code is not None}

    groups = defaultdict(list)
    for name, dead in killed.items():
        module, function = name.rpartition("__mutmut_")[0].rsplit(".", 1)
        part = "backward" if function == "x_backward" else "rest"
        for title in module, "all":
            groups[title, part].append(dead)
    print(f"{'killed / mutants':38} {'backward':>12} {'rest':>12}")
    for title in dict.fromkeys(title for title, _ in sorted(groups) if title != "all"):
        print_row(title, groups)
    print_row("all", groups)

    for name, dead in killed.items():
        if not dead:
            diff = get_diff_for_mutant(name).splitlines()[2:]
            print(name, *(line for line in diff if line[0] in "+-"), sep="\n")

    backward = groups["all", "backward"]
    if sum(backward) < WANTED * len(backward):
        sys.exit(f"{WANTED:.0%} of the mutants of backward passes should be killed")


def print_row(title, groups):
    scores = (groups[title, part] for part in ("backward", "rest"))
    print(f"{title:38}", *(f"{sum(score):5} / {len(score):4}" for score in scores))


if __name__ == "__main__":
    main()
