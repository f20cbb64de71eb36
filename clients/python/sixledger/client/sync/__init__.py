"""The synchronous client, over grpc."""
