"""Certificates for a broker of one's own, made with the openssl command."""

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

    Raises:
        LinkError: there is no openssl, or it failed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificate = folder / "ca.crt"
        self._key = folder / "ca.key"
        if not self._key.exists():
            _openssl(
                "req", "-x509", *NEW_KEY, "-days", str(DAYS), "-subj", "/CN=pathrig broker authority",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                "-keyout", str(self._key), "-out", str(self.certificate),
            )  # fmt: skip
            self._key.chmod(0o600)

    def server(self, name: str, hosts: Sequence[str]) -> tuple[Path, Path]:
        """Certificate and key of a server that clients reach under these names or addresses."""
        names = ",".join(f"{'IP' if is_address(host) else 'DNS'}:{host}" for host in hosts)
        return self._issue(name, f"subjectAltName={names}\nextendedKeyUsage=serverAuth\n")

    def client(self, name: str) -> tuple[Path, Path]:
        """Certificate and key of a client."""
        return self._issue(name, "extendedKeyUsage=clientAuth\n")

    def _issue(self, name: str, extensions: str) -> tuple[Path, Path]:
        certificate, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
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
                "-CAcreateserial", "-days", str(DAYS), "-sha256", "-extfile", str(extension_file),
                "-out", str(certificate),
            )  # fmt: skip
        finally:
            request.unlink(missing_ok=True)
            extension_file.unlink(missing_ok=True)
        key.chmod(0o600)
        return certificate, key


def is_address(host: str) -> bool:
    """Whether this is an IP address and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _openssl(*arguments: str) -> None:
    if shutil.which("openssl") is None:
        raise LinkError("certificates are made with openssl, which is not installed: apt-get install openssl")
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LinkError(f"openssl {arguments[0]} failed: {reason}")
