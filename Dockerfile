# A static binary alone: no shell, no libraries, no user database. docs/INSTALL.md says how to run it.
#
#   docker build --build-arg VERSION="$(git describe --tags --always)" \
#     --build-arg COMMIT="$(git log -1 --format=%H)" --build-arg COMMITTED="$(git log -1 --format=%cs)" -t ninepocket .

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
ARG COMMIT
ARG COMMITTED
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X main.linked=${VERSION} -X main.commit=${COMMIT} -X main.committed=${COMMITTED}" -o /out/ninepocket ./cmd/ninepocket \
 && mkdir -p /out/var/lib/ninepocket/store /out/var/lib/ninepocket/state /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /src/LICENSE /src/THIRD_PARTY_LICENSES /licenses/
COPY --from=build --chown=65532:65532 /out/var /var
COPY --from=build --chown=65532:65532 /out/tmp /tmp
COPY --from=build /out/ninepocket /ninepocket
# A number, because there is no /etc/passwd, and so that Kubernetes can see that it is not root.
USER 65532:65532
ENV NINEPOCKET_STORE=/var/lib/ninepocket/store \
    NINEPOCKET_STATE=/var/lib/ninepocket/state \
    NINEPOCKET_LISTEN=:8080 \
    NINEPOCKET_LOG_FORMAT=json
VOLUME ["/var/lib/ninepocket"]
EXPOSE 8080
STOPSIGNAL SIGTERM
# The admin listener stays on the container's loopback; /readyz is asked for there.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s CMD ["/ninepocket", "healthcheck"]
ENTRYPOINT ["/ninepocket"]
CMD ["serve"]
