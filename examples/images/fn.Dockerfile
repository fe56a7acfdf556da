# The KRM function trainyard-fn. Build the binary first: CGO_ENABLED=0 go build -o trainyard-fn ./cmd/trainyard-fn
FROM scratch
COPY trainyard-fn /trainyard-fn
USER 65534
ENTRYPOINT ["/trainyard-fn"]
