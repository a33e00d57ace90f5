"""Write the shipped tasks of the two rigs in other words: `python -m training.paraphrases --out FILE.yaml`.

The file has a task for each paraphrase, with the paraphrase as its prompt; `pathrig run --suite FILE.yaml`
runs them. No model is trained on any of them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml

from training.shipped import shipped_tasks


def main() -> None:
    """Parse the command line and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--first", type=int, help="so many paraphrases of each task at most")
    args = parser.parse_args()
    tasks = [
        {key: value for key, value in task.items() if key != "paraphrases"}
        | {"id": f"{task['id']}_words_{k}", "prompt": text}
        for task in shipped_tasks()
        for k, text in enumerate(task.get("paraphrases", ())[: args.first], start=1)
    ]
    args.out.write_text(yaml.safe_dump({"tasks": tasks}, sort_keys=False, allow_unicode=True, width=140))
    print(f"{args.out}: {len(tasks)} tasks")


if __name__ == "__main__":
    main()
