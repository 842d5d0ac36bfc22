"""How far labelers err on the same items, and what that makes their number worth."""
