"""OTLP over HTTP: `body` removes the content encoding, `protobuf` and `json` read wire spans and logs."""
