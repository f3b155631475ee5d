# One image for the API and the worker.
ARG BASE_IMAGE=python:3.12-slim-bookworm

FROM ${BASE_IMAGE} AS build
COPY requirements/runtime.txt /tmp/runtime.txt
RUN python3 -m venv /opt/safelight \
 && /opt/safelight/bin/pip install --no-cache-dir --require-hashes -r /tmp/runtime.txt

FROM ${BASE_IMAGE}
ARG VERSION=0.2.0
ARG REVISION=unknown
ENV PATH=/opt/safelight/bin:$PATH PYTHONUNBUFFERED=1 SAFELIGHT_VERSION=$VERSION SAFELIGHT_REVISION=$REVISION
RUN useradd --system --uid 10001 safelight && install -d -o safelight /srv/store
COPY --from=build /opt/safelight /opt/safelight
COPY app.py config.py gunicorn.conf.py /srv/app/
COPY actors /srv/app/actors
COPY api /srv/app/api
COPY cli /srv/app/cli
COPY console /srv/app/console
COPY db /srv/app/db
COPY imaging /srv/app/imaging
COPY observability /srv/app/observability
COPY photos /srv/app/photos
COPY remote /srv/app/remote
COPY storage /srv/app/storage
COPY tasks /srv/app/tasks
WORKDIR /srv/app
USER safelight
STOPSIGNAL SIGTERM
CMD ["gunicorn", "app:create_app()"]
