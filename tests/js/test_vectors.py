"""The vectors of the specification, recomputed by the JavaScript verifier."""

from __future__ import annotations

import json

from js.node import CLIENT, ROOT, run


def test_javascript_computes_every_vector() -> None:
    """Streams, shuffles, seeds, seals, records, acts and heads; the script counts what it has compared."""
    done = run(ROOT / "tests" / "js" / "vectors.mjs", ROOT / "docs" / "spec" / "vectors.json")
    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        "chance": 300,
        "shuffle": 5,
        "seeds": 13,
        "seals": 4,
        "records": 2,
        "acts": 14,
        "heads": 6,
        "files": 3,
        "timers": 27,
    }


def test_the_hash_is_sha_256() -> None:
    """For every length up to three blocks, as WebCrypto says."""
    script = f"""
    import {{ hmac, sha256 }} from {(CLIENT / "lib" / "sha256.mjs").as_uri()!r};
    import {{ hex }} from {(CLIENT / "lib" / "bytes.mjs").as_uri()!r};
    let wrong = 0;
    for (let length = 0; length <= 200; length++) {{
      const data = crypto.getRandomValues(new Uint8Array(length));
      const key = crypto.getRandomValues(new Uint8Array(length + 1));
      const usages = ["sign"];
      const imported = await crypto.subtle.importKey("raw", key, {{ name: "HMAC", hash: "SHA-256" }}, false, usages);
      const mac = new Uint8Array(await crypto.subtle.sign("HMAC", imported, data));
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
      wrong += hex(sha256(data)) !== hex(digest);
      wrong += hex(hmac(key, data)) !== hex(mac);
    }}
    console.log(wrong);
    """
    done = run("--input-type=module", "-e", script)
    assert (done.stdout, done.stderr) == ("0\n", "")
