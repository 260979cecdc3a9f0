"""Copy the results of `plait reproduce` into docs/reproduction.md and the figures into docs/images.

    python docs/reproduction.py FOLDER

FOLDER is the output folder of `plait reproduce`. The results replace everything below a mark on the page.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
MARK = "<!-- What follows is written by docs/reproduction.py -->\n"
MAX_BYTES = 300_000


def main(folder: Path) -> None:
    """Rewrite the page below its mark, and replace the figures."""
    page = HERE / "reproduction.md"
    own, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise SystemExit(f"{page} lacks the line {MARK}")
    _, text = (folder / "summary.md").read_text(encoding="utf-8").split("\n", 1)  # without its title
    names = re.findall(r"\]\(([\w-]+\.png)\)", text)
    for name in names:
        if (folder / name).stat().st_size > MAX_BYTES:
            raise SystemExit(f"{folder / name} is larger than {MAX_BYTES} bytes")
    images = HERE / "images" / "reproduction"
    shutil.rmtree(images, ignore_errors=True)
    images.mkdir(parents=True)
    for name in names:
        shutil.copy(folder / name, images)
    text = re.sub(r"\]\(([\w-]+\.png)\)", r"](images/reproduction/\1)", text)
    page.write_text(own + mark + text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
