/** Runs rows of the contract against complete installations, one after the other. */
import { type Installation, startInstallation } from "../../support/installation.ts";
import { bareConfiguration, fullConfiguration } from "./installation.ts";
import { type RowOutcome, type Row, type RowVerdict, rowDialects, isWorseVerdict, verdictOf } from "./row.ts";
import { type RowInstallations, runCase } from "./run-case.ts";
import { startRowServices } from "./services.ts";

export interface RowResult {
  readonly row: Row;
  readonly verdict: RowVerdict;
  readonly outcomes: readonly RowOutcome[];
}

export interface RowsOptions {
  readonly embeddedPostgres?: boolean;
  readonly progress?: (result: RowResult) => void;
}

export async function runRows(rows: readonly Row[], options: RowsOptions = {}): Promise<readonly RowResult[]> {
  const services = await startRowServices();
  const started: Installation[] = [];
  const start = async (config: string): Promise<Installation> => {
    const installation = await startInstallation({ config, embeddedPostgres: options.embeddedPostgres === true });
    started.push(installation);
    return installation;
  };
  try {
    const full = await start(fullConfiguration(services.origin));
    const bare = await start(bareConfiguration(services.origin));
    const results: RowResult[] = [];
    for (const row of rows) {
      const result = await runRow(row, { services, full, bare });
      results.push(result);
      options.progress?.(result);
    }
    return results;
  } finally {
    await Promise.all(started.map((installation) => installation.stop()));
    await services.stop();
  }
}

async function runRow(row: Row, installations: RowInstallations): Promise<RowResult> {
  const outcomes: RowOutcome[] = [];
  for (const tried of row.cases)
    for (const on of tried.on ?? rowDialects) outcomes.push(await runCase(tried, on, installations));
  const verdict = verdictOf(outcomes);
  return { row, outcomes, verdict: row.final === undefined ? verdict : finalVerdict(row, verdict) };
}

/** The verdict of a row that has a final reason: refused if all its cases are refusals, otherwise partial. */
function finalVerdict({ cases }: Row, verdict: RowVerdict): RowVerdict {
  if (verdict !== "works") return verdict;
  return cases.every(({ refused }) => refused !== undefined) ? "refused" : "part";
}

/** Results that contradict the specification, or are worse than the recorded verdict of their row. */
export const complaintsOf = (results: readonly RowResult[]): readonly RowResult[] =>
  results.filter(({ row, verdict }) => verdict === "wrong" || isWorseVerdict(verdict, expectedOf(row)));

export const expectedOf = (row: Row): RowVerdict =>
  row.now ?? (row.final === undefined ? "works" : finalVerdict(row, "works"));
