/** The explorer's view as the query of the page's address, so that a reload, the Back button and a shared link show the same view. */
import { useLocation } from "preact-iso";

export const explorerPath = "/console/explorer";

export const explorerTabs = [
  ["spend", "Spend"],
  ["requests", "Requests"],
  ["errors", "Errors"],
  ["latency", "Latency"],
  ["tokens", "Tokens"],
] as const;
export type ExplorerTab = (typeof explorerTabs)[number][0];

/** Titles of the filters in the order of the filter bar, by their names in the address. */
export const filterTitles = {
  key: "Key",
  model: "Model",
  provider: "Provider",
  status: "Status",
  error: "Error",
  user: "End user",
  session: "Session",
  guardrail: "Guardrail",
  door: "Format",
  operation: "Operation",
  task: "Task",
  fallback: "Fallback from",
  tags: "Tags",
} as const;
export type FilterName = keyof typeof filterTitles;
export const filterNames = Object.keys(filterTitles) as readonly FilterName[];

/** Names of the parts of a view, in the order of the address. A part without a value is left out of the address. */
const names = [
  "tab",
  "last",
  "from",
  "to",
  "step",
  "by",
  "split",
  "measure",
  "cumulative",
  "previous",
  "show",
  "sort",
  "columns",
  ...filterNames,
  "q",
  "cursor",
] as const;
type ViewName = (typeof names)[number];

/** A view: the text of each part in the address; empty for an absent part. */
export type View = Readonly<Record<ViewName, string>>;
export type ViewChange = Partial<Record<ViewName, string>>;

export const toView = (query: Readonly<Record<string, string>>): View =>
  Object.fromEntries(names.map((name) => [name, query[name]?.trim() ?? ""])) as View;

/** The address of a view, for links. */
export function explorerAddress(view: ViewChange): string {
  const query = new URLSearchParams();
  for (const name of names) if (view[name]) query.set(name, view[name]);
  const text = query.toString();
  return text === "" ? explorerPath : `${explorerPath}?${text}`;
}

export interface Explorer {
  readonly view: View;
  /** The address of this view with some parts changed. Pages of a list begin anew. */
  readonly addressWith: (change: ViewChange) => string;
  /** Changes the view by changing the page's address; the browser's Back button restores the earlier view. */
  readonly change: (change: ViewChange) => void;
}

export function useExplorer(): Explorer {
  const { query, route } = useLocation();
  const view = toView(query);
  const addressWith = (change: ViewChange) => explorerAddress({ ...view, cursor: "", ...change });
  return { view, addressWith, change: (change) => route(addressWith(change)) };
}

export const tabOf = ({ tab }: Pick<View, "tab">): ExplorerTab =>
  explorerTabs.find(([name]) => name === tab)?.[0] ?? "spend";

/** Names of the filters set in a view. */
export const activeFilters = (view: View): FilterName[] => filterNames.filter((name) => view[name] !== "");

export const noFilters: ViewChange = Object.fromEntries([...filterNames, "q"].map((name) => [name, ""]));

/** The explorer's address for an address of an earlier console, whose pages had other names for the same filters. */
export function formerAddress(path: string, query: Readonly<Record<string, string>>): string {
  const { hours, request, q } = query;
  const isCalls = path.endsWith("/calls");
  return explorerAddress({
    ...toView(query),
    tab: isCalls ? "requests" : "",
    last:
      hours === undefined
        ? isCalls
          ? "30d"
          : ""
        : hours === "1"
          ? "1h"
          : hours === "24"
            ? "24h"
            : `${Number(hours) / 24}d`,
    q: request ?? q ?? "",
  });
}
