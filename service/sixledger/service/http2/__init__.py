"""The gRPC protocol over HTTP/2 without grpcio's server: a second transport behind the same servicers.

Optional (`transport = http2`, extra `http2`). The HTTP/2 engine is libnghttp2, by way of `ngh2`; what stands here are
sockets, gRPC's framing, deadlines, flow control, keepalive and a graceful end. Handlers, interceptors and contexts look
like those of grpc.aio, so that everything above, and every test, is the same for both.

Protocol: <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>
"""
