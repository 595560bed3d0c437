/** Compares the usage of a period with the preceding period, and splits the difference in cost into its causes. */
import { create } from "@bufbuild/protobuf";
import { changeQuery, maxChangeParts } from "@sluice/proto/contract/records/usage-change.js";
import { fromUsageFilter } from "@sluice/proto/contract/records/usage-series.js";
import {
  type GetUsageChangeRequest,
  type GetUsageChangeResponse,
  GetUsageChangeResponseSchema,
  UsageAmountsSchema,
  UsageChangePartSchema,
} from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { invalid, throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { type Kysely, sql } from "kysely";
import {
  type Amounts,
  type ChangePart,
  addAmounts,
  sumParts,
  comparePart,
  noAmounts,
  signedDecimal,
  summarize,
} from "../../rules/usage-change.ts";
import type { Database } from "../database.ts";
import { type RecordSums, coverOf, recordSums, withRecordSums } from "./record-sums.ts";
import type { SeriesFilter } from "./series-filter.ts";

/** The query, with the field names of the HTTP interface. */
export interface ChangeQuery extends SeriesFilter {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const dayMs = 86_400_000;
const maxDays = 400;

/** The two compared periods; times are milliseconds since 1970. */
interface ComparedPeriods {
  readonly from: number;
  readonly to: number;
  /**
   * Distance between the two periods. If the later one ends today, the last day of the earlier one ends at the same
   * time of day.
   */
  readonly shift: number;
}

function comparedPeriods({ from: given, to: end }: ChangeQuery): ComparedPeriods {
  const to = end === undefined ? Date.now() : Date.parse(end);
  const from = given === undefined ? Math.floor((to - 1) / dayMs) * dayMs - 6 * dayMs : Date.parse(given);
  if (from >= to) throw invalid("from", "must be before to");
  if (to - from > maxDays * dayMs) throw invalid("from", `must be at most ${maxDays} days before to`);
  const shift = from % dayMs === 0 ? Math.ceil((to - from) / dayMs) * dayMs : to - from;
  return { from, to, shift };
}

interface SideRow {
  readonly is_after: boolean;
  readonly key: string;
  readonly key_name: string | null;
  readonly model: string;
  readonly cost_pico: string;
  readonly requests: string;
  readonly input_tokens: string;
  readonly output_tokens: string;
}

/** @throws Fault INVALID_REQUEST */
export async function getUsageChange(
  database: Kysely<Database>,
  workspaceId: string,
  request: GetUsageChangeRequest,
): Promise<GetUsageChangeResponse> {
  const filter = fromUsageFilter(request.filter);
  const query = { from: request.from || undefined, to: request.to || undefined, ...filter };
  throwProblems((problems) => changeQuery.check(query, "", problems));
  const periods = comparedPeriods(query);
  const parts = await withRecordSums(database, (connected) => readParts(connected, workspaceId, filter, periods));
  const total = sumParts(parts);
  const changed = parts.filter(({ difference }) => difference !== 0n).sort(byDifference);
  const listed = changed.slice(0, maxChangeParts);
  const rest = parts.filter((part) => !listed.includes(part));
  return create(GetUsageChangeResponseSchema, {
    fromMs: BigInt(periods.from),
    toMs: BigInt(periods.to),
    beforeFromMs: BigInt(periods.from - periods.shift),
    beforeToMs: BigInt(periods.to - periods.shift),
    before: toAmounts(total.before),
    after: toAmounts(total.after),
    parts: [...listed.map(toPart), ...(rest.length > 0 ? [{ ...toPart(sumParts(rest)), isOther: true }] : [])],
    summary: summarize(total, listed),
  });
}

const magnitude = ({ difference }: ChangePart): bigint => (difference < 0n ? -difference : difference);
const byDifference = (one: ChangePart, other: ChangePart): number => {
  const [first, second] = [magnitude(one), magnitude(other)];
  return first === second ? 0 : first < second ? 1 : -1;
};

async function readParts(
  database: Kysely<Database>,
  workspaceId: string,
  filter: SeriesFilter,
  { from, to, shift }: ComparedPeriods,
): Promise<ChangePart[]> {
  const side = async (isAfter: boolean, earlierBy: number) => {
    const times = { from: new Date(from - earlierBy), to: new Date(to - earlierBy) };
    const query: RecordSums = {
      workspaceId,
      step: "all",
      by: ["key", "model"],
      filter,
      countsByTurn: true,
      withoutLatencies: true,
      ...times,
    };
    const sums = recordSums(query, await coverOf(database, query));
    return sql`select ${isAfter}::boolean as is_after, * from (${sums}) as sums`;
  };
  const [before, after] = [await side(false, shift), await side(true, 0)];
  const { rows } = await sql<SideRow>`
    select is_after, value as key, (select name from api_keys where hash = value) as key_name, second as model,
      (sum(cost_usd) * 1e12)::bigint::text as cost_pico, sum(requests) as requests, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens
    from (${before} union all ${after}) as sides
    group by is_after, value, second order by value, second`.execute(database);
  const found = new Map<string, { row: SideRow; before: Amounts; after: Amounts }>();
  for (const row of rows) {
    const id = JSON.stringify([row.key, row.model]);
    const known = found.get(id) ?? { row, before: noAmounts, after: noAmounts };
    const name = row.is_after ? "after" : "before";
    found.set(id, { ...known, [name]: addAmounts(known[name], readAmounts(row)) });
  }
  return [...found.values()].map(({ row, before, after }) =>
    comparePart({ key: row.key, keyName: row.key_name ?? "", model: row.model }, before, after),
  );
}

const readAmounts = (row: SideRow): Amounts => ({
  cost: BigInt(row.cost_pico),
  requests: BigInt(row.requests),
  inputTokens: BigInt(row.input_tokens),
  outputTokens: BigInt(row.output_tokens),
});

const toAmounts = ({ cost, ...counts }: Amounts) =>
  create(UsageAmountsSchema, { costUsd: signedDecimal(cost), ...counts });

const toPart = (part: ChangePart) =>
  create(UsageChangePartSchema, {
    keyHash: part.key,
    keyName: part.keyName,
    model: part.model,
    before: toAmounts(part.before),
    after: toAmounts(part.after),
    differenceUsd: signedDecimal(part.difference),
    volumeUsd: signedDecimal(part.volume),
    tokensUsd: signedDecimal(part.tokens),
    priceUsd: signedDecimal(part.price),
  });
