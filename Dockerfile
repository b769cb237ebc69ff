# The demonstration's program, for docker-compose.yml: the instrumented client,
# the orders service and the health probe. It holds no shell.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
ENV GOWORK=off CGO_ENABLED=0
# Dependencies first: they are fetched again only when they change.
COPY go.mod go.sum ./
COPY examples/otel-collector/go.mod examples/otel-collector/go.sum examples/otel-collector/
RUN go mod download -C examples/otel-collector
COPY . .
RUN go build -C examples/otel-collector -trimpath -ldflags="-s -w" -o /plimsoll-demo . && mkdir /empty

FROM scratch
COPY --from=build /plimsoll-demo /plimsoll-demo
# For the database of the Prometheus inside, which a client with a page has.
COPY --from=build --chown=65532:65532 /empty /tmp
USER 65532:65532
ENTRYPOINT ["/plimsoll-demo"]
