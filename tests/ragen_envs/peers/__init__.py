"""The testing kit, run against environments of others.

An adapter turns a peer's values into Gymnasium's five and its words into the peer's actions.
Whatever the peer raises, accepts or leaves behind passes through as it is.
"""
