/**
 * `npm run catalogue`: generates seed.json from models.yaml, scores.yaml and the installed price list of @pydantic/genai-prices (MIT). To update: install
 * its newest version, run this, read the difference. `--print DATE` writes the catalogue of that day to standard output instead.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { calcPrice } from "@pydantic/genai-prices";
import { parse } from "yaml";

const here = new URL("./", import.meta.url);
const { vendors, models } = parse(readFileSync(new URL("models.yaml", here), "utf8"));
const { boards, models: scored } = parse(readFileSync(new URL("scores.yaml", here), "utf8"));
const require = createRequire(import.meta.url);
const { version } = require(require.resolve("@pydantic/genai-prices").replace(/dist\/.*/, "package.json"));

/** Price names in USD per million tokens: Sluice's, and those of the price list. */
const rates = {
  prompt: "input_mtok",
  completion: "output_mtok",
  cache_read: "cache_read_mtok",
  cache_write: "cache_write_mtok",
  cache_write_1h: "cache_write_1h_mtok",
};

/** Prices at noon: models cheaper at night get their daytime price. */
const noon = (date) => new Date(`${date}T12:00:00Z`);

function priced({ vendor, upstream_model: model }, date) {
  const { prices = vendor } = vendors[vendor];
  const found = calcPrice({ input_tokens: 1, output_tokens: 1 }, model, { providerId: prices, timestamp: noon(date) });
  if (!found) throw new Error(`${prices} has no price for ${model}`);
  return { prices: found.model_price, contextLength: found.model.context_window };
}

/** @param start of a step; the price below all steps when absent */
function ratesOf(prices, start) {
  const at = (price) => {
    if (typeof price !== "object" || start === undefined) return price?.base ?? price;
    return price.tiers.findLast((tier) => tier.start <= start)?.price ?? price.base;
  };
  const found = Object.entries(rates).map(([ours, theirs]) => [ours, at(prices[theirs])]);
  return Object.fromEntries(found.flatMap(([ours, price]) => (price === undefined ? [] : [[ours, String(price)]])));
}

function pricingOf(prices) {
  const starts = Object.values(rates).flatMap((name) => (prices[name]?.tiers ?? []).map(({ start }) => start));
  const above = [...new Set(starts)].toSorted((a, b) => a - b);
  const searches = prices.web_searches_kcount;
  const own = ratesOf(prices);
  return {
    ...own,
    // Embeddings have no priced output.
    completion: own.completion ?? "0",
    ...(above.length > 0 && { above: above.map((start) => ({ input_tokens: start, ...ratesOf(prices, start) })) }),
    ...(searches !== undefined && { web_search: String(searches / 1000) }),
  };
}

/** Converts a percentage of one leaderboard to the common scale from 0 to 1. */
function scoreOf(percentage, { slope, offset }) {
  const logit = offset + slope * Math.log(percentage / (100 - percentage));
  return Number((1 / (1 + Math.exp(-logit))).toFixed(3));
}

function scoresOf(id) {
  if (scored[id] === undefined) return {};
  const { board, figures } = scored[id];
  const { lines } = boards[board];
  const scores = Object.entries(figures).map(([group, figure]) => [group, scoreOf(figure, lines[group])]);
  return { scores: Object.fromEntries(scores) };
}

function modelOf({ endpoints, context_length: stated, output_modalities = ["text"], ...rest }, date) {
  const offers = endpoints.map((endpoint) => ({ endpoint, ...priced(endpoint, date) }));
  const contextLength = stated ?? offers[0].contextLength;
  if (contextLength === undefined) throw new Error(`${rest.id}: no window is known; state context_length`);
  return {
    ...rest,
    context_length: contextLength,
    output_modalities,
    ...scoresOf(rest.id),
    endpoints: offers.map(({ endpoint, prices }) => ({ ...endpoint, pricing: pricingOf(prices) })),
  };
}

function seedOf(date) {
  return {
    date,
    source: `@pydantic/genai-prices ${version} (MIT)`,
    score_sources: Object.values(boards).map((board) => ({ name: board.name, url: board.url, date: board.date })),
    vendors: Object.fromEntries(Object.entries(vendors).map(([id, { prices: _, ...vendor }]) => [id, vendor])),
    models: models.map((model) => modelOf(model, date)),
  };
}

const [option, date = new Date().toISOString().slice(0, 10)] = process.argv.slice(2);
const text = `${JSON.stringify(seedOf(date), null, 2)}\n`;
if (option === "--print") process.stdout.write(text);
else writeFileSync(new URL("seed.json", here), text);
