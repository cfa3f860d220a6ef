# The released program alone: no shell, no libraries, no user database. docs/INSTALL.md says how to run it.
#
#   make release VERSION=0.1.0 PLATFORMS='linux/amd64 linux/arm64'
#   docker build --build-arg VERSION=0.1.0 -t ninepocket .
#
# Nothing is compiled here: the archive is that of the release, made here or downloaded into dist/release.

FROM alpine:3.22 AS release
ARG VERSION
# BuildKit names the platform, unless a default stands here.
ARG TARGETARCH
ADD dist/release/ninepocket-${VERSION}-linux-${TARGETARCH}.tar.gz /
RUN mv /ninepocket-${VERSION}-linux-${TARGETARCH} /release \
 && mkdir -p /out/var/lib/ninepocket/store /out/var/lib/ninepocket/state /out/tmp

FROM scratch
COPY --from=release /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=release /release/share/doc/ninepocket/LICENSE /release/share/doc/ninepocket/THIRD_PARTY_LICENSES /licenses/
COPY --from=release --chown=65532:65532 /out/var /var
COPY --from=release --chown=65532:65532 /out/tmp /tmp
COPY --from=release /release/bin/ninepocket /ninepocket
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
