"""OTLP over HTTP, read into wire spans and logs: `protobuf` and `json`."""
