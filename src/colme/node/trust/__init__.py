"""Who a node is, and whom it takes for whom: certificates, pinned by hand.

`identity` (Identity, Certificate) needs no gRPC; `tls` (Trust, `explain`) does.
"""
