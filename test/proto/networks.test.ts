/** Addresses and networks, as keys and the configuration file name them. */
import { expect, test } from "@jest/globals";
import { Networks, isNetwork } from "@sluice/proto/lib/networks/networks.js";

test.each<[string, string, boolean]>([
  ["192.0.2.1", "192.0.2.1", true],
  ["192.0.2.1", "192.0.2.2", false],
  ["192.0.2.0/31", "192.0.2.1", true],
  ["192.0.2.0/31", "192.0.2.2", false],
  ["192.0.2.77/24", "192.0.2.1", true],
  ["0.0.0.0/0", "203.0.113.5", true],
  ["0.0.0.0/0", "2001:db8::1", false],
  ["::/0", "2001:db8::1", true],
  ["::/0", "192.0.2.1", false],
  ["::/1", "192.0.2.1", false],
  ["::/64", "192.0.2.1", false],
  ["::/96", "192.0.2.1", false],
  ["::fffe:0:0/95", "192.0.2.1", false],
  ["::/1", "2001:db8::1", true],
  ["::ffff:0:0/96", "192.0.2.1", true],
  ["::ffff:0:0/96", "2001:db8::1", false],
  ["2001:db8::/33", "2001:db8:7fff::1", true],
  ["2001:db8::/33", "2001:db8:8000::1", false],
  ["2001:DB8:0::0:1", "2001:db8::1", true],
  ["::ffff:192.0.2.0/120", "192.0.2.9", true],
  ["::ffff:192.0.2.1", "192.0.2.1", true],
  ["192.0.2.1", "", false],
  ["192.0.2.1", "no address", false],
])("the network %s contains the address %j: %s", (network, address, expected) => {
  expect(isNetwork(network)).toBe(true);
  expect(new Networks(["198.51.100.1", network]).has(address)).toBe(expected);
});

test.each([
  "",
  "localhost",
  "192.0.2",
  "192.0.2.256",
  "192.0.2.01",
  "192.0.2.1/33",
  "192.0.2.1/",
  "192.0.2.1/08",
  "192.0.2.1/-1",
  "192.0.2.1/8/8",
  "192.0.2.1-192.0.2.9",
  "192.0.2.*",
  " 192.0.2.1",
  "192.0.2.1 ",
  "192.0.2.1:80",
  "[2001:db8::1]",
  "2001:db8::1%eth0",
  "2001:db8::1::2",
  "2001:db8::/129",
  "::ffff:0.0.0.0/95",
])("a network may not be written as %j", (text) => {
  expect(isNetwork(text)).toBe(false);
});
