/** The plugin `web-fetch`: reads the pages to which the user's messages link, concurrently, and adds their text to the request. */
import type { WebFetchPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { AddedScanner } from "../../turn/scan-added.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { Stage } from "../../turn/trace.ts";
import { requestLayer } from "../../turn/layer-builders.ts";
import type { Layer } from "../../turn/turn.ts";
import type { Page } from "./page.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";
import type { Web } from "./client.ts";
import { dataItem, latestUserTexts, insertData } from "./inserted-data.ts";
import { urlsIn } from "./message-urls.ts";
import type { CallingFeature } from "../kit.ts";
import { applies } from "../applies.ts";

const defaultUses = 5;
const defaultTokens = 20_000;
/** Maximum number of URLs of unread pages listed for the model. */
const maxNamed = 20;

export const webFetch: CallingFeature = {
  id: "web-fetch",
  applies: applies.webFetch,
  layer: ({ web, scan }) =>
    fetching(async (urls, settings, request, scope) => {
      const { maxUses = defaultUses } = settings;
      const all = await Promise.all(urls.slice(0, maxUses).map((url) => readOf(url, settings, web, scope)));
      const left = urls.slice(maxUses).map((url) => ({ url, failure: `not read: more than ${maxUses} pages` }));
      scope.trace.stages.push(stageOfAll(all, left.length));
      return given(request, scope, { all: [...all, ...left.slice(0, maxNamed)], settings }, scan);
    }),
  dryRun: () =>
    fetching((urls, _, request, { trace }) => {
      trace.stages.push(stageOf("Not read: a dry run reads no page", { action: "not_run", urls: urls.length }));
      return request;
    }),
};

type Fetch = (
  urls: readonly string[],
  settings: WebFetchPlugin,
  request: TurnRequest,
  scope: Scope,
) => TurnRequest | Promise<TurnRequest>;

const fetching = (fetch: Fetch): Layer =>
  requestLayer((request, scope) => {
    const settings = request.plugins?.webFetch;
    const urls = settings ? urlsIn(latestUserTexts(request.input)) : [];
    return settings === undefined || urls.length === 0 ? request : fetch(urls, settings, request, scope);
  });

/** A page read, or the reason why it was not. */
type Read = { readonly url: string } & ({ readonly page: Page } | { readonly failure: string });

/** Reads one page. @throws Fault only when the turn is over */
async function readOf(url: string, settings: WebFetchPlugin, web: Web, scope: Scope): Promise<Read> {
  const { allowedDomains: allowed, blockedDomains: blocked, maxContentTokens: maxTokens = defaultTokens } = settings;
  try {
    const limits = { keyHash: scope.caller.keyHash, domains: { allowed, blocked }, maxTokens };
    return { url, page: await web.read(url, limits, { scope, signal: scope.signal }) };
  } catch (error) {
    if (!(error instanceof PageUnreadable)) throw error;
    return { url, failure: `not read: ${error.message}` };
  }
}

function introOf({ fetchPrompt }: WebFetchPlugin): string {
  const intro = "What follows was read from the URLs that the user names.";
  return fetchPrompt === undefined ? intro : `${intro} ${fetchPrompt}`;
}

interface Fetched {
  readonly all: readonly Read[];
  readonly settings: WebFetchPlugin;
}

async function given(
  request: TurnRequest,
  scope: Scope,
  { all, settings }: Fetched,
  scan: AddedScanner,
): Promise<TurnRequest> {
  const items = await scan([dataItem(introOf(settings), all.map(entryOf))], request, scope);
  const pages = all.flatMap((read) => ("page" in read ? [read.page] : []));
  const sources = pages.map(({ url, title }) => ({ url, title }));
  return { ...request, input: insertData(request.input, items), sources: [...(request.sources ?? []), ...sources] };
}

function entryOf(read: Read): string {
  if ("failure" in read) return `URL: ${read.url}\n(${read.failure})\n`;
  const { url, title, text, isCut } = read.page;
  const lines = [`URL: ${read.url}`, url === read.url ? "" : `Found at: ${url}`, title === "" ? "" : `Title: ${title}`];
  return [...lines.filter((line) => line !== ""), "", text, isCut ? "(cut here)" : "", ""].join("\n");
}

function stageOfAll(all: readonly Read[], left: number): Stage {
  const failures = all.flatMap((read) => ("failure" in read ? [read.failure] : []));
  const cut = all.filter((read) => "page" in read && read.page.isCut).length;
  return stageOf(`Read ${all.length - failures.length} of ${all.length + left} pages`, {
    urls: all.length + left,
    read: all.length - failures.length,
    cut,
    failures,
  });
}

const stageOf = (summary: string, data: object): Stage => ({
  type: "plugin",
  name: "web-fetch",
  summary,
  data: { ...data },
});
