/** Attacks 1 to 23: JSON nested too deep, too wide, read differently by other parsers, or malformed. */
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { AttackedInstallation, expectFault, jsonHeader, parseBody } from "./attacked.ts";

let attacked: AttackedInstallation;
beforeAll(async () => {
  attacked = await AttackedInstallation.start();
});
afterEach(() => attacked.stands());
afterAll(() => attacked?.stop());

const megabyte = 1024 * 1024;
/** A valid request with one more member, given as text. */
const asking = (member: string) => `{"model":"sluice/echo","input":"x",${member}}`;
const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
/** Depth counts the object of the request too. */
const schemaOfDepth = (depth: number) =>
  asking(`"tool_choice":"none","tools":[{"type":"function","name":"f","parameters":{"x":${nested(depth - 4)}}}]`);
const keysOf = (count: number, value: string) => Array.from({ length: count }, (_, n) => `"k${n}":${value}`).join(",");

const refused: [number, string, () => string | Uint8Array][] = [
  [1, "a million brackets", () => "[".repeat(1_000_000)],
  [2, "a hundred thousand objects, each in the one before", () => '{"a":'.repeat(100_000)],
  [3, "depth 65", () => schemaOfDepth(65)],
  [4, "thirty megabytes of empty arrays", () => asking(`"x":[${"[],".repeat(10 * megabyte)}[]]`)],
  [5, "1.2 million keys", () => `{${keysOf(1_200_000, "1")}}`],
  [6, "a key of ten megabytes", () => asking(`"${"k".repeat(10 * megabyte)}":1`)],
  [7, "a key given twice", () => asking('"model":"other"')],
  [8, "a key given twice, once in escapes", () => asking(String.raw`"mod\u0065l":"other"`)],
  [12, "a number beyond all bounds", () => asking('"temperature":1e400')],
  [13, "an integer beyond all bounds", () => asking('"max_output_tokens":12345678901234567890')],
  [14, "a fraction for an integer", () => asking('"max_output_tokens":1.5')],
  [15, "NaN", () => asking('"temperature":NaN')],
  [15, "Infinity", () => asking('"temperature":Infinity')],
  [15, "a comma too many", () => '{"model":"sluice/echo","input":"x",}'],
  [15, "a comment", () => asking('"top_p":1/* half */')],
  [15, "single quotes", () => "{'model':'sluice/echo','input':'x'}"],
  [16, "a byte order mark", () => `\u{FEFF}{"model":"sluice/echo","input":"x"}`],
  [17, "nothing", () => ""],
  [17, "null", () => "null"],
  [17, "an array", () => "[]"],
  [17, "a string", () => '"x"'],
  [17, "a number", () => "42"],
  [18, "two values", () => '{"model":"sluice/echo","input":"x"}{"model":"sluice/echo","input":"x"}'],
  [19, "NUL in a string", () => '{"model":"sluice/echo","input":"a\0b"}'],
  [19, "a line break in a string", () => '{"model":"sluice/echo","input":"a\nb"}'],
  [20, "UTF-16", () => Buffer.from('{"model":"sluice/echo","input":"x"}', "utf16le")],
  [22, "an object where a text, a number or an array is expected", () => asking('"image_config":{"a":{"b":1}}')],
  [23, "17 pairs of metadata", () => asking(`"metadata":{${keysOf(17, '"v"')}}`)],
  [23, "a key of 65 characters", () => asking(`"metadata":{"${"k".repeat(65)}":"v"}`)],
  [23, "a key with a bracket", () => asking('"metadata":{"a[0]":"v"}')],
  [23, "a value of 513 characters", () => asking(`"metadata":{"a":"${"v".repeat(513)}"}`)],
  [23, "a value that is no text", () => asking('"metadata":{"a":1}')],
  [23, "an empty key", () => asking('"metadata":{"":"v"}')],
];
test.each(refused)("attack %i: %s is 400", async (_, __, body) => {
  expectFault(await attacked.respond(body()), 400);
});

const types: [string, string[]][] = [
  ["none", []],
  ["text", ["Content-Type: text/plain"]],
  ["another charset", ["Content-Type: application/json; charset=x"]],
  ["two in one", ["Content-Type: application/json, text/html"]],
];
test.each(types)("attack 21: a request with the content type %s is 400", async (_, headers) => {
  const lines = [`Authorization: Bearer ${attacked.installation.apiKey}`, ...headers];
  const answer = await attacked.send("POST", "/api/v1/responses", lines, '{"model":"sluice/echo","input":"x"}');
  expectFault(answer, 400, /content-type/i);
});

test("attack 3: JSON nested 64 deep is read", async () => {
  expect((await attacked.respond(schemaOfDepth(64))).status).toBe(200);
});

const poisons: [number, string][] = [
  [9, '"__proto__":{"is_management":true}'],
  [10, '"constructor":{"prototype":{"x":1}}'],
  [11, '"image_config":{"__proto__":"polluted"}'],
  [11, '"tool_choice":"none","tools":[{"type":"function","name":"f","parameters":{"__proto__":{"x":1}}}]'],
];
test.each(poisons)(
  "attack %i: a member named after a prototype changes no object of the process: %s",
  async (_, member) => {
    expect([200, 400]).toContain((await attacked.respond(asking(member))).status);
    const after = parseBody(await attacked.respond(asking('"metadata":{}')));
    expect(after).toMatchObject({ status: "completed", metadata: {} });
    // Earlier requests must not pollute prototypes: otherwise an inference key could administer.
    const patch = await attacked.send(
      "PATCH",
      "/api/v1/end-users/bob",
      [`Authorization: Bearer ${attacked.installation.apiKey}`, jsonHeader],
      '{"is_active":true}',
    );
    expectFault(patch, 403, /Only management keys/);
  },
);

test("attack 13: a long integer in the schema of a tool passes unrounded", async () => {
  const tool = '{"type":"function","name":"f","parameters":{"type":"object","maximum":12345678901234567890}}';
  const answer = await attacked.respond(asking(`"tool_choice":"none","tools":[${tool}]`));
  expect([answer.status, answer.body.includes("12345678901234567890")]).toEqual([200, true]);
});

test.each(["1.0", "1e0", "1"])("attack 14: %s is accepted as an integer", async (number) => {
  const answer = await attacked.respond(asking(`"max_tool_calls":${number}`));
  expect(parseBody(answer)).toMatchObject({ status: "completed" });
});

test("attack 14: minus zero is refused as a number of tokens", async () => {
  expectFault(await attacked.respond(asking('"max_output_tokens":-0')), 400, /max_output_tokens/);
});

test("attack 22: 500 keys of image_config are accepted as data", async () => {
  expect((await attacked.respond(asking(`"image_config":{${keysOf(500, "[1,2]")}}`))).status).toBe(200);
});
