# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remove secrets from texts that leave the site. Pure, and linear in the length of the text.

Removed by rule: keys of the fabric, passwords and tokens, private keys, and credentials in URLs. Secrets that the caller knows are removed wherever they
occur.
"""

from __future__ import annotations

import re
import typing as t

from .._codes import is_secret
from .._foreign import integer

HIDDEN = "<removed>"
# A shorter secret would occur in too many words.
_LEAST = 4

_PRIVATE_BEGIN = re.compile(r"-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY|OpenVPN Static key)")
_PRIVATE_END = re.compile(r"-{4,5} ?END (?:[A-Z0-9 ]{0,40}PRIVATE KEY|OpenVPN Static key)")
# sm_key 0x1, Mkey:....0x1, --smkey 0x1, "m_key": "0x1", sa-key 0x1. _is_fabric_key tells which of them protect the fabric.
_KEY = re.compile(r"(?P<name>\b[\w-]{0,60}(?:key|seed)\b[\"']?)(?P<between>[ \t=:.\"']{1,80})(?P<value>(?:0x)?[0-9a-f]{1,64})\b", re.IGNORECASE)
# The tools write some names without a separator.
_TOGETHER = re.compile(r"^(?:sm|m|sa|cc|vs|am|n2n|pm|class)(?=key$)")
# Partition and queue keys are in every listing of a fabric, and are no secrets.
_PLAIN = ("p_key", "q_key")
# A name in configuration files, options, headers or JSON, and the separator before its value. _is_secret tells which names are secret.
_ASSIGNED = re.compile(r"(?P<name>[\w.-]{1,80})(?:\"|\\\"|')?[ \t]{0,20}(?:=>|::|[=:>])[ \t]{0,20}(?=\S)")
_OPTION = re.compile(r"(?P<name>(?<![\w-])--?[\w-]{2,60})(?P<between>[ \t]{1,8})(?P<value>\S+)")
# A line of a configuration file, with key and value. In a sentence, more words would follow.
_LINE = re.compile(r"^(?P<name>[ \t]{0,40}[\w.-]{1,60})(?P<between>[ \t]{1,40})(?P<value>\S+)[ \t]{0,40}$")
_QUOTED = re.compile(r"(?P<name>\b[\w.-]{1,60})(?P<between>[ \t]{1,8})(?P<value>\"[^\"]{1,200}\"|'[^']{1,200}')")
# Words in the names of secrets. `psk-flags` and `password-file` are removed as well, instead of listing all such exceptions.
_SECRETS = frozenset(
    (
        *("password", "passwords", "passwd", "passwds", "passphrase", "passphrases", "passcode", "pass", "pwd", "pw", "psk", "psks", "secret"),
        *("secrets", "token", "tokens", "credential", "credentials", "community", "communities", "apikey", "privkey", "authkey", "authtoken"),
        *("bindpw", "rootpw", "authorization", "cookie", "cak", "sshpass", "pgpassword", "userpassword"),
    )
)
# Words that make a secret when followed by `key`.
_KINDS_OF_KEY = frozenset(
    (
        *("api", "private", "preshared", "shared", "secret", "access", "account", "auth", "authentication", "encryption", "wep", "wireless"),
        *("master", "license", "jwt", "munge", "client"),
    )
)
# Suffixes of longer words: `StoragePassword`, `sae_password`, `rocommunity`, `requirepass`.
_ENDINGS = ("password", "passwd", "passphrase", "secret", "token", "psk", "community", "pass", "apikey", "privatekey", "secretkey", "sharedkey", "authkey")
_NO_SECRETS = frozenset(["bypass", "compass", "trespass", "encompass", "surpass", "overpass", "underpass"])
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_BASE64_KEY = re.compile(r"[\"']?[A-Za-z0-9+/]{43}=")
# Secrets that are recognised by their form, whatever precedes them.
_FORMS = tuple(
    re.compile(expression)
    for expression in (
        # user:p@ss@ in a URL: up to the last @ of the authority; a text that begins with a port and a path is no user.
        r"(?P<name>://)(?P<value>[^\s/\"'<>]{1,300})(?=@)",
        r"(?P<name>://[^\s/@:\"'<>]{1,100}:)(?P<value>(?![0-9]{1,5}/)[^\s\"'<>]{1,200})(?=@)",
        r"(?P<name>(?<![\w/:.@-])[\w.+-]{1,64}:)(?P<value>[^\s:/@\"'<>]{1,64}(?:@[^\s:/@\"'<>]{1,64})?)(?=@[A-Za-z][\w.-]{0,100}(?:[:/\s\"',;]|$))",
        r"(?P<name>(?<!\S)(?:--(?:proxy-)?user|-u|-U)[ =]{1,4})(?P<value>[^\s:]{1,64}:\S{1,200})",
        r"(?P<name>(?i:\b(?:bearer|basic|digest|negotiate)[ \t]{1,4}))(?P<value>(?=[^\s]{0,200}[0-9=._-])[A-Za-z0-9+/=._~-]{8,})",
        r"(?P<name>\blogin[ \t]{1,8}\S{1,64}[ \t]{1,8}password[ \t]{1,8})(?P<value>\S+)",
        r"(?P<name>(?:ipmitool|sshpass|mysql[a-z]{0,8}|mariadb|ldap[a-z]{3,8}|smbclient)\b[^|;]{0,200}?[ \t]-[pPw][ \t]{0,4})(?P<value>\S+)",
        r"(?P<name>^[ \t]{0,8}[0-9]{1,5}[ \t]{1,8}(?:MD5|SHA[0-9]{0,3}|AES[0-9]{0,3})[ \t]{1,8})(?P<value>\S+)",
        r"(?P<name>^[ \t]{0,8}(?:r[ow](?:community6?|user)|com2sec6?|createUser|(?:Incoming|Outgoing)User)[ \t]{1,8})(?P<value>\S.*)$",
        r"(?P<name>^[ \t]{0,8}KEY[0-9]?=)(?P<value>\S.*)$",
        r"(?P<name>(?:^|[ ,;])pin=)(?P<value>\S+)",
        r"(?P<name>[?&](?:sig|signature|key|X-Amz-Signature|X-Amz-Credential)=)(?P<value>[^\s&\"']{4,})",
        r"(?P<name>\"auths?\"[ \t]{0,4}:[ \t]{0,4})(?P<value>\"[A-Za-z0-9+/=]{8,}\")",
        # Password hashes, tokens of known services, a munge credential, and the three parts of a JSON web token.
        r"(?P<name>)(?P<value>\$(?:1|2[abxy]?|5|6|7|y|gy|sha1|apr1|argon2[a-z]{0,2}|pbkdf2[a-z0-9-]{0,10})\$[^\s:\"',]{8,200})",
        r"(?P<name>)(?P<value>\{(?:S?SHA(?:256|384|512)?|S?MD5|CRYPT|PBKDF2[A-Z0-9-]{0,10})\}[A-Za-z0-9+/=$.]{8,200})",
        r"(?P<name>)(?P<value>\b(?:AKIA|ASIA)[0-9A-Z]{16}\b)",
        r"(?P<name>)(?P<value>\b(?:gh[pousr]_|github_pat_|glpat-|xox[abpr]-|nvapi-|hf_|npm_|AIza)[A-Za-z0-9_-]{16,})",
        r"(?P<name>)(?P<value>\bMUNGE:[A-Za-z0-9+/=]{16,}:?)",
        r"(?P<name>)(?P<value>\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?)",
    )
)


class Redacted(t.NamedTuple):
    text: str
    removed: int
    """The number of removed secrets."""


def _hide(match: t.Match[str]) -> str:
    return match["name"] + HIDDEN


def _is_fabric_key(name: str) -> bool:
    key = _TOGETHER.sub(r"\g<0>_", name.lower().strip("\"'-").replace("-", "_"))
    return is_secret(key) and not key.endswith(_PLAIN)


def _hide_key(match: t.Match[str]) -> str:
    value = match["value"].lower()
    # A key of zero means no key.
    is_set = bool(value.replace("0x", "", 1).strip("0"))
    return match["name"] + match["between"] + HIDDEN if is_set and _is_fabric_key(match["name"]) else match[0]


def known_secrets(values: t.Iterable[t.Any]) -> t.Pattern[str] | None:
    """One expression for all secret values, including other notations of numbers. None without any."""
    texts: set[str] = set()
    for value in values:
        text = str(value).strip()
        number = integer(text)
        if number:
            texts |= {"%x" % number, "%016x" % number, str(number)}
        texts.add(text)
    longest = sorted((text for text in texts if len(text) >= _LEAST), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest)), re.IGNORECASE) if longest else None


def _is_secret(name: str) -> bool:
    """`wifi-sec.psk`, `InitiatorSecret`, `wep-key0`, `AWS_SECRET_ACCESS_KEY`; not `tokenring`, `key-mgmt`, `PublicKey`."""
    words = [word.lower() for word in _WORD.findall(name)]
    joined = "".join(words[-1:])
    if not _SECRETS.isdisjoint(words) or (joined.endswith(_ENDINGS) and joined not in _NO_SECRETS):
        return True
    return any(second == "key" and first in _KINDS_OF_KEY for first, second in zip(words, words[1:]))


def _hide_named(match: t.Match[str]) -> str:
    return match["name"] + match["between"] + HIDDEN if _is_secret(match["name"]) else match[0]


def _hide_assigned(line: str) -> str:
    """Remove everything from the first secret value to the end of its line: only the tool itself knows where the value ends."""
    for match in _ASSIGNED.finditer(line):
        name = match["name"]
        # WireGuard keys, as in netplan.
        if _is_secret(name) or (name in ("key", "private", "shared") and _BASE64_KEY.match(line, match.end())):
            return line[: match.end()] + HIDDEN
    return line


def redact(text: str, known: t.Pattern[str] | None = None) -> Redacted:
    """The text without secrets. Lines are kept, so that line numbers in messages remain valid."""
    removed = 0
    private = False
    lines = []
    for line in text.split("\n"):
        private = private or bool(_PRIVATE_BEGIN.search(line))
        if private:
            removed += 1
            private = not _PRIVATE_END.search(line)
            lines.append(HIDDEN)
            continue
        before = line
        if known is not None:
            line = known.sub(HIDDEN, line)
        line = _KEY.sub(_hide_key, line)
        for expression in _FORMS:
            line = expression.sub(_hide, line)
        for expression in (_OPTION, _QUOTED, _LINE):
            line = expression.sub(_hide_named, line)
        line = _hide_assigned(line)
        removed += line != before
        lines.append(line)
    return Redacted("\n".join(lines), removed)
