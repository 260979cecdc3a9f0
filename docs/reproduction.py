"""Put results of `plait reproduce` into docs/reproduction.md, below its mark, and figures into docs/images.

    python docs/reproduction.py FOLDER...

Each folder is one that `plait reproduce` wrote; the page shows them in the order in which they are given.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
MARK = "<!-- What follows is written by docs/reproduction.py -->\n"
MOST_BYTES = 300_000


def main(folders: list[Path]) -> None:
    """Rewrite the page, below its mark, and the figures."""
    page = HERE / "reproduction.md"
    own, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise SystemExit(f"{page} has lost its mark: {MARK}")
    images = HERE / "images" / "reproduction"
    shutil.rmtree(images, ignore_errors=True)
    images.mkdir(parents=True)
    parts = []
    for folder in folders:
        text = (folder / "summary.md").read_text(encoding="utf-8")
        for name in re.findall(r"\]\(([\w-]+\.png)\)", text):
            shutil.copy(folder / name, images)
            if (images / name).stat().st_size > MOST_BYTES:
                raise SystemExit(f"{folder / name} has more than {MOST_BYTES} bytes")
        text = re.sub(r"\]\(([\w-]+\.png)\)", r"](images/reproduction/\1)", text)
        head, section, rest = text.partition("\n## ")
        facts = head.split("\n\n", 1)[1]
        title, body = rest.split("\n", 1)
        parts.append(f"{section.lstrip()}{title}\n\n{facts}\n{body}")
    page.write_text(own + mark + "\n" + "\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main([Path(folder) for folder in sys.argv[1:]])
