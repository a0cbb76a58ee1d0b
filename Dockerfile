# The server with the bundled model. `make dist` builds the wheels that go in; then
#     docker build -t whymatch .
#     docker run --rm -p 8000:8000 --read-only --tmpfs /tmp -e WHYMATCH_TOKEN=… whymatch
# It runs for a user without rights, writes to /tmp alone, and fetches nothing. Options of `whymatch serve` go behind the name.
FROM python:3.11-slim AS build
COPY dist/whymatch-*.whl dist/whymatch_minilm-*.whl constraints.txt /wheels/
RUN python -m venv /opt/whymatch \
    && cd /wheels \
    && /opt/whymatch/bin/pip install --no-cache-dir --only-binary :all: -c constraints.txt \
        "$(echo whymatch-*.whl)[serve]" whymatch_minilm-*.whl \
    && /opt/whymatch/bin/pip check \
    && rm -r /opt/whymatch/lib/python3.11/site-packages/pip

FROM python:3.11-slim
COPY --from=build /opt/whymatch /opt/whymatch
ENV PATH=/opt/whymatch/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1 \
    HOME=/tmp XDG_CACHE_HOME=/tmp/cache NUMBA_CACHE_DIR=/tmp/numba
USER 65532:65532
WORKDIR /tmp
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/ready', timeout=4)"]
ENTRYPOINT ["whymatch", "serve", "--host", "0.0.0.0", "--port", "8000"]
