/** Attacks 160 to 163: text of clients must not corrupt the output for operators. */
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { chatStream, responsesAnswer } from "../../support/providers/upstream.ts";
import { AttackedInstallation, expectFault, attackedModel } from "./attacked.ts";

let attacked: AttackedInstallation;
beforeAll(async () => {
  attacked = await AttackedInstallation.start();
});
afterEach(() => attacked.stands());
afterAll(() => attacked?.stop());

const echo = { model: "sluice/echo", input: "x" };

/** Names and label sets of all metrics; buckets are not counted as separate series. */
async function series(): Promise<Set<string>> {
  const { gateway_health, inference_health, admin_health } = attacked.installation.ports;
  const found = new Set<string>();
  for (const port of [gateway_health, inference_health, admin_health]) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    for (const [, name] of text.matchAll(/^(sluice_\w+(?:\{[^}]*\})?) /gm)) found.add(name as string);
  }
  return found;
}

test("attack 160: line breaks, colours, formulas and templates stay text in every line of the logs", async () => {
  const evils = ["a\nb", "\u001b[31mred", "${jndi:ldap://x}", "%s%n", "=cmd|'/c calc'!A0", "\u2028next", "\r\n{}"];
  for (const evil of evils) {
    await attacked.respond({ ...echo, user: `u${evil}u`, metadata: { a: evil }, session_id: `s${evil}s` });
    await attacked.respond({ ...echo, model: `m${evil}m` });
    await attacked.manage("POST", "/end-users", { user: `u${evil}u` });
    if (!/[\r\n]/.test(evil)) {
      const encoded = Buffer.from(evil).toString("latin1");
      await attacked.respond(echo, [`User-Agent: ${encoded}`, `X-Request-Id: ${encoded}`, `Referer: ${encoded}`]);
    }
  }
  await attacked.respond({ ...echo, model: `nobody/${"x".repeat(1_000_000)}` });
  const logs = await attacked.installation.allLogged();
  for (const line of logs.split("\n").filter((text) => text !== "")) {
    expect(() => JSON.parse(line) as unknown).not.toThrow();
    expect(line.length).toBeLessThan(4_096);
  }
  for (const character of ["\u001b", "\u2028", "\r"]) expect(logs).not.toContain(character);
});

test("attack 161: names invented by clients become no labels of metrics", async () => {
  const sendRequest = async (n: number) => {
    await attacked.respond({ ...echo, model: `nobody/model-${n}`, user: `user-${n}`, session_id: `session-${n}` });
    await attacked.respond({ ...echo, user: `user-${n}`, service_tier: "flex" });
    await attacked.send("GET", `/api/v1/nothing/${n}`, [`Authorization: Bearer ${attacked.installation.apiKey}`]);
    await attacked.manage("GET", `/end-users/user-${n}`);
  };
  await sendRequest(0);
  const before = await series();
  for (let n = 1; n <= 50; n++) await sendRequest(n);
  const added = [...(await series())].filter((name) => !before.has(name));
  expect(added.filter((name) => /nobody|model-|user-|session-|flex|nothing/.test(name))).toEqual([]);
  // A busy machine may have been the first to show a status, or to deliver records.
  expect(added.length).toBeLessThan(25);
});

test("attack 162: tracing headers of any size and form change no request, and are not passed on", async () => {
  attacked.upstream.script([responsesAnswer()]);
  for (const line of [
    `baggage: ${"a=b,".repeat(2_000)}`,
    `traceparent: 00-${"0".repeat(32)}-${"0".repeat(16)}-00`,
    `traceparent: 00-${"A".repeat(32)}-${"B".repeat(16)}-01`,
    `tracestate: ${"x".repeat(8_000)}`,
  ]) {
    const asked = attacked.upstream.nextRequest();
    expect((await attacked.respond({ model: attackedModel, input: "x" }, [line])).status).toBe(200);
    expect(Object.keys((await asked).headers)).not.toContain(line.slice(0, line.indexOf(":")));
  }
  attacked.upstream.script([chatStream("Hello")]);
});

test("attack 163: a client's valid request id is kept in addition to Sluice's own", async () => {
  const logged = async (id: string) => {
    const { "x-request-id": ours } = (await attacked.respond(echo, [`X-Request-Id: ${id}`])).headers;
    expect(ours).toMatch(/^req_\w{22}$/);
    const own = await attacked.installation.logged("gateway", ours as string);
    return (JSON.parse(own) as { client_request_id?: string }).client_request_id;
  };
  expect(await logged("mine-1_A")).toBe("mine-1_A");
  for (const id of ["a".repeat(65), "a b", "${x}", "req_1;drop"]) expect(await logged(id)).toBeUndefined();
  expectFault(await attacked.respond(echo, ["X-Request-Id: a\0b"]), 400);
});
