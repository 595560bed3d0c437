/** Attacks 24 to 34: text that two parsers read differently. */
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { AttackedInstallation, expectFault, parseBody } from "./attacked.ts";

let attacked: AttackedInstallation;
beforeAll(async () => {
  attacked = await AttackedInstallation.start();
});
afterEach(() => attacked.stands());
afterAll(() => attacked?.stop());

const echo = { model: "sluice/echo", input: "x" };
const words = "𝒳";
const register = (user: string) => attacked.manage("POST", "/end-users", { user });

test("attack 24: bytes outside UTF-8 are refused", async () => {
  for (const bytes of ["ff", "c0af", "eda080", "f4908080"]) {
    const body = ['{"model":"sluice/echo","input":"', '"}'].map((text) => Buffer.from(text));
    expectFault(await attacked.respond(Buffer.concat([body[0]!, Buffer.from(bytes, "hex"), body[1]!])), 400, /UTF-8/);
  }
});

test("attack 25: a lone surrogate in user is refused, since it would merge two users", async () => {
  expectFault(
    await attacked.respond(String.raw`{"model":"sluice/echo","input":"x","user":"\ud800"}`),
    400,
    /surrogate/,
  );
});

test("attack 26: a surrogate pair, one half in each of two strings, is refused", async () => {
  expectFault(await attacked.respond(String.raw`{"model":"sluice/echo","input":"\ud835","user":"\udcb3"}`), 400);
});

test("attack 27: NUL in user, metadata, session_id and key_hashes is refused", async () => {
  const nul = "a\0b";
  for (const fields of [{ user: nul }, { metadata: { a: nul } }, { session_id: nul }]) {
    expectFault(await attacked.respond({ ...echo, ...fields }), 400, /NUL/);
  }
  const path = "/guardrails/550e8400-e29b-41d4-a716-446655440000/assignments/keys";
  expectFault(await attacked.manage("POST", path, { key_hashes: [nul] }), 400, /NUL/);
});

test("attack 28: disguised white space around a user is refused", async () => {
  for (const space of ["\ufeff", "\u00a0", "\u200b", "\u3000", "\u2028", "\u0085"]) {
    for (const user of [`${space}a`, `a${space}`]) expectFault(await register(user), 400, /white space/);
  }
});

test("attack 29: a composed and a decomposed spelling of a name are two users", async () => {
  expect((await register("caf\u00e9")).status).toBe(201);
  expectFault(await attacked.manage("PATCH", "/end-users/cafe%CC%81", { is_active: false }), 404);
  expect((await register("cafe\u0301")).status).toBe(201);
});

test("attack 30: lengths are counted in code points", async () => {
  expect((await register(words.repeat(512))).status).toBe(201);
  expectFault(await register(words.repeat(513)), 400, /512/);
  for (const field of ["user", "session_id"]) {
    expect((await attacked.respond({ ...echo, [field]: words.repeat(256) })).status).toBe(200);
    expectFault(await attacked.respond({ ...echo, [field]: words.repeat(257) }), 400, /256/);
  }
});

test("attack 31: each combining mark of a letter counts for the length of a user", async () => {
  expect((await register(`e${"\u0301".repeat(511)}`)).status).toBe(201);
  expectFault(await register(`e${"\u0301".repeat(2_000)}`), 400, /512/);
});

test("attack 32: a direction override character stays out of the logs", async () => {
  expect((await register("\u202egnp.exe")).status).toBe(201);
  expect((await attacked.respond({ ...echo, user: "\u202egnp.exe", metadata: { a: "\u202eb" } })).status).toBe(200);
  expectFault(await attacked.respond({ ...echo, model: "\u202eohce/eciuls" }), 404);
  expect(await attacked.installation.allLogged()).not.toContain("\u202e");
});

test("attack 33: letters that some case rules map to k and i stay different", async () => {
  const made = await attacked.makeKey();
  const kelvin = hashKey(made).replace(/^./, "\u212a");
  expect((await attacked.manage("GET", `/keys/${encodeURIComponent(kelvin)}`)).status).toBe(404);
  for (const only of ["slu\u0131ce", "slu\u0130ce", "SLU\u0130CE"]) {
    expectFault(await attacked.respond({ ...echo, provider: { only: [only] } }), 404);
  }
});

test("attack 34: a model slug with a look-alike letter is refused", async () => {
  const answer = await attacked.respond({ ...echo, model: "\u0455luice/echo" });
  expect([400, 404]).toContain(answer.status);
  expectFault(answer, (parseBody(answer) as { error: { code: number } }).error.code);
});
