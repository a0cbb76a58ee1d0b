"""Which source says what a generated answer claims, and where: citations for documents that a retriever found.

    python examples/citations.py                # plain texts
    python examples/citations.py langchain      # documents of LangChain (pip install langchain-core)
    python examples/citations.py llama-index    # nodes of LlamaIndex (pip install llama-index-core)

`whymatch.check` takes the documents of both libraries as they are. Every sentence of the answer is a claim; a claim
that is supported, or contradicted, comes with the source and the characters that say so.
"""

import sys
from typing import Any

import whymatch as wm

SOURCES = {
    "handbook": "Employees have 25 days of paid leave a year. Leave that is not taken by March expires. "
    "Requests are made at least two weeks ahead.",
    "travel": "Trips of less than four hours are made by train. Flights are booked in economy class. "
    "Hotels may cost up to 120 euros a night.",
    "security": "Laptops are encrypted. Lost devices are reported within a day. Passwords have sixteen characters.",
}
ANSWER = (
    "Employees get 25 days of paid leave a year. Hotels may cost up to 150 euros a night. "
    "Lost devices have to be reported within one day. The canteen is closed on Fridays."
)


def langchain_documents() -> list[Any]:
    """What a retriever of LangChain gives."""
    from langchain_core.documents import Document

    return [Document(page_content=text, metadata={"source": name}) for name, text in SOURCES.items()]


def llama_index_nodes() -> list[Any]:
    """What a retriever of LlamaIndex gives."""
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [TextNode(text=text, metadata={"file_name": name}) for name, text in SOURCES.items()]
    return [NodeWithScore(node=node, score=0.5) for node in nodes]


def main(library: str = "") -> None:
    """Prints every claim with its citations."""
    made = {"": lambda: SOURCES, "langchain": langchain_documents, "llama-index": llama_index_nodes}
    if library not in made:
        sys.exit(f"Libraries are langchain and llama-index, got {library}.")
    found = wm.check(ANSWER, made[library]())
    print(found.verdict)
    for claim in found.claims:
        print(f"\n{claim.verdict}: {claim.text}\n    {claim.reason}")
        for one in claim.citations:
            print(f"    {one.source}, characters {one.span.start} to {one.span.end}: {one.text}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
