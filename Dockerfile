# SPDX-License-Identifier: MIT
# An image with stackd and stackctl: docker build -t stackd . (docs/INSTALL.md says how it is run)
#
# The first stage makes the Debian package, the second installs it, with the libraries that it needs, that of push,
# and nothing else. In a tree of `make dist` there is no need of clang.

FROM debian:trixie-slim AS build
COPY . /src
WORKDIR /src
# Options for make, such as DEBUG=1.
ARG MAKEFLAGS=
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends make && \
    make -s deps && make -s deps GROUPS=package && make -s -j"$(nproc)" all && make -s deb

FROM debian:trixie-slim
COPY --from=build /src/build/stackd_*.deb /tmp/
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/stackd_*.deb \
        libcurl4t64 ca-certificates && \
    rm -rf /tmp/stackd_*.deb /var/lib/apt/lists/*
VOLUME /var/lib/stackd
ENTRYPOINT ["stackd"]
CMD ["--help"]
