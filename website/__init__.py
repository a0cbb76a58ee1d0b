"""What the documentation site has beside the pages in docs/: pictures, notebooks, the reference and its examples."""
