"""Sessions with neighbours: who calls, who is let in, what is said and what is heard.

`neighbourhood` (Neighbourhood, Acquaintance), `admission` (Admission, Agreement), `transport`
(Transport, PeerSession, Parted), `grpc_transport` (GrpcTransport), `link` (Link),
`rehearsal` (check).
"""
