/** Dimensions by which requests are summed: subjects of filters, and values of a tag. */
import { type ExplorerTab, type FilterName, type View, filterNames, filterTitles, tabOf } from "./address.ts";

/** Filters that are no dimensions: sessions are too many for a sum each, and one request may have several fallbacks or tags. */
const filtersAlone = ["session", "fallback", "tags"] as const satisfies readonly FilterName[];
type PlainDimension = Exclude<FilterName, (typeof filtersAlone)[number]>;
/** The subject of a filter, or `tag:` with the name of a tag, percent-encoded as in a list of tags. */
export type Dimension = PlainDimension | `tag:${string}`;
export const dimensions = filterNames.filter(
  (name) => !(filtersAlone as readonly FilterName[]).includes(name),
) as readonly PlainDimension[];

const defaultDimensions: Readonly<Record<ExplorerTab, Dimension>> = {
  spend: "model",
  requests: "status",
  errors: "error",
  latency: "model",
  tokens: "model",
};

export const tagPrefix = "tag:";

const isTag = (text: string): text is `tag:${string}` => text.startsWith(tagPrefix) && text.length > tagPrefix.length;

const toDimension = (text: string): Dimension | undefined =>
  isTag(text) ? text : dimensions.find((each) => each === text);

/** The dimensions of a view, one or two. */
export function dimensionsOf(view: View): readonly Dimension[] {
  const first = toDimension(view.by) ?? defaultDimensions[tabOf(view)];
  const second = toDimension(view.split);
  return second === undefined || second === first ? [first] : [first, second];
}

/** Percent-encodes reserved characters, and white space at either end. */
const encoded = (text: string, reserved: RegExp): string =>
  text.replace(reserved, encodeURIComponent).replace(/^\s|\s$/g, encodeURIComponent);

export const tagDimension = (name: string): string => (name === "" ? "" : `${tagPrefix}${encoded(name, /[%,=]/g)}`);

/** The name of the tag by which a dimension groups; undefined for a dimension other than a tag. */
export function tagOf(dimension: string): string | undefined {
  if (!dimension.startsWith(tagPrefix)) return undefined;
  try {
    return decodeURIComponent(dimension.slice(tagPrefix.length));
  } catch {
    return dimension.slice(tagPrefix.length);
  }
}

export const dimensionTitle = (dimension: Dimension): string =>
  tagOf(dimension) ?? filterTitles[dimension as PlainDimension];

/** The list of tags of a filter with one more value. @param tags the list before; another value of the same tag is replaced */
export function withTag(tags: string, dimension: `tag:${string}`, value: string): string {
  const name = dimension.slice(tagPrefix.length);
  const others = tags.split(",").filter((pair) => pair.trim() !== "" && pair.split("=")[0]?.trim() !== name);
  return [...others, `${name}=${encoded(value, /[%,]/g)}`].join(",");
}
