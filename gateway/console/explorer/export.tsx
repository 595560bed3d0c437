/** Exports the requests or sums below the chart as CSV. */
import { useState } from "preact/hooks";
import { everyPage } from "../api/lists.ts";
import { csvOf, download } from "../parts/csv.ts";
import { showToast } from "../parts/toast.tsx";
import type { Explorer } from "./address.ts";
import { listColumns, sumColumns } from "./columns.tsx";
import { type ViewSums, loadRequests } from "./data.ts";
import { dimensionsOf } from "./dimensions.ts";
import type { Point } from "./measures.ts";
import { type ValueNames, partName } from "./names.ts";
import type { Listed } from "./request-columns.tsx";

interface ExportProps {
  readonly explorer: Explorer;
  readonly sums: ViewSums | undefined;
  readonly names: ValueNames;
  /** Whether the list of requests is exported, not the table of sums. */
  readonly listed: boolean;
}

export function Export({ explorer, sums, names, listed }: ExportProps) {
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      if (listed) download("requests.csv", csvOf(await requestRows(explorer)));
      else if (sums)
        download(
          `usage-by-${dimensionsOf(explorer.view)
            .join("-")
            .replaceAll(/[^\w-]/g, "-")}.csv`,
          csvOf(sumRows(explorer, sums, names)),
        );
    } catch (error) {
      showToast((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" class="button" disabled={busy || !sums} onClick={() => void save()}>
      {busy ? "One moment…" : "Download CSV"}
    </button>
  );
}

type Cells = (string | number)[];

const figures = [
  "cost_usd",
  "requests",
  "failures",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "reasoning_tokens",
] as const;

/** One row of the CSV for each step and value. */
function sumRows({ view }: Explorer, { points, range }: ViewSums, names: ValueNames): Cells[] {
  const by = dimensionsOf(view);
  const values = (point: Point) =>
    by.map((dimension, n) => (point.is_other ? "All others" : partName(point, dimension, n, names)));
  const isHour = range.step === "hour";
  const chosen = view.columns === "" ? undefined : sumColumns(view);
  return [
    [range.step, ...by, ...(chosen?.map(({ id }) => id) ?? figures)],
    ...points.map((point) => [
      isHour ? point.at : point.at.slice(0, 10),
      ...values(point),
      ...(chosen?.map((measure) => measure.of(point) ?? "") ?? figures.map((figure) => point[figure])),
    ]),
  ];
}

/** Rows of the CSV for up to 2,000 requests. */
async function requestRows({ view }: Explorer): Promise<Cells[]> {
  const rows = await everyPage(({ cursor = "", limit }) => loadRequests({ ...view, cursor }, limit));
  const every = Object.keys(rows[0] ?? { id: "" }) as (keyof Listed)[];
  const chosen = listColumns(view).flatMap(({ fields }) => fields);
  const columns: (keyof Listed)[] = view.columns === "" ? every : ["id", "created_at", ...chosen];
  return [columns, ...rows.map((row) => columns.map((column) => cellOf(row[column])))];
}

/** The value of a cell. The tags of a request are one cell with JSON. */
const cellOf = (value: string | number | boolean | null | Readonly<Record<string, string>>): string | number =>
  typeof value === "number"
    ? value
    : typeof value === "object" && value !== null
      ? JSON.stringify(value)
      : String(value ?? "");
