"""Judging rationales: people rate the links of models that they do not know, as in the paper's appendix A."""
