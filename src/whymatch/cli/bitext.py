"""`whymatch bitext`: which sentences of a text and of its translation belong together."""

import argparse
import json
from pathlib import Path
from typing import Any

from whymatch.cli.align import check_size
from whymatch.cli.console import check_outputs, read_document

_FORMATS = {".tsv": "to_tsv", ".tmx": "to_tmx", ".html": "to_html"}


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("bitext", help="which sentences of a text and of its translation belong together")
    documents = "text, Markdown, HTML or DOCX, or - for standard input"
    parser.add_argument("source", metavar="SOURCE", help=documents)
    parser.add_argument("translation", metavar="TRANSLATION", help="its translation")
    files = "write a table (FILE.tsv), a translation memory (FILE.tmx) or a page (FILE.html); may be given again"
    parser.add_argument("-o", "--output", type=Path, action="append", default=[], metavar="FILE", help=files)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--spans", default="sentence", help="sentence (default), line (one sentence each) or paragraph")
    parser.add_argument("--most", type=int, default=4, metavar="N", help="sentences of a group (default: 4)")
    parser.add_argument("--moved", action="store_true", help="look for passages at another place of the translation")
    models = "multilingual (default), or a model of both languages by its name or folder"
    parser.add_argument("--encoder", default="multilingual", metavar="MODEL", help=models)
    parser.add_argument("--download", action="store_true", help="allow a download of the model from Hugging Face")
    codes = "for TMX, such as de pt-BR, where they are not recognised"
    parser.add_argument("--languages", nargs=2, metavar=("FROM", "TO"), help=codes)
    parser.add_argument("--max-mb", type=float, default=20, help="size of a text (default: 20)")
    parser.add_argument("--encoding", default="utf-8", help="of text and HTML (default: utf-8)")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> int:
    """Aligns, writes and prints."""
    check_size(settings)
    if settings.source == settings.translation == "-":
        raise ValueError("Standard input can be the source or the translation, not both.")
    for file in settings.output:
        if file.suffix.lower() not in _FORMATS:
            raise ValueError(f"{file} is to be written as {', '.join(_FORMATS)}: give its name one of these endings.")
    check_outputs(settings.output, [settings.source, settings.translation])
    from whymatch.show.exchange import check_languages
    from whymatch.text.encoders.naming import encoder_for
    from whymatch.text.languages import language
    from whymatch.translations.aligning import bitext

    limits = {"max_mb": settings.max_mb, "encoding": settings.encoding}
    texts = [read_document(source, **limits) for source in (settings.source, settings.translation)]
    if any(file.suffix.lower() == ".tmx" for file in settings.output):
        check_languages(settings.languages or [language(text) for text in texts])
    encoder = encoder_for(settings.spans, settings.encoder, download=settings.download)
    aligned = bitext(*texts, spans=settings.spans, encoder=encoder, most=settings.most, moved=settings.moved)
    for file in settings.output:
        if file.suffix.lower() == ".tmx":
            aligned.to_tmx(file, languages=settings.languages)
        else:
            getattr(aligned, _FORMATS[file.suffix.lower()])(file)
    if settings.json:
        print(json.dumps(aligned.to_dict(), ensure_ascii=False, allow_nan=False))
    else:
        print(aligned)
        for file in settings.output:
            print(f"Written: {file}")
    return 0
