"""`python -m whymatch` is `whymatch`."""

import sys

from whymatch.cli import main

sys.exit(main())
