"""Who a node is: keys and a certificate of its own. Neighbours pin it; there is no authority.

One key is for connections, and is replaced with its certificate. The other signs what strangers
pass on, and stays: a hash of it is the node's origin, the name of its records everywhere.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from colme.errors import ConfigError, IdentityError
from colme.node import files
from colme.protocol.board.record import origin_of_key
from colme.signing import Ed25519

TLS_NAME = "colme.node"
"""In every certificate: a client asks for this name, as identity is the certificate, not a host."""

SIGNS_AS = "colme:ed25519:"
"""In a certificate, before the public key, in hex, that its owner signs records with."""

PRIVATE_FILE = "identity.pem"
PUBLIC_FILE = "identity.crt"
WRITABLE = "a folder to write in"

VALID_DAYS = 730
"""Trust ends where a neighbour drops the certificate; expiry only bounds the use of a key that
leaked unnoticed. Renewing takes a word with every neighbour: two years ask for it seldom."""

CLOCK_SKEW = timedelta(hours=1)
"""A neighbour's clock may be behind: a new certificate is valid since a little while."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """One certificate: a name and a public key, to hand to neighbours."""

    pem: bytes

    def __post_init__(self) -> None:
        if len(_parsed(self.pem)) != 1:
            raise IdentityError("certificate", "several certificates", "one")
        _ = self.name

    @property
    def name(self) -> str:
        """The name its owner goes by (the subject's common name)."""
        names = self._x509.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        if len(names) != 1:
            raise IdentityError("certificate", f"{len(names)} common names", "one, its owner's")
        return str(names[0].value)

    @property
    def der(self) -> bytes:
        """The bytes that are signed and compared."""
        return self._x509.public_bytes(serialization.Encoding.DER)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate as AA:BB:..., to compare by telephone."""
        return self._x509.fingerprint(hashes.SHA256()).hex(":").upper()

    @property
    def signing_key(self) -> bytes | None:
        """The public key of its owner's records; None in one made before there were records."""
        try:
            found = self._x509.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except x509.ExtensionNotFound:
            return None
        uris = found.value.get_values_for_type(x509.UniformResourceIdentifier)
        keys = [uri.removeprefix(SIGNS_AS) for uri in uris if uri.startswith(SIGNS_AS)]
        return bytes.fromhex(keys[0]) if keys and _KEY.fullmatch(keys[0]) else None

    @property
    def origin(self) -> str | None:
        """The name of its owner's records, wherever they are passed on to."""
        return None if self.signing_key is None else origin_of_key(self.signing_key)

    @property
    def not_before(self) -> datetime:
        """Valid from here on."""
        return self._x509.not_valid_before_utc

    @property
    def not_after(self) -> datetime:
        """Valid up to here."""
        return self._x509.not_valid_after_utc

    def is_valid(self, at: datetime) -> bool:
        """Whether it is valid then."""
        return self.not_before <= at <= self.not_after

    def require_valid(self, at: datetime, owner: str) -> None:
        """Refuse it outside its time; `owner` is who to ask for another."""
        if at > self.not_after:
            seen = f"expired on {self.not_after:%Y-%m-%d %H:%M} UTC"
            remedy = f"a valid one: {owner} runs `colme identity renew` and hands out {PUBLIC_FILE}"
        elif at < self.not_before:
            seen = f"not valid before {self.not_before:%Y-%m-%d %H:%M} UTC"
            remedy = f"a clock that is right, here and at {owner}"
        else:
            return
        raise IdentityError(f"certificate of {owner}", seen, remedy)

    @property
    def _x509(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.pem)


_KEY = re.compile("[0-9a-f]{64}")


def read_pins(path: Path) -> tuple[Certificate, ...]:
    """The certificates of a file that says whom to trust: nobody else may be able to change it."""
    return _certificates(path, files.read_unforged)


def read_certificates(path: Path) -> tuple[Certificate, ...]:
    """The certificates of a file: while a neighbour renews, its old and its new one."""
    return _certificates(path, Path.read_bytes)


def _certificates(path: Path, read: Callable[[Path], bytes]) -> tuple[Certificate, ...]:
    with files.usable("certificate", path, f"a certificate to read, the neighbour's {PUBLIC_FILE}"):
        content = read(path)
    if b"PRIVATE KEY-----" in content:
        expected = f"the certificate alone, {PUBLIC_FILE}: a key stays with its owner"
        raise IdentityError("certificate", f"a private key in {path}", expected)
    try:
        return tuple(Certificate(_pem(one)) for one in _parsed(content))
    except IdentityError as error:
        raise IdentityError(f"certificate {path}", error.seen, error.expected) from None


@dataclass(frozen=True, slots=True)
class Identity:
    """A node's private keys and its certificate."""

    key_pem: bytes = field(repr=False)
    certificate: Certificate
    signing: bytes | None = field(default=None, repr=False)
    """The private key of its records: whoever has it can speak in this node's name."""

    @property
    def name(self) -> str:
        """The node's name."""
        return self.certificate.name

    @classmethod
    def create(cls, name: str, folder: Path, *, days: int = VALID_DAYS, now: datetime) -> Self:
        """A new identity in a folder that has none."""
        _require_name(name)
        if (folder / PRIVATE_FILE).exists():
            remedy = "a folder without one; `colme identity renew` replaces its key"
            raise IdentityError("identity", f"an identity in {folder}", remedy)
        with files.usable("identity", folder, WRITABLE):
            files.make_own_folder(folder)
        identity = cls._made(name, Ed25519.generate().to_bytes(), days, now)
        identity._write(folder)
        return identity

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The identity of a folder; nobody but its owner may be able to read it."""
        path = folder / PRIVATE_FILE
        expected = f"an identity: `colme identity new NAME --out {folder}`"
        with files.usable("identity", path, expected):
            content = files.read_secret(path)
        return cls._from_bytes(content, path)

    @classmethod
    def renew(cls, folder: Path, *, days: int = VALID_DAYS, now: datetime) -> Self:
        """A new key and certificate in the place of the old; the name and the origin stay.

        One from before there were records gets a key to sign them with.
        """
        before = cls.load(folder)
        signing = before.signing or Ed25519.generate().to_bytes()
        identity = cls._made(before.name, signing, days, now)
        identity._write(folder)
        return identity

    @classmethod
    def _made(cls, name: str, signing: bytes, days: int, now: datetime) -> Self:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _self_signed(name, key, Ed25519.from_bytes(signing).key, days, now)
        return cls(_key_pem(key), Certificate(_pem(certificate)), signing)

    @classmethod
    def _from_bytes(cls, content: bytes, path: Path) -> Self:
        try:
            key, *others = (
                serialization.load_pem_private_key(one, password=None)
                for one in _PRIVATE_KEY.findall(content)
            )
            (certificate,) = _parsed(content)
            signing = _signing_key(others)
        except (ValueError, TypeError, UnsupportedAlgorithm, IdentityError):
            expected = "its keys, without a password, and its certificate: restore it from a copy"
            raise IdentityError("identity", f"damage in {path}", expected) from None
        if key.public_key() != certificate.public_key():
            seen = f"a key in {path} that does not belong to the certificate there"
            raise IdentityError("identity", seen, "a pair: restore it from a copy")
        found = cls(_key_pem(key), Certificate(_pem(certificate)), signing)
        named = found.certificate.signing_key
        if named != (None if signing is None else Ed25519.from_bytes(signing).key):
            seen = f"damage in {path}: the certificate there names another key for records"
            raise IdentityError("identity", seen, "the one it names: restore it from a copy")
        return found

    def _write(self, folder: Path) -> None:
        content = self.key_pem + self.certificate.pem
        if self.signing is not None:
            content += _key_pem(ed25519.Ed25519PrivateKey.from_private_bytes(self.signing))
        # The certificate goes last: it must never be handed out for a key that was not kept.
        with files.usable("identity", folder, WRITABLE):
            files.replace(folder / PRIVATE_FILE, content)
            files.replace(folder / PUBLIC_FILE, self.certificate.pem, mode=0o644)

    def signs(self, neighbours: Mapping[str, Certificate]) -> Ed25519:
        """Who this node is to those who are not its neighbours; an error if it can't be that.

        `neighbours`: their certificates, which name the keys of their records.
        """
        if self.signing is None:
            expected = "one that can: `colme identity renew` adds it; the neighbours append it"
            raise IdentityError("identity", "no key to sign records with", expected)
        keys = {name: one.signing_key for name, one in neighbours.items()}
        for name, key in keys.items():
            if key is None:
                expected = f"one that names it: {name} runs `colme identity renew`"
                raise IdentityError(f"certificate of {name}", "no key for records", expected)
        known = {name: key for name, key in keys.items() if key is not None}
        return Ed25519.from_bytes(self.signing, known)


_PRIVATE_KEY = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----\n?", re.DOTALL
)


def _signing_key(keys: list[PrivateKeyTypes]) -> bytes | None:
    if not keys:
        return None
    (key,) = keys
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise ValueError("another kind of key")
    return key.private_bytes_raw()


def _self_signed(
    name: str, key: ec.EllipticCurvePrivateKey, signs_as: bytes, days: int, now: datetime
) -> x509.Certificate:
    """A leaf that vouches for itself and, as it is no authority, for nobody else."""
    names = [
        x509.DNSName(TLS_NAME),
        x509.UniformResourceIdentifier(f"{SIGNS_AS}{signs_as.hex()}"),
    ]
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now.astimezone(UTC) - CLOCK_SKEW)
        .not_valid_after(now.astimezone(UTC) + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(_SIGNS_HANDSHAKES_ONLY, critical=True)
        .add_extension(x509.ExtendedKeyUsage(_BOTH_SIDES), critical=False)
        .sign(key, hashes.SHA256())
    )


_BOTH_SIDES = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
_SIGNS_HANDSHAKES_ONLY = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


def _require_name(name: str) -> None:
    # X.509 has room for 64 bytes. A name may become a file's: no slashes, no dot in front.
    fits = 1 <= len(name.encode(errors="replace")) <= 64 and name == name.strip()
    if not (fits and name.isprintable() and not name.startswith(".") and not set(name) & {*"/\\"}):
        expected = "1 to 64 bytes of printable text: no slashes, no dot or space in front"
        raise ConfigError("name", name, expected)


def _parsed(pem: bytes) -> list[x509.Certificate]:
    try:
        found = x509.load_pem_x509_certificates(pem)
        whole = len(found) == pem.count(b"-----BEGIN CERTIFICATE-----")
        for one in found:
            _ = (one.subject, one.public_key())  # parsed only when asked for
    except (ValueError, UnsupportedAlgorithm):
        whole = False
    if not whole:
        raise IdentityError("certificate", "something else or damage", "PEM certificates alone")
    return found


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: PrivateKeyTypes) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
