/** The command `demo` creates a separate workspace with made-up requests, and removes it again. */
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import { type Command, CommandError, UsageError, readArguments } from "@sluice/proto/lib/process/cli.js";
import type { Kysely } from "kysely";
import type { Author } from "../store/audit.ts";
import type { Database } from "../store/database.ts";
import { createEndUser } from "../store/end-users.ts";
import { findRecordByExternalId, putByExternalId } from "../store/external-ids.ts";
import { createGuardrail } from "../store/guardrails.ts";
import { createKey } from "../store/keys.ts";
import { insertUsage } from "../store/ledger/usage.ts";
import { removeWorkspace } from "../store/workspace-removal.ts";
import { createWorkspace, deleteWorkspace, findWorkspaceState } from "../store/workspaces.ts";
import { drawRequests, seededRandom } from "./demo/draw.ts";
import { type DemoPlace, DemoRecords } from "./demo/records.ts";
import { applications, guardrailRule } from "./demo/scenario.ts";
import { type AdminTerminal, flagOption, textOption } from "./terminal.ts";

const name = "demo";
const defaultDays = 30;
const maxDays = 90;
const batchSize = 250;
const dayMs = 86_400_000;
/** Days of made-up requests between two lines of progress. */
const daysOfReport = 10;

export const demo: Command<AdminTerminal> = {
  usage: "[--days N | --remove]",
  summary:
    "Fills a workspace named demo with made-up keys and requests of the last 30 days, to look around in the console.",
  details: [
    "Calls no provider, and changes no other workspace. Exports and alerts of the configuration file take its records, too.",
    "Choose the workspace in the console, or read it with --workspace demo.",
    "--remove takes the workspace away with all its records.",
  ],
  async run(args, { database, author, print }) {
    const { values } = readArguments(args, { days: textOption, remove: flagOption });
    const opened = await database();
    const by = await author();
    const found = await findDemo(opened, by);
    if (values.remove === true) {
      if (found === undefined) throw new CommandError("there is no demo workspace");
      await deleteWorkspace(opened, { ...by, workspaceId: found });
      await removeWorkspace(opened, found);
      return print("the demo workspace is removed, with its records");
    }
    if (found !== undefined) throw new CommandError("there is a demo workspace already; `demo --remove` takes it away");
    await fill(opened, by, readDays(values.days), print);
  },
};

/** @throws UsageError unless the text is a number of days within the limits */
function readDays(given = String(defaultDays)): number {
  if (!/^[1-9]\d?$/.test(given) || Number(given) > maxDays) {
    throw new UsageError(`--days: a number of days, from 1 to ${maxDays}`);
  }
  return Number(given);
}

/** The external id of the demo's workspace, by which it is found even after a rename. */
const markOf = ({ workspaceId }: Author) => ({ workspaceId, kind: "workspace", externalId: "sluice-demo" }) as const;

/** Id of the demo's workspace, even if its removal was interrupted; undefined without a demo. */
async function findDemo(database: Kysely<Database>, author: Author): Promise<string | undefined> {
  const id = await findRecordByExternalId(database, markOf(author));
  return id !== undefined && (await findWorkspaceState(database, id)) ? id : undefined;
}

async function fill(
  database: Kysely<Database>,
  author: Author,
  days: number,
  print: AdminTerminal["print"],
): Promise<void> {
  const now = Date.now();
  const requests = drawRequests(seededRandom(1), now, days);
  const place = await createPlace(database, author);
  const records = new DemoRecords(place);
  let reported = days;
  for (let from = 0; from < requests.length; from += batchSize) {
    const batch = requests.slice(from, from + batchSize);
    const { records: calls, turns } = records.batch(batch);
    await insertUsage(database, calls, turns);
    const left = Math.floor((now - (batch.at(-1)?.at ?? now)) / dayMs);
    if (reported - left >= daysOfReport) print(`${left} days to go`);
    if (reported - left >= daysOfReport) reported = left;
  }
  print(`${requests.length} requests of ${days} days in the workspace ${name} (${place.workspaceId})`);
}

/**
 * Creates the demo's workspace with its keys, guardrail and end users. @throws CommandError when another workspace has
 * the name
 */
async function createPlace(database: Kysely<Database>, author: Author): Promise<DemoPlace> {
  const { result: workspaceId } = await putByExternalId(database, markOf(author), {
    change: () => Promise.resolve(undefined),
    make: async (transaction) => {
      const row = await createWorkspace(transaction, author, { name, limitUsd: "2000", limitReset: "monthly" });
      if (!row) throw new CommandError(`there is another workspace named ${name}`);
      return row.id;
    },
    targetOf: (id) => id,
  });
  const inside = { ...author, workspaceId, ofAccount: false };
  const keys = new Map<string, string>();
  for (const application of applications) {
    const limit = application.monthlyLimit;
    const created = await createKey(database, inside, {
      name: application.name,
      // The key's text is never shown, so nobody can use the key.
      key: mintKey(KeyKind.INFERENCE),
      ...(limit !== undefined && { limit_usd: String(limit), limit_reset: "monthly" }),
    });
    if (created) keys.set(application.name, created.row.hash);
    for (let user = 1; user <= application.users; user++) {
      await createEndUser(database, inside, `${application.name}-user-${user}`);
    }
  }
  const { row: guardrail } = await createGuardrail(database, inside, {
    name: "No payment cards",
    content_filters: [
      { pattern: String.raw`\b\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}\b`, label: guardrailRule, action: "block" },
    ],
  });
  return { workspaceId, keys, guardrailId: guardrail.id };
}
