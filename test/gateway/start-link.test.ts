/** The link that signs in to the console at the start. */
import { expect, test } from "@jest/globals";
import { StartLink } from "@sluice/gateway/admin/console-api/start-link.js";
import { makeStartLink } from "@sluice/local/start-link.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";

const managementKey = "mk-sl-none";
const made = () => {
  const { token, variable } = makeStartLink(managementKey);
  let now = Date.now();
  return { token, variable, link: new StartLink(variable, () => now), wait: (ms: number) => (now += ms) };
};

test("a link of the start signs in only once", () => {
  const { token, link } = made();
  expect(link.take(token, "127.0.0.1")).toBe(hashKey(managementKey));
  expect(link.take(token, "127.0.0.1")).toBeUndefined();
});

test("a wrong token does not use up a link of the start", () => {
  const { token, link } = made();
  expect(link.take(`${token}x`, "127.0.0.1")).toBeUndefined();
  expect(link.take(token, "::1")).toBe(hashKey(managementKey));
});

test("a link of the start expires after a quarter of an hour", () => {
  const { token, link, wait } = made();
  wait(16 * 60_000);
  expect(link.take(token, "127.0.0.1")).toBeUndefined();
});

test("a link of the start does not work on another machine", () => {
  const { token, link } = made();
  expect(["10.0.0.1", "::ffff:10.0.0.1", "fe80::1", ""].map((address) => link.take(token, address))).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(link.take(token, "::ffff:127.0.0.1")).toBe(hashKey(managementKey));
});

test("the gateway keeps neither the token nor the key of a link of the start", () => {
  const { token, variable } = made();
  expect(variable).not.toContain(token);
  expect(variable).not.toContain(managementKey);
});
