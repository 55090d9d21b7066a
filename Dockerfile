# The container images of Weir: one target per program. `docker build --target weir-ratelimit .` needs
# nothing but this folder; docs/images.md describes the images and how tests build them without a network.

# Releases pin the digests, too (docs/release.md).
ARG BASE=docker.io/library/debian:bookworm-20260824-slim
ARG BUILD_BASE=docker.io/library/node:26.10.0-bookworm

# Installs, compiles and collects what the images contain, into one folder per layer.
FROM ${BUILD_BASE} AS build
WORKDIR /weir
COPY . .
RUN npm ci --loglevel=error && npx tsc -b tsconfig.build.json && node_modules/.bin/node tools/pages/build-pages.ts && node_modules/.bin/node tools/images/collect.ts /collected

# A stage of its own, so that `--build-context collected=FOLDER` can replace it.
FROM scratch AS collected
COPY --from=build /collected /

# The layer that all images share: Node.js, without symbols and without npm.
FROM ${BASE} AS runtime
COPY --from=collected /node /
ARG VERSION=0.0.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.vendor="Weir" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/weir-dev/weir" \
      org.opencontainers.image.documentation="https://github.com/weir-dev/weir/blob/main/docs/images.md" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /opt/weir
USER 65532:65532

FROM runtime AS weir-operator
COPY --from=collected /weir-operator /
LABEL org.opencontainers.image.title="weir-operator" \
      org.opencontainers.image.description="Runs data planes and writes the statuses of limits in a Kubernetes cluster"
EXPOSE 8091
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD weir-health "${HTTP_PORT:-8091}" /healthz
ENTRYPOINT ["weir-operator"]

FROM runtime AS weir-control-plane
COPY --from=collected /weir-control-plane /
LABEL org.opencontainers.image.title="weir-control-plane" \
      org.opencontainers.image.description="Serves limits to rate limit pods over ADS"
EXPOSE 8090 18000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD weir-health "${HTTP_PORT:-8090}" /healthz
ENTRYPOINT ["weir-control-plane"]

FROM runtime AS weir-ratelimit
COPY --from=collected /weir-ratelimit /
LABEL org.opencontainers.image.title="weir-ratelimit" \
      org.opencontainers.image.description="Answers Envoy's rate limit requests"
EXPOSE 6070 8080 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD weir-health "${PORT:-8080}" /healthcheck
ENTRYPOINT ["weir-ratelimit"]

FROM runtime AS weir-account
COPY --from=collected /weir-account /
LABEL org.opencontainers.image.title="weir-account" \
      org.opencontainers.image.description="Registration, login and sessions"
EXPOSE 8000 9464
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD weir-health "${METRICS_PORT:-9464}" /healthz
ENTRYPOINT ["weir-account"]

FROM runtime AS weir
COPY --from=collected /weir /
LABEL org.opencontainers.image.title="weir" \
      org.opencontainers.image.description="The command line: weir, weir-client, weir-config-check"
ENTRYPOINT ["weir"]
