/** The command `usage` with its verbs show, series, change and health. */
import type { PayerWord } from "@sluice/proto/lib/ledger/call-operation.js";
import { UsageError, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import { type UsageSums, type UsageUnit, usageSums, usageUnits } from "../store/ledger/usage-sums.ts";
import { formatUsd } from "./key-record.ts";
import { findKeyHash, keyHelp } from "./key-reference.ts";
import { change, health, series } from "./usage-series.ts";
import { type Commands, flagOption, textOption } from "./terminal.ts";

const dayMs = 86_400_000;
const defaultDays = 30;

export const usage: Commands = {
  series,
  change,
  health,
  show: {
    usage:
      "[--by day|model|key|operation|door|task[,...]] [--payer key|operator] [--from DAY] [--to DAY] [--key KEY] [--json]",
    summary: `Sums the cost of requests, by day unless --by is given, for the last ${defaultDays} days.`,
    details: [
      "DAY is a day in UTC, for example 2026-11-21; both ends are included.",
      "A request with several calls to providers counts once; ATTEMPTS counts the calls.",
      "A door is the format in which the client spoke: responses, chat, messages or embeddings.",
      "An operation is what a call was made for: turn, judge, moderation, classifier, search and so on.",
      "A task is the kind of a request that service/auto learns from, such as code; others have none.",
      "--payer operator sums the calls that no key pays for, such as those of judges.",
      keyHelp,
    ],
    async run(args, { database, author, print }) {
      const options = {
        by: textOption,
        payer: textOption,
        from: textOption,
        to: textOption,
        key: textOption,
        json: flagOption,
      } as const;
      const { values } = readArguments(args, options);
      const by = readUnits(values.by ?? "day");
      const payer = readPayer(values.payer ?? "key");
      const to = readDay("--to", values.to) ?? dayOf(Date.now());
      const from = readDay("--from", values.from) ?? dayOf(Date.parse(to) - (defaultDays - 1) * dayMs);
      if (from > to) throw new UsageError("--from: must not be after --to");
      const { workspaceId } = await author();
      const keyHash =
        values.key === undefined ? undefined : await findKeyHash(await database(), workspaceId, values.key);
      const rows = await usageSums(await database(), { workspaceId, from, to, keyHash, payer }, by);
      if (values.json === true) return print(JSON.stringify(rows.map((row) => describe(row, by))));
      for (const line of usageTable(rows, by)) print(line);
    },
  },
};

function readUnits(by: string): readonly UsageUnit[] {
  const units = by.split(",");
  const isUnit = (unit: string): unit is UsageUnit => (usageUnits as readonly string[]).includes(unit);
  if (!units.every(isUnit) || new Set(units).size < units.length) {
    throw new UsageError(`--by: any of ${usageUnits.join(", ")}, each once, with commas between them`);
  }
  return units;
}

function readPayer(payer: string): PayerWord {
  if (payer !== "key" && payer !== "operator") throw new UsageError("--payer: key or operator");
  return payer;
}

function readDay(option: string, day: string | undefined): string | undefined {
  if (day === undefined) return undefined;
  const time = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(day) : Number.NaN;
  if (Number.isNaN(time) || dayOf(time) !== day) throw new UsageError(`${option}: a day, for example 2026-11-21`);
  return day;
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

const describe = (row: UsageSums, by: readonly UsageUnit[]) => ({
  ...Object.fromEntries(by.map((unit) => [unit === "key" ? "key_hash" : unit, row[unit]])),
  ...(by.includes("key") && { key_name: row.key_name }),
  cost_usd: Number(row.cost_usd),
  requests: Number(row.requests),
  attempts: Number(row.attempts),
  input_tokens: Number(row.input_tokens),
  output_tokens: Number(row.output_tokens),
});

function usageTable(rows: readonly UsageSums[], by: readonly UsageUnit[]): string[] {
  const withName = by.includes("key");
  const titles = [...by.map((unit) => unit.toUpperCase()), ...(withName ? ["NAME"] : [])];
  const figures = ["USD", "REQUESTS", "ATTEMPTS", "INPUT TOKENS", "OUTPUT TOKENS"];
  const cells = rows.map((row) => [
    ...by.map((unit) => (unit === "key" ? (row.key ?? "-").slice(0, 16) : (row[unit] ?? "-"))),
    ...(withName ? [row.key_name ?? "-"] : []),
    formatUsd(row.cost_usd),
    row.requests,
    row.attempts,
    row.input_tokens,
    row.output_tokens,
  ]);
  return table([...titles, ...figures], cells);
}
