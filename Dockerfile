# The images of docker-compose.yml.
#
#   demo     the demonstration's program: the instrumented client, the orders
#            service and the health probe
#   probed   the image BASE with that program beside it: for images that hold
#            nothing that could ask for their own health

# What probed stands on; docker-compose.yml says which.
ARG BASE=otel/opentelemetry-collector-contrib:0.159.0

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
ENV GOWORK=off CGO_ENABLED=0
# Dependencies first: they are fetched again only when they change.
COPY go.mod go.sum ./
COPY examples/otel-collector/go.mod examples/otel-collector/go.sum examples/otel-collector/
RUN go mod download -C examples/otel-collector
COPY . .
RUN go build -C examples/otel-collector -trimpath -ldflags="-s -w" -o /plimsoll-demo . && mkdir /empty

# Command, user and entry point remain BASE's. The program is linked statically:
# it needs nothing of BASE.
FROM ${BASE} AS probed
COPY --from=build /plimsoll-demo /plimsoll-demo

FROM scratch AS demo
COPY --from=build /plimsoll-demo /plimsoll-demo
# For the database of the Prometheus inside, which a client with a page has.
COPY --from=build --chown=65532:65532 /empty /tmp
USER 65532:65532
ENTRYPOINT ["/plimsoll-demo"]
