"""How long a client waits, how often it tries, and how much it takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits of a client. Times in seconds, sizes in bytes."""

    #: One attempt of a unary call.
    timeout: float = 10.0
    #: One watch stream; afterwards the client resumes it from the next record, unnoticed.
    watch_timeout: float = 300.0
    #: One attempt to send or to receive a whole ledger.
    transfer_timeout: float = 300.0
    #: How long a call is repeated, or a stream resumed, before the last error is raised. 0: never repeat.
    patience: float = 30.0
    #: First pause between attempts; it doubles up to `longest_pause`, and each is drawn from 0.5 to 1 of it.
    first_pause: float = 0.05
    longest_pause: float = 2.0
    #: A ping after this much silence on a connection with an open call; 0: none.
    keepalive: float = 60.0
    #: How long the answer to a ping may take.
    keepalive_timeout: float = 20.0
    #: Play and follow all matches of a client over one stream, instead of a call for each command and a stream for each
    #: match: cheaper for whoever plays much. Replies then carry a signed head at most once a second in each match.
    play_stream: bool = False
    #: One engine session.
    session_timeout: float = 3600.0
    #: Largest message taken or sent.
    max_message: int = 16 * 1024 * 1024
    #: Piece of a ledger file in one message.
    chunk: int = 64 * 1024

    def channel_options(self) -> list[tuple[str, int]]:
        """The settings that gRPC itself applies."""
        options = [
            ("grpc.max_receive_message_length", self.max_message),
            ("grpc.max_send_message_length", self.max_message),
            # gRPC waits up to two minutes before it connects again; a restarted server is back in one second.
            ("grpc.initial_reconnect_backoff_ms", 100),
            # Despite its name the time that one attempt to connect gets; a busy server needs some.
            ("grpc.min_reconnect_backoff_ms", max(1000, int(self.timeout * 1000))),
            ("grpc.max_reconnect_backoff_ms", max(100, int(self.longest_pause * 1000))),
        ]
        if self.keepalive:
            options += [
                ("grpc.keepalive_time_ms", int(self.keepalive * 1000)),
                ("grpc.keepalive_timeout_ms", int(self.keepalive_timeout * 1000)),
                # Without these gRPC waits a minute for the answer, and stops asking after two silent questions.
                ("grpc.http2.ping_timeout_ms", int(self.keepalive_timeout * 1000)),
                ("grpc.http2.max_pings_without_data", 0),
            ]
        return options
