"""Which source says what a generated answer claims, and where: one citation a claim, or none.

    python examples/citations.py

Every sentence of the answer is a claim. It is searched for in an index of sources; the span that its best link leads to
is the citation, with offsets into the source. A claim that probably matches none of them has no source, and says so.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import whymatch as wm

SOURCES = {
    "handbook": "Employees have 25 days of paid leave a year. Leave that is not taken by March expires. "
    "Requests are made at least two weeks ahead.",
    "travel": "Trips of less than four hours are made by train. Flights are booked in economy class. "
    "Hotels may cost up to 120 euros a night.",
    "security": "Laptops are encrypted. Lost devices are reported within a day. Passwords have sixteen characters.",
}
ANSWER = (
    "You get 25 paid vacation days per year. Hotel rooms are reimbursed up to 120 euros per night. "
    "If you lose your laptop, you have to report it within one day. The canteen is closed on Fridays."
)


def main() -> None:
    with TemporaryDirectory() as folder:
        index = wm.Index.create(Path(folder) / "sources", wm.Aligner())
        index.add(SOURCES)
        for claim in index.split(ANSWER).pieces:
            best = index.search(claim, top_k=1)[0]
            print(claim)
            if not best.links or best.probability < 0.5:
                print("    no source says this")
                continue
            link = best.links[0]
            print(f"    {best.id}, characters {link.right.start} to {link.right.end}: {link.texts[1]}")


if __name__ == "__main__":
    main()
