# syntax=docker/dockerfile:1
ARG PYTHON=3.13-slim-bookworm

# Every pin is fetched and its hash verified here, once; later stages install from these files alone.
FROM python:${PYTHON} AS wheels
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY constraints.txt ./
RUN pip wheel --require-hashes --requirement constraints.txt --wheel-dir /wheels
RUN pip install --no-index --find-links /wheels hatchling
COPY pyproject.toml README.md LICENSE ./
COPY config config
COPY engine engine
COPY adapters adapters
COPY bots bots
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels .

# Only what Threadwright itself asks for; the development tools stay behind.
FROM python:${PYTHON} AS installed
RUN python -m venv /opt/threadwright
RUN --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    /opt/threadwright/bin/pip install --no-cache-dir --no-index --find-links /wheels --compile threadwright

FROM python:${PYTHON}
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /var/lib/threadwright threadwright
COPY --from=installed /opt/threadwright /opt/threadwright
ENV PATH=/opt/threadwright/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    THREADWRIGHT_HOST=0.0.0.0 \
    THREADWRIGHT_PORT=8080 \
    THREADWRIGHT_STATE_DIR=/var/lib/threadwright
USER threadwright
WORKDIR /var/lib/threadwright
VOLUME /var/lib/threadwright
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['THREADWRIGHT_PORT'] + '/healthz', timeout=4)"]
ENTRYPOINT ["threadwright"]
CMD ["serve"]
