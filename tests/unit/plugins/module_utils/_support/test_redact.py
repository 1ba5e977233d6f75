# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import time

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._support._redact import HIDDEN, known_secrets, redact
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("sm_key 0x0123456789abcdef", "0123456789abcdef"),
        ("m_key 0x5ec2e75ec2e75ec2", "5ec2e75ec2e75ec2"),
        ("Mkey:............................0x00005ec2e75ec2e7", "5ec2e75ec2e7"),
        ("saquery --smkey 0x5ec2e7 SMIR", "5ec2e7"),
        ('  "sm_key": "0x5ec2e75ec2e7"', "5ec2e75ec2e7"),
        ("vs_key=5ec2e7", "5ec2e7"),
        ("sa-key 0x5ec2e75ec2e7", "5ec2e75ec2e7"),
        ("node_key = 0x5ec2e75ec2e7", "5ec2e75ec2e7"),
        ("vs_key_seed 5ec2e75ec2e7", "5ec2e75ec2e7"),
        ("password = hunter2 and more", "hunter2"),
        ("password hunter2", "hunter2"),
        ("    bmc_password  hunter2 ", "hunter2"),
        ("user admin secret 'hunter2' level 15", "hunter2"),
        ('"api_key": "abc-def",', "abc-def"),
        ("psk=correct horse", "correct horse"),
        ("wifi-sec.psk-flags=0x5", "0x5"),
        ("curl --token abcdef https://x", "abcdef"),
        ("baseurl=https://user:pass@repo.example.org/ofed", "user:pass"),
        ("Authorization: Bearer abcdef", "abcdef"),
        ("snmp community: hidden-word", "hidden-word"),
    ],
)
def test_secrets_go_and_the_rest_stays(line: str, secret: str) -> None:
    found = redact("before\n%s\nafter" % line)
    assert secret not in found.text and HIDDEN in found.text
    assert found.text.startswith("before\n") and found.text.endswith("\nafter")
    assert found.removed == 1


@pytest.mark.parametrize(
    "line",
    [
        "sm_key 0x0000000000000000",
        "m_key_lease_period 0",
        "Mkey:............................<not displayed>",
        "guid 0x0002c90300001001",
        "P_Key 0x7fff",
        "pkey=0x8001",
        "q_key 0x0b1b",
        "default_p_key 0xffff",
        "tokenring=5",
        "the password expires in 5 days",
        "Port GUID: 0x506b4b0300820910",
        "https://repo.example.org/ofed",
        "# a keyboard, a monkey and a token ring",
        "key-mgmt=wpa-psk",
        "auth: {key-management: psk}",
        "PublicKey = " + "aGVsbG8gd29ybGQgdGhpcyBpcyBhIGtleSBvZiAzMiE=",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHVudGVyMi1TdzByZGZpc2g root@node1",
        "bypass=1",
        "passthrough: on",
        "  Passive: yes",
        "KeyboardInterrupt: x",
        "keyid: 0x12",
        "node.session.auth.authmethod = CHAP",
        "https://repo.example.org:8443/ofed/24.10",
        "git@github.com:site/inventory.git",
        "0000:03:00.0 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6]",
        "link/infiniband 00:00:10:29:fe:80:00:00:00:00:00:00:50:6b:4b:03:00:82:09:10 brd 00:ff:ff",
        "PSID: MT_0000000223",
        "root:x:0:0:root:/root:/bin/bash",
        "-W- lid=0x0001 secretary ok",
        "Interrupt: pin A routed to IRQ 16",
        "2026-01-01T10:00:00 node1 kernel: mlx5_core 0000:03:00.0: Port module event: module 0, Cable plugged",
        "MemTotal:       65780000 kB",
        "CA 'mlx5_0' CA type: MT4123",
        "inet 10.0.0.1/24 scope global ib0",
        "CPU basic block",
        "Node GUID: 0x506b4b0300820910 (node1@rack2)",
    ],
)
def test_what_is_no_secret_stays(line: str) -> None:
    assert redact(line) == (line, 0)


S = "hunter2-Sw0rdfish"
B64 = "aGVsbG8gd29ybGQgdGhpcyBpcyBhIGtleSBvZiAzMiE="
# Text around the secret, which %s stands for.
FORMS = {
    "NetworkManager": (
        "psk=%s",
        "wep-key0=%s",
        "wep-key3=%s",
        "leap-password=%s",
        "password=%s",
        "private-key-password=%s",
        "phase2-private-key-password=%s",
        "password-raw=%s",
        "preshared-key=%s",
        "private-key=%s",
        "mka-cak=%s",
        "pin=%s",
        "Xauth password=%s",
        "IPSec secret=%s",
        "802-11-wireless-security.psk: %s",
        "vpn.secrets.password:  %s",
    ),
    "ifcfg": ("KEY=s:%s", "KEY1=s:%s", "KEY4=%s", "KEY_PASSPHRASE1=%s", "WPA_PSK='%s'", "IEEE_8021X_PASSWORD=%s", "IEEE_8021X_PRIVATE_KEY_PASSWORD=%s"),
    "wpa_supplicant": ('psk="%s"', "wep_key0=%s", 'sae_password="%s"', 'private_key_passwd="%s"', "mka_cak=%s", "password=hash:%s"),
    "interfaces": ("    wpa-psk %s", "    wireless-key1 %s", "    wpa-wep-key0 %s", "    wireless-key s:%s"),
    "netplan": ('password: "%s"', 'auth: {key-management: psk, password: "%s"}', 'client-key-password: "%s"'),
    "iSCSI": (
        "node.session.auth.password = %s",
        "node.session.auth.password_in = %s",
        "discovery.sendtargets.auth.password = %s",
        "InitiatorSecret=%s",
        "TargetSecret: %s",
        "OutgoingUser name %s",
    ),
    "Slurm": ("StoragePass=%s", "AccountingStoragePass=%s", "JobCompPass=%s", "SLURM_JWT=eyJhbGciOiJIUzI1NiJ9.%s.x", "AuthCredential MUNGE:AwQFAAD%s0:"),
    "URL": (
        "baseurl=https://user:%s@repo.example.org/ofed",
        "URIs: https://user:p@%s@repo.example.org/ofed",
        "proxy=http://user:%s@proxy:3128/",
        "user:p@%s@repo.example.org",
        "deb https://user:a/%s@repo.example.org/ofed ./",
        "https://store.example.org/x?sig=%s&a=b",
        "curl -u user:%s https://x",
        "curl --user user:%s https://x",
        "curl --proxy-user=user:%s https://x",
    ),
    "command": (
        "ipmitool -H bmc -U admin -P %s power on",
        "sshpass -p %s ssh node1",
        "mysql -u root -p%s",
        "mount -o username=a,password=%s,vers=3",
        "tool --api-key %s --x",
        "tool --auth-token=%s",
        "ldapsearch -D cn=a -w %s",
    ),
    "header": (
        "Authorization: Basic %s",
        "authorization: bearer %s",
        "X-Auth-Token: %s",
        "X-API-Key: %s",
        "Cookie: id=%s",
        "Set-Cookie: id=%s",
        "sent Bearer %s",
    ),
    "cloud": (
        "aws_secret_access_key = %s",
        "AWS_SESSION_TOKEN=%s",
        "AccountKey=%s",
        '"auth": "aHVudGVyMi1TdzByZGZpc2g="',
        "nvapi-%s-x",
        "ghp_%s0000",
        "glpat-%s",
        "client-key-data: %s",
        '"clientSecret": "%s"',
        "//registry/:_authToken=%s",
        "AKIAIOSFODNN7EXAMPLE",
    ),
    "hash": (
        "root:$6$salt$%s:19000:0:99999:7:::",
        "user:$y$j9T$abc$%s:19000::::::",
        "enable secret 5 $1$abcd$%s",
        "admin:{SSHA}aHVudGVyMi1TdzByZGZpc2g=",
        "rootpw --iscrypted $5$a$%s",
    ),
    "other": (
        "BMC_PASS=%s",
        "ansible_become_pass: %s",
        "ansible_ssh_password: %s",
        "bindpw %s",
        "rootpw %s",
        "requirepass %s",
        "rocommunity %s 10.0.0.0/8",
        "rwcommunity %s",
        "com2sec local default %s",
        'createUser admin SHA "%s" AES',
        "machine repo login user password %s",
        "1 SHA1 HEX:%s",
        "<password>%s</password>",
        "{'passphrase': '%s'}",
        '{\\"token\\": \\"%s\\"}',
        'Environment="APP_TOKEN=%s"',
        "psk => %s",
    ),
    "WireGuard": ("PrivateKey = %s", "PresharedKey=%s", "key: " + B64, "private: " + B64, 'shared: "%s"' % B64),
}
LINES = [(kind, form) for kind, forms in FORMS.items() for form in forms]


@pytest.mark.parametrize(("kind", "form"), LINES)
def test_secrets_go_in_every_form(kind: str, form: str) -> None:
    line = form.replace("%s", S)
    found = redact("before\n%s\nafter" % line)
    for secret in (S, B64, "aHVudGVyMi1TdzByZGZpc2g", "AKIAIOSFODNN7EXAMPLE"):
        assert secret not in found.text
    assert found.removed == 1 and HIDDEN in found.text
    assert found.text.startswith("before\n") and found.text.endswith("\nafter")


def test_there_are_many_forms() -> None:
    assert len(LINES) > 100


@pytest.mark.parametrize("head", ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "OpenVPN Static key V1"])
def test_blocks_of_keys_go(head: str) -> None:
    found = redact("a\n-----BEGIN %s-----\n%s\n-----END %s-----\nb" % (head, S, head)).text
    assert S not in found and found.startswith("a\n") and found.endswith("\nb")


def test_a_private_key_goes_as_a_whole() -> None:
    text = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----\nb"
    found = redact(text)
    assert found.text.split("\n") == ["a", *[HIDDEN] * 4, "b"]
    # Without the end mark, everything that follows is redacted.
    assert "MIIE" not in redact(text.partition("abcd")[0] + "\nmore").text


def test_what_is_known_to_be_secret_goes_wherever_it_stands() -> None:
    known = known_secrets(["0x5eC2e75eC2e75eC2", "swordfish", "", "abc", None])
    assert known is not None
    text = "key 5ec2e75ec2e75ec2, 0x5EC2E75EC2E75EC2, %d, Swordfish, abc" % 0x5EC2E75EC2E75EC2
    assert redact(text, known).text == "key %s, %s, %s, %s, abc" % ((HIDDEN,) * 4)
    assert known_secrets([]) is None and known_secrets(["", "0x0"]) is None


@given(st.text())
def test_any_text_has_as_many_lines_as_before(text: str) -> None:
    assert redact(text).text.count("\n") == text.count("\n")


PARTS = [
    "user:p@",
    "a:b@c",
    "ipmitool ",
    "ipmitool -P ",
    "eyJ",
    "$6$",
    "login a ",
    "bearer ",
    "MUNGE:",
    "key: ",
    "-u a:",
    "com2sec ",
    "?sig=",
    "a.",
    "--aa ",
    "password",
    "sm_key .",
    "sm_key:",
    "://a",
    "-----BEGIN ",
    "token ",
    "token_",
    "a_token '",
    "x_",
    "_key",
    "seed ",
    "authorization:",
    "a",
    "0x",
    "= ",
]


@pytest.mark.parametrize("part", PARTS)
def test_the_time_grows_with_the_text(part: str) -> None:
    def seconds(times: int) -> float:
        text = part * times
        started = time.process_time()
        redact(text)
        return time.process_time() - started

    assert any(seconds(8000) < 100 * seconds(500) + 0.01 for _attempt in range(5))
