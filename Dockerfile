# One image for the API, the workers and the migrations: the command says which.
#   docker build --build-arg VERSION=0.1.0 --build-arg REVISION=$(git rev-parse HEAD) -t safelight .
# BASE_IMAGE: any Debian with Python 3.11 or later and its venv, from a mirror say.
ARG BASE_IMAGE=python:3.12-slim-bookworm

FROM ${BASE_IMAGE} AS build
COPY requirements/runtime.txt /tmp/runtime.txt
# Wheels alone: nothing is compiled, so there is no compiler, here or below.
RUN python3 -m venv /opt/safelight \
 && /opt/safelight/bin/python -m pip install --no-cache-dir --require-hashes --only-binary :all: -r /tmp/runtime.txt \
 && /opt/safelight/bin/python -m pip uninstall --yes pip

FROM ${BASE_IMAGE}
# The number is what a volume's files belong to, and what Kubernetes' runAsNonRoot can see.
RUN useradd --system --uid 10001 --no-create-home safelight \
 && install -d -o safelight /srv/store
COPY --from=build /opt/safelight /opt/safelight
WORKDIR /srv/app
COPY alive.py app.py config.py gunicorn.conf.py ./
COPY actors ./actors
COPY api ./api
COPY bin ./bin
COPY cli ./cli
COPY client ./client
COPY console ./console
COPY db ./db
COPY imaging ./imaging
COPY observability ./observability
COPY photos ./photos
COPY remote ./remote
COPY storage ./storage
COPY tasks ./tasks
# The file system may be read-only, so the bytecode is made here.
RUN /opt/safelight/bin/python -m compileall -q . \
 && ln -s /srv/app/bin/safelight /opt/safelight/bin/
ARG VERSION=0.2.0
ARG REVISION=unknown
ENV PATH=/opt/safelight/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    SAFELIGHT_VERSION=$VERSION SAFELIGHT_REVISION=$REVISION
LABEL org.opencontainers.image.title=safelight \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION
USER 10001
EXPOSE 8000 8001
STOPSIGNAL SIGTERM
CMD ["gunicorn", "app:create_app()"]
