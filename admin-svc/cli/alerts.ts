/** The command `alerts` with its verbs list, retry and test. */
import { CommandError, UsageError, escapeUnprintable, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import { alertMessage } from "../rules/alerts.ts";
import { awaitAttempts } from "../store/alerts/rule-tests.ts";
import { type AlertRow, addTestAlert, listAlerts, retryAlerts } from "../store/alerts/outbox.ts";
import { type Commands, flagOption, jsonOption, textOption, formatTime } from "./terminal.ts";

const states = ["waiting", "delivered", "dead"] as const;
const maxListed = 200;
/** Milliseconds to wait for a test alert: some rounds of delivery by admin-svc, and the timeout of one attempt. */
const testMs = 15_000;

export const alerts: Commands = {
  list: {
    usage: "[--state STATE] [--json]",
    summary: "Lists alerts, latest first, with what became of their delivery.",
    details: [
      `STATE is ${states.join(", ")}; dead ones were given up after three days. At most ${maxListed} are listed.`,
    ],
    async run(args, { database, author, print }) {
      const { values } = readArguments(args, { ...jsonOption, state: textOption });
      const { workspaceId } = await author();
      const rows = await listAlerts(await database(), {
        workspaceId,
        state: readState(values.state),
        limit: maxListed,
      });
      if (values.json === true) return print(JSON.stringify(rows.map(toRecord)));
      for (const line of alertTable(rows)) print(line);
    },
  },
  retry: {
    usage: "[ID] [--all]",
    summary: "Sends an alert that was given up again, or all of them, for another three days.",
    details: ["ID is the webhook-id of the alert, which stays as it is."],
    async run(args, { database, author, print }) {
      const isAll = args.includes("--all");
      const { named } = readArguments(args, { all: flagOption }, ...(isAll ? [] : ["ID"]));
      const { workspaceId } = await author();
      const id = isAll ? undefined : named["ID"];
      const count = await retryAlerts(await database(), workspaceId, id);
      if (count === 0 && id !== undefined)
        throw new CommandError(`no such alert was given up: ${escapeUnprintable(id)}`);
      print(`${count} due again`);
    },
  },
  test: {
    usage: "NAME",
    summary: "Sends a test alert to the entry of `alerts` with this name, by way of a running admin-svc.",
    async run(args, { database, author, print }) {
      const { named } = readArguments(args, {}, "NAME");
      const { workspaceId } = await author();
      const id = await addTestAlert(await database(), named.NAME, workspaceId);
      const [alert] = await awaitAttempts(await database(), [id], performance.now() + testMs);
      if (alert?.state === "delivered") return print(`delivered: ${id}`);
      const reason =
        alert?.last_error ??
        `no admin-svc that runs has an entry of alerts with the name ${escapeUnprintable(named.NAME)}`;
      throw new CommandError(`not delivered: ${reason}`);
    },
  },
};

/** @throws UsageError for an unknown state */
function readState(given: string | undefined): AlertRow["state"] | undefined {
  const state = states.find((each) => each === given);
  if (given !== undefined && state === undefined) throw new UsageError(`--state: one of ${states.join(", ")}`);
  return state;
}

const toRecord = (row: AlertRow) => ({
  id: row.id,
  sink: row.sink,
  state: row.state,
  attempts: row.attempts,
  last_error: row.last_error,
  ...alertMessage(row),
});

const alertTable = (rows: readonly AlertRow[]): string[] =>
  table(
    ["AT", "ID", "SINK", "TYPE", "STATE", "ATTEMPTS", "LAST ERROR"],
    rows.map((row) => [
      formatTime(row.at),
      row.id,
      row.sink,
      row.type,
      row.state,
      String(row.attempts),
      escapeUnprintable(row.last_error ?? "-"),
    ]),
  );
