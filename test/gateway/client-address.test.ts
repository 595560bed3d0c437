/** The address of a client behind proxies, from a header that anybody can send. */
import type { IncomingMessage } from "node:http";
import { expect, test } from "@jest/globals";
import { Networks, clientAddress } from "@sluice/gateway/edge/http/client-address.js";

const proxies = new Networks(["10.0.0.0/8", "2001:db8:ff::/48", "192.0.2.9"]);

const addressOf = (remoteAddress: string, forwarded?: string) =>
  clientAddress(
    {
      socket: { remoteAddress },
      headers: { ...(forwarded !== undefined && { "x-forwarded-for": forwarded }) },
    } as IncomingMessage,
    proxies,
  );

test.each<[string, string, string | undefined, string]>([
  ["without the header, the sender", "10.0.0.1", undefined, "10.0.0.1"],
  ["from a sender that is no proxy, the sender", "203.0.113.5", "198.51.100.7", "203.0.113.5"],
  ["behind a proxy, the entry", "10.0.0.1", "198.51.100.7", "198.51.100.7"],
  ["behind two proxies, the entry before them", "10.0.0.1", "198.51.100.7, 192.0.2.9", "198.51.100.7"],
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
  ["of an empty header, the proxy", "10.0.0.1", "", "10.0.0.1"],
  ["of a proxy on a socket for both versions, the entry", "::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"],
])("the address of a client is found: %s", (_case, sender, forwarded, expected) => {
  expect(addressOf(sender, forwarded)).toBe(expected);
});

test("a long header is read at its end", () => {
  const made = Array.from({ length: 10_000 }, () => "10.1.1.1").join(", ");
  expect(addressOf("10.0.0.1", `198.51.100.7, ${made}`)).toBe("10.1.1.1");
});
