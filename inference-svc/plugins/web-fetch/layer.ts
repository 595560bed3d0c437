/** The plugin `web-fetch`: reads the pages whose URLs the user has named, all at once, and gives what they say to the model. */
import type { WebFetchPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Look } from "../../guardrails/added.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope, Stage } from "../../turn/scope.ts";
import { type Layer, onRequest } from "../../turn/turn.ts";
import type { Page } from "../../web/pages.ts";
import { Unread } from "../../web/unread.ts";
import type { Web } from "../../web/web.ts";
import { dataItem, saidByUser, withData } from "../web/data.ts";
import { urlsIn } from "./urls.ts";

const usualUses = 5;
const usualTokens = 20_000;
/** Of those that are not read, what the model is told of by name. */
const mostNamed = 20;

/** @param look at what pages say, before a model reads it */
export const webFetch = (web: Web, look: Look): Layer =>
  onRequest(async (request, scope) => {
    const settings = request.plugins?.webFetch;
    const urls = settings ? urlsIn(saidByUser(request.input)) : [];
    if (settings === undefined || urls.length === 0) return request;
    const { maxUses = usualUses } = settings;
    if (scope.dryRun) {
      scope.trace.stages.push(stageOf("Not read: a dry run asks nobody", { action: "not_run", urls: urls.length }));
      return request;
    }
    const all = await Promise.all(urls.slice(0, maxUses).map((url) => readOf(url, settings, web, scope)));
    const left = urls.slice(maxUses).map((url) => ({ url, failure: `not read: more than ${maxUses} pages` }));
    scope.trace.stages.push(stageOfAll(all, left.length));
    return given(request, scope, [...all, ...left.slice(0, mostNamed)], look);
  });

/** What came of a URL. */
type Read = { readonly url: string } & ({ readonly page: Page } | { readonly failure: string });

/** @throws Fault when the turn is over; nothing else ends it */
async function readOf(url: string, settings: WebFetchPlugin, web: Web, { signal }: Scope): Promise<Read> {
  const { allowedDomains: allowed, blockedDomains: blocked, maxContentTokens: maxTokens = usualTokens } = settings;
  try {
    return { url, page: await web.read(url, { domains: { allowed, blocked }, maxTokens }, signal) };
  } catch (error) {
    if (!(error instanceof Unread)) throw error;
    return { url, failure: `not read: ${error.message}` };
  }
}

const intro = "What follows was read from the URLs that the user names.";

async function given(request: TurnRequest, scope: Scope, all: readonly Read[], look: Look): Promise<TurnRequest> {
  const items = await look([dataItem(intro, all.map(entryOf))], request, scope);
  const pages = all.flatMap((read) => ("page" in read ? [read.page] : []));
  const sources = pages.map(({ url, title }) => ({ url, title }));
  return { ...request, input: withData(request.input, items), sources: [...(request.sources ?? []), ...sources] };
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
