/** The view of the explorer as the query of its address: a reload, Back and a shared link show the same. */
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

/** Filters, in the order of the bar, by their names in the address. */
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

/** Names of the address in their order there. An empty value is left out. */
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

/** Texts of the address; empty for an absent one. */
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
  /** The address with some parts changed; it begins at the first page of a list. */
  readonly addressWith: (change: ViewChange) => string;
  /** Changes the view in the address of the page; the browser's Back button restores the earlier view. */
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

/** The filters in force. */
export const activeFilters = (view: View): FilterName[] => filterNames.filter((name) => view[name] !== "");

export const noFilters: ViewChange = Object.fromEntries([...filterNames, "q"].map((name) => [name, ""]));

/** Addresses of former pages, with their names for the same filters. */
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
