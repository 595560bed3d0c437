/** Attack 158: admin-svc dies after the commit and before its answer. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import pg from "pg";
import { eventually } from "../../support/processes.ts";
import { AttackedInstallation, parseBody } from "./attacked.ts";

let attacked: AttackedInstallation;
let database: pg.Client;
beforeAll(async () => {
  attacked = await AttackedInstallation.start({ inferenceReplicas: 1 });
  database = new pg.Client({ connectionString: attacked.installation.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await attacked?.stop();
});

const pidOf = (name: string) => attacked.installation.pids()[name] ?? Number.NaN;

/** Kills admin-svc between the commit of an assignment and its answer. */
async function loseAnswer(guardrailId: string) {
  const keyHash = hashKey(await attacked.makeKey());
  const assign = () =>
    attacked.manage("POST", `/guardrails/${guardrailId}/assignments/keys`, { key_hashes: [keyHash] });
  const held = async () => {
    const { rows } = await database.query("select guardrail_id from guardrail_key_assignments where key_hash = $1", [
      keyHash,
    ]);
    return rows as unknown[];
  };
  // A stopped watcher does not acknowledge, so the answer waits a second: on most machines long enough for the kill to come first.
  process.kill(pidOf("inference-svc"), "SIGSTOP");
  const lost = assign();
  await eventually(async () => (await held()).length > 0);
  process.kill(pidOf("admin-svc"), "SIGKILL");
  const answer = await lost;
  process.kill(pidOf("inference-svc"), "SIGCONT");
  return { answer, assign, held };
}

test("attack 158: a lost answer to a change is a retryable failure, and a retry gives the same state", async () => {
  const made = await attacked.manage("POST", "/guardrails", { name: "mine" });
  const { id } = (parseBody(made) as { data: { id: string } }).data;
  let lost = await loseAnswer(id);
  while (lost.answer.status === 200) {
    await eventually(async () => (await attacked.manage("GET", "/guardrails")).status === 200);
    lost = await loseAnswer(id);
  }
  const { answer, assign, held } = lost;
  expect([answer.status, answer.headers["x-should-retry"]]).toEqual([500, "true"]);
  expect(await held()).toEqual([{ guardrail_id: id }]);
  await eventually(async () => (await assign()).body === '{"assigned_count":1}');
  expect(await held()).toEqual([{ guardrail_id: id }]);
});
