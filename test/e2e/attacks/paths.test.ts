/** Attacks 35 to 55: paths that a proxy in front of the gateway may read differently. */
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { AttackedInstallation, expectFault, jsonHeader, parseBody } from "./attacked.ts";
import { sendRaw } from "../../support/raw-http.ts";

let attacked: AttackedInstallation;
beforeAll(async () => {
  attacked = await AttackedInstallation.start();
  for (const user of ["a/b", "a%2Fb", "a", ".", "..", "a+b", "a;b=c", "a?b", "a#b", "a\\b", "a\r\nX-Y:1"]) {
    expect((await attacked.manage("POST", "/end-users", { user })).status).toBe(201);
  }
});
afterEach(() => attacked.stands());
afterAll(() => attacked?.stop());

const patch = (segment: string, path = "/end-users/") =>
  attacked.manage("PATCH", `${path}${segment}`, { is_active: true });

/** Number of the attack, the segment after /end-users/, and the user named by it. */
const names: [number, string, string][] = [
  [35, "a%2Fb", "a/b"],
  [37, "a%252Fb", "a%2Fb"],
  [46, "a+b", "a+b"],
  [47, "a;b=c", "a;b=c"],
  [47, "a%3Fb", "a?b"],
  [47, "a%23b", "a#b"],
  [47, "a%5Cb", "a\\b"],
  [54, "a?user=other", "a"],
];
test.each(names)("attack %i: %s in a path is decoded once", async (_, segment, user) => {
  const answer = await patch(segment);
  expect([answer.status, parseBody(answer)]).toMatchObject([200, { data: { user } }]);
});

const refused: [number, string, number][] = [
  [36, "a/b", 404],
  ...[".", "..", "%2e", "%2E%2E", ".%2e"].map((dots): [number, string, number] => [38, dots, 404]),
  [39, "a%00b", 400],
  [40, "%C0%AF", 400],
  [41, "%ED%A0%80", 400],
  [42, "%", 400],
  [43, "%zz", 400],
  [44, "%u0041", 400],
  ...["%20a", "a%20", "%C2%A0a"].map((spaced): [number, string, number] => [45, spaced, 400]),
  [49, "", 404],
  [50, "a/", 404],
  [53, "a".repeat(8_192), 400],
  [53, "a".repeat(20_000), 400],
];
test.each(refused)("attack %i: %.40s in a path is refused", async (_, segment, status) => {
  expectFault(await patch(segment), status);
});

test("attack 38: dots as a user in a path are refused with a hint at the list, even for a registered user", async () => {
  for (const dots of [".", ".."]) {
    expectFault(await patch(encodeURIComponent(dots)), 404, /list/);
    const found = await attacked.manage("GET", `/end-users?user=${dots}`);
    expect(parseBody(found)).toMatchObject({ total_count: 1, data: [{ user: dots }] });
  }
});

test("attack 48: line breaks in a user end no header and no line of a log", async () => {
  const answer = await patch("a%0d%0aX-Y:1");
  expect([answer.status, answer.headers["x-y"], parseBody(answer)]).toMatchObject([
    200,
    undefined,
    { data: { user: "a\r\nX-Y:1" } },
  ]);
  expect(await attacked.installation.allLogged()).not.toMatch(/^X-Y:1/m);
});

test("attack 51: a path in another case is another path", async () => {
  for (const path of ["/API/v1/end-users/a", "/api/v1/END-USERS/a", "/api/V1/end-users/a"]) {
    const headers = [`Authorization: Bearer ${attacked.installation.managementKey}`, jsonHeader];
    expectFault(await attacked.send("PATCH", path, headers, '{"is_active":true}'), 404);
  }
});

test("attack 52: no path is shortened, and an absolute URL means this host", async () => {
  const { managementKey, ports } = attacked.installation;
  const lines = (target: string) =>
    [
      `PATCH ${target} HTTP/1.1`,
      "Host: sluice",
      `Authorization: Bearer ${managementKey}`,
      jsonHeader,
      "Content-Length: 18",
      "",
      '{"is_active":true}',
    ].join("\r\n");
  for (const target of ["//api/v1/../v1/end-users/a", "/x/../api/v1/end-users/a", "/api/v1//end-users/a"]) {
    expectFault(await sendRaw(ports.gateway, lines(target)), 404);
  }
  expectFault(await sendRaw(ports.gateway, lines("http://evil/api/v1/end-users/a")), 400, /host/);
  expect((await sendRaw(ports.gateway, lines("http://sluice/api/v1/end-users/a"))).status).toBe(200);
});

test("attack 55: guardrail ids with paths, of extreme length, or in another case identify no guardrail", async () => {
  const made = await attacked.manage("POST", "/guardrails", { name: "mine" });
  const { data } = parseBody(made) as { data: { id: string } };
  for (const id of ["../keys", "%2e%2e%2fx", "x".repeat(10_000), data.id.toUpperCase().replace(/^\d+$/, "A")]) {
    if (id === data.id) continue;
    expectFault(await attacked.manage("POST", `/guardrails/${id}/assignments/keys`, { key_hashes: ["a"] }), 404);
  }
});
