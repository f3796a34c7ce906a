import base64, hashlib, hmac, re, time


def is_signed(secret, headers, body):
    """Whether the gateway sent this call in the last five minutes. headers: by lower-case name; body: bytes."""
    id, timestamp, signatures = (headers.get('webhook-' + name, '') for name in ('id', 'timestamp', 'signature'))
    if not re.fullmatch('[0-9]{1,12}', timestamp) or abs(time.time() - int(timestamp)) > 300:
        return False
    key = base64.b64decode(secret[len('whsec_'):])
    signed = (id + '.' + timestamp + '.').encode() + body
    expected = b'v1,' + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    return any(hmac.compare_digest(each.encode(), expected) for each in signatures.split(' '))
