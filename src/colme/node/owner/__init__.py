"""The owner's side of a node: what it answers over loopback, and how to ask.

`answer` (Answer, Answering, Owned), `server` (OwnerServer), `page`, `gate` (LocalOnly) and `status`
are the node's; `client` (OwnerClient) and `token` the owner's. Asking a node imports no server.
"""
