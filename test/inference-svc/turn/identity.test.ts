/** The user identifier for a provider: never the client's own value, and always the same for the same user. */
import { createHmac } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import { Identities } from "@sluice/inference-svc/turn/identity.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

const asked = (fields: { safetyIdentifier?: string; user?: string } = {}) => create(RunTurnRequestSchema, fields);
const hash = (text: string) => createHmac("sha256", "secret").update(text).digest("base64url");

test.each([
  [{ safetyIdentifier: "s", user: "u" }, "key\0s"],
  [{ user: "u" }, "key\0u"],
  [{}, "key\0"],
])("the end user of %j has a stable hash", (fields, identity) => {
  const identities = new Identities("secret");
  expect(identities.hashUser("key", asked(fields))).toBe(hash(identity));
  // The second call returns the cached identifier.
  expect(identities.hashUser("key", asked(fields))).toBe(hash(identity));
});

test("an end user has another identifier for another key or another secret", () => {
  const own = new Identities("secret").hashUser("key", asked({ user: "u" }));
  expect(new Identities("secret").hashUser("other", asked({ user: "u" }))).not.toBe(own);
  expect(new Identities("another").hashUser("key", asked({ user: "u" }))).not.toBe(own);
});

test("many end users, and long names, have different identifiers", () => {
  const identities = new Identities("secret");
  const users = Array.from({ length: 5_000 }, (_, n) => `u${n}`).concat("l".repeat(10_000), "u0");
  for (const user of users) identities.hashUser("key", asked({ user }));
  for (const user of users.slice(-3)) expect(identities.hashUser("key", asked({ user }))).toBe(hash(`key\0${user}`));
});
