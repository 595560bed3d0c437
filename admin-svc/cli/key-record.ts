/** Formats key records as tables and JSON. */
import { escapeUnprintable, table } from "@sluice/proto/lib/process/cli.js";
import { keyState } from "@sluice/proto/lib/policy/key-state.js";
import type { KeyRow, ListedKey } from "../store/keys.ts";
import type { Spending } from "../store/ledger/spending.ts";
import { formatTime } from "./terminal.ts";

/** Key fields shown by every command, as stored in the database. */
export const describeKey = ({
  workspace_id: _workspace,
  limit_usd: _limit,
  limit_reset: _reset,
  revoked_at: _revoked,
  ...shown
}: KeyRow) => shown;

/** A key with its guardrail and its budget; amounts are in USD. */
export const describeListedKey = (row: ListedKey, spending: Spending | undefined) => ({
  ...describeKey(row),
  revoked_at: row.revoked_at,
  guardrail_id: row.guardrail_id,
  limit: row.limit_usd === null ? null : Number(row.limit_usd),
  limit_reset: row.limit_reset,
  limit_remaining: spending?.remaining === undefined ? null : Number(spending.remaining),
  usage: Number(spending?.total ?? 0),
  usage_daily: Number(spending?.daily ?? 0),
  usage_weekly: Number(spending?.weekly ?? 0),
  usage_monthly: Number(spending?.monthly ?? 0),
  last_used_at: spending?.last_used_at ?? null,
});

const titles = [
  "NAME",
  "LABEL",
  "KIND",
  "STATE",
  "GUARDRAIL",
  "LIMIT USD",
  "SPENT USD",
  "REMAINING USD",
  "LAST USED",
  "CREATED",
  "HASH",
];

export function keyTable(rows: readonly ListedKey[], spending: ReadonlyMap<string, Spending>): string[] {
  const cells = rows.map((row) => {
    const spent = spending.get(row.hash);
    return [
      row.name,
      row.label,
      row.account ? "account" : row.kind,
      stateOf(row),
      row.guardrail_id ?? "-",
      limitText(row),
      formatUsd(spent?.total ?? "0"),
      formatUsd(spent?.remaining),
      formatTime(spent?.last_used_at ?? null),
      formatTime(row.created_at),
      row.hash,
    ];
  });
  return table(titles, cells);
}

export const keyLines = (row: ListedKey, spending: Spending | undefined): string[] => [
  `hash           ${row.hash}`,
  `name           ${escapeUnprintable(row.name)}`,
  `label          ${row.label}`,
  `kind           ${row.kind}${row.account ? " of the account" : ""}`,
  `state          ${stateOf(row)}`,
  `guardrail      ${row.guardrail_id ?? "-"}`,
  `further ones   ${row.further_guardrails?.join(", ") ?? "-"}`,
  `external user  ${row.external_user === null ? "-" : escapeUnprintable(row.external_user)}`,
  `created        ${formatTime(row.created_at)}`,
  `updated        ${formatTime(row.updated_at)}`,
  `expires        ${formatTime(row.expires_at)}`,
  `last used      ${formatTime(spending?.last_used_at ?? null)}`,
  `limit          ${limitText(row)}${row.limit_usd === null ? "" : " USD"}`,
  `remaining      ${formatUsd(spending?.remaining)}${spending?.remaining === undefined ? "" : " USD"}`,
  `spent          ${formatUsd(spending?.total ?? "0")} USD (today ${formatUsd(spending?.daily ?? "0")}, this week ${formatUsd(spending?.weekly ?? "0")}, this month ${formatUsd(spending?.monthly ?? "0")})`,
  `requests/min   ${row.requests_per_minute ?? "-"}`,
  `tokens/min     ${row.tokens_per_minute ?? "-"}`,
  `concurrent     ${row.concurrent_requests ?? "-"}`,
  `model limits   ${row.model_limits === null ? "-" : escapeUnprintable(JSON.stringify(row.model_limits))}`,
  `permissions    ${row.permissions === null ? "-" : escapeUnprintable(JSON.stringify(row.permissions))}`,
  `tags           ${row.tags === null ? "-" : escapeUnprintable(row.tags)}`,
  `networks       ${row.allowed_networks?.join(", ") ?? "-"}`,
  `content        ${[row.capture_content && "captured", row.trace_content && "traced"].filter(Boolean).join(", ") || "-"}`,
];

function limitText({ limit_usd: limit, limit_reset: reset }: KeyRow): string {
  return reset === null ? formatUsd(limit) : `${formatUsd(limit)} ${reset}`;
}

/** Formats an amount without trailing zeros; a dash for none. */
export function formatUsd(amount: string | null | undefined): string {
  if (amount === null || amount === undefined) return "-";
  return amount.includes(".") ? amount.replace(/\.?0+$/, "") : amount;
}

const stateOf = ({ revoked_at: revokedAt, disabled, expires_at: expiresAt }: KeyRow): string =>
  keyState({ isRevoked: revokedAt !== null, disabled, expiresAt }).word;
