"""Certificates for a broker, made with the openssl command."""

from __future__ import annotations

import ipaddress
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from firmware_bridge.link import LinkError

DAYS = 3650
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-sha256")


class Authority:
    """A certificate authority in a folder: `ca.crt` and `ca.key` (P-256, ten years).

    Methods raise LinkError if openssl is missing or fails, or the authority's key is missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificate = folder / "ca.crt"
        self._key = folder / "ca.key"

    @classmethod
    def new(cls, folder: Path) -> Authority:
        """Make an authority; certificates of an earlier one in the folder become invalid."""
        authority = cls(folder)
        _openssl(
            "req", "-x509", *NEW_KEY, "-days", str(DAYS), "-subj", "/CN=pathrig broker authority",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
            "-keyout", str(authority._key), "-out", str(authority.certificate),
        )  # fmt: skip
        authority._key.chmod(0o600)
        return authority

    def server(self, name: str, hosts: Sequence[str], days: int = DAYS) -> tuple[Path, Path]:
        """Return certificate and key of a server with these names or addresses."""
        names = ",".join(f"{'IP' if is_address(host) else 'DNS'}:{host}" for host in hosts)
        return self._issue(name, f"subjectAltName={names}\nextendedKeyUsage=serverAuth\n", days)

    def client(self, name: str) -> tuple[Path, Path]:
        """Return certificate and key of a client."""
        return self._issue(name, "extendedKeyUsage=clientAuth\n", DAYS)

    def _issue(self, name: str, extensions: str, days: int) -> tuple[Path, Path]:
        if not self._key.exists():
            raise LinkError(f"{self._key} is missing: no other key can sign certificates of this broker")
        certificate, key = self.folder / f".{name}.new.crt", self.folder / f".{name}.new.key"
        request, extension_file = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        usage = "basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\n"
        keys = "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
        extension_file.write_text(usage + keys + extensions)
        try:
            _openssl(
                "req", "-new", *NEW_KEY, "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(request)
            )
            _openssl(
                "x509", "-req", "-in", str(request), "-CA", str(self.certificate), "-CAkey", str(self._key),
                "-CAcreateserial", "-days", str(days), "-sha256", "-extfile", str(extension_file),
                "-out", str(certificate),
            )  # fmt: skip
        finally:
            request.unlink(missing_ok=True)
            extension_file.unlink(missing_ok=True)
        key.chmod(0o600)
        # Both files exist now, so a broker that starts meanwhile finds both.
        return certificate.replace(self.folder / f"{name}.crt"), key.replace(self.folder / f"{name}.key")


def names_in(certificate: Path) -> tuple[str, ...]:
    """Return the names and addresses in a certificate.

    Raises:
        LinkError: it cannot be read, or has no names.
    """
    text = _openssl("x509", "-in", str(certificate), "-noout", "-ext", "subjectAltName")
    entries = [entry.strip().partition(":") for line in text.splitlines()[1:] for entry in line.split(",")]
    names = tuple(name for kind, _, name in entries if kind in ("DNS", "IP Address"))
    if not names:
        raise LinkError(f"{certificate} names no host: say which with --host")
    return names


def is_address(host: str) -> bool:
    """Return whether this is an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _openssl(*arguments: str) -> str:
    if shutil.which("openssl") is None:
        raise LinkError("certificates are made with openssl, which is not installed: apt-get install openssl")
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LinkError(f"openssl {arguments[0]} failed: {reason}")
    return done.stdout
