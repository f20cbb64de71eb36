"""The asyncio client, over grpc.aio."""
