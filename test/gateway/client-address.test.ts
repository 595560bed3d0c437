/** The address of a client behind proxies is read from a header that every client can send. */
import { describe, expect, test } from "@jest/globals";
import { clientAddress } from "@sluice/gateway/edge/http/client-address.js";
import { Networks } from "@sluice/proto/lib/networks/networks.js";

const proxies = new Networks(["10.0.0.0/8", "2001:db8:ff::/48", "192.0.2.9", "::ffff:198.18.0.0/112"]);

test.each<[string, string, string | readonly string[] | undefined, string]>([
  ["without the header, the sender", "10.0.0.1", undefined, "10.0.0.1"],
  ["from a sender that is no proxy, the sender", "203.0.113.5", "198.51.100.7", "203.0.113.5"],
  ["behind a proxy, the entry", "10.0.0.1", "198.51.100.7", "198.51.100.7"],
  ["behind two proxies, the entry before them", "10.0.0.1", "198.51.100.7, 192.0.2.9", "198.51.100.7"],
  ["of two headers, the last entry", "10.0.0.1", ["203.0.113.5", "198.51.100.7"], "198.51.100.7"],
  [
    "with entries made up by the client, the entry of the proxy",
    "10.0.0.1",
    "1.1.1.1, 10.9.9.9, 198.51.100.7",
    "198.51.100.7",
  ],
  ["of proxies alone, the first one", "10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3"],
  ["behind something that is no address, the proxy", "10.0.0.1", "198.51.100.7, unknown", "10.0.0.1"],
  ["with a port, the address", "10.0.0.1", "198.51.100.7:4711", "198.51.100.7"],
  ["of version 6 with a port, the address", "2001:db8:ff::1", "[2001:db8:1::7]:4711", "2001:db8:1::7"],
  ["of version 6 in brackets, the address", "10.0.0.1", "[2001:db8:1::7]", "2001:db8:1::7"],
  ["of version 6 in a long spelling, the short one", "10.0.0.1", "2001:0DB8:1:0:0:0:0:7", "2001:db8:1::7"],
  ["of version 6 with a zone, the address alone", "10.0.0.1", "fe80::1%eth0", "fe80::1"],
  ["of an empty header, the proxy", "10.0.0.1", "", "10.0.0.1"],
  ["after a comma without an entry, the proxy", "10.0.0.1", "198.51.100.7, ", "10.0.0.1"],
  ["of a proxy on a socket for both versions, the entry", "::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"],
  ["of a sender on a socket for both versions, its IPv4 address", "::ffff:203.0.113.5", undefined, "203.0.113.5"],
  ["within IPv6, the IPv4 address", "10.0.0.1", "::ffff:c633:6407", "198.51.100.7"],
  ["behind a proxy that is configured within IPv6, the entry", "198.18.0.1", "198.51.100.7", "198.51.100.7"],
])("the address of a client is determined: %s", (_case, sender, forwarded, expected) => {
  expect(clientAddress(sender, forwarded, proxies)).toBe(expected);
});

test("a long X-Forwarded-For header is read at its end", () => {
  const made = Array.from({ length: 10_000 }, () => "10.1.1.1").join(", ");
  expect(clientAddress("10.0.0.1", `198.51.100.7, ${made}`, proxies)).toBe("10.1.1.1");
});

test("a closed connection has no address", () => {
  expect(clientAddress(undefined, "198.51.100.7", proxies)).toBe("");
});

describe("a sender other than a trusted proxy keeps its address", () => {
  test.each([
    "10.0.0.1",
    "10.0.0.1, 10.0.0.2",
    "::1",
    "[::1]:80",
    "::ffff:10.0.0.1",
    "10.0.0.1:80",
    "",
    ",",
    " , 10.0.0.1",
    "unknown",
    "_hidden",
    'for="[2001:db8::1]:4711"',
    "10.0.0.1;10.0.0.2",
    "0x0a000001",
    "010.0.0.1",
    "10.1",
    "10.0.0.1/8",
    "::ffff:0:0/96",
    "fe80::1%lo",
    "\t10.0.0.1\t",
    "10.0.0.1 ".repeat(1_000),
    "9".repeat(10_000),
  ])("with the header %j", (forwarded) => {
    expect(clientAddress("203.0.113.5", forwarded, proxies)).toBe("203.0.113.5");
    expect(clientAddress("::ffff:203.0.113.5", [forwarded, "10.0.0.1"], proxies)).toBe("203.0.113.5");
  });
});
