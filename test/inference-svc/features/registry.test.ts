/** The registry of plugins: each has a row in the contract and a place in the stack, and no text of their settings is left unscanned. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type DescField, type DescMessage, ScalarType, create } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import { RequestTexts } from "@sluice/inference-svc/features/guardrails/input/request-texts.js";
import { routers } from "@sluice/inference-svc/features/routers/feature.js";
import { embeddingFeatures } from "@sluice/inference-svc/embedding-stack.js";
import { isModelChoiceSlug } from "@sluice/inference-svc/features/slugs.js";
import { endpointFeatures, features, pluginTexts } from "@sluice/inference-svc/stack.js";
import type { Plugins } from "@sluice/inference-svc/turn/request.js";
import { pluginContracts } from "@sluice/proto/contract/plugins/plugins.js";
import { PluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { root } from "../../support/processes.ts";
import { testRequest } from "../asking.ts";

const compiled = join(root, "inference-svc/dist/features");
const entries = [...features, ...embeddingFeatures, ...routers, ...endpointFeatures];

const modules = readdirSync(compiled, { recursive: true, encoding: "utf8" }).filter((path) =>
  /(?:^|[/-])(?:feature|router)\.js$/.test(path),
);

test("each plugin of the contract has a place in the stack", () => {
  const ids = new Set(entries.map(({ id }) => id));
  expect(Object.keys(pluginContracts).filter((id) => !ids.has(id))).toEqual([]);
});

test.each(modules)("every feature exported by %s is in the stack", async (path) => {
  const exported = (await import(pathToFileURL(join(compiled, path)).href)) as Record<string, unknown>;
  const found = Object.values(exported).filter((value): value is { id: string } => Object.hasOwn(Object(value), "id"));
  expect(found.length).toBeGreaterThan(0);
  for (const feature of found) expect(entries).toContain(feature);
});

test("each router's slug is known to stand for other models", () => {
  expect(routers.filter(({ slug }) => !isModelChoiceSlug(slug))).toEqual([]);
});

/** Settings without free text: words and slugs that are only compared, and texts that are scanned where they are used. */
const notTexts: ReadonlySet<string> = new Set([
  "alignment.mode",
  "autoRouter.allowedModels",
  "autoRouter.excludedModels",
  "autoRouter.costTier",
  "autoBetaRouter.allowedModels",
  "autoBetaRouter.excludedModels",
  "autoBetaRouter.costTier",
  "contextCompression.engine",
  "fileParser.pdfEngine",
  "fusion.analysisModels",
  "fusion.model",
  "fusion.preset",
  "jevRouter.costTier",
  "jevRouter.models",
  "jevRouter.allowedModels",
  "jevRouter.excludedModels",
  "paretoRouter.priceSource",
  "switchyardRouter.algorithm",
  "web.engine",
  // A web search mode is sent only if it is one of the engine's words.
  "web.mode",
  // No search engine gets this setting.
  "web.xSearchJson",
  // Both prompts are added to the request together with the fetched pages, and are scanned with them.
  "web.searchPrompt",
  "webFetch.fetchPrompt",
  // The domains are compared only in this process, and are not sent anywhere.
  "webFetch.allowedDomains",
  "webFetch.blockedDomains",
]);

const canary = "canary";

/** A value of the field containing the canary; undefined for fields without text. */
function planted(field: DescField): unknown {
  if (field.fieldKind === "message") {
    const inner = field.message.fields.map((each) => [each.localName, planted(each)]);
    return create(field.message, Object.fromEntries(inner.filter(([, value]) => value !== undefined)));
  }
  const { scalar } = field;
  if (scalar === ScalarType.STRING) return field.fieldKind === "list" ? [canary] : canary;
  return scalar === ScalarType.BYTES ? Buffer.from(JSON.stringify([{ type: canary }])) : undefined;
}

const stringsOf = (plugin: string, { fields }: DescMessage) =>
  fields
    .map((field): readonly [string, DescField] => [`${plugin}.${field.localName}`, field])
    .filter(([, field]) => hasText(field));

const hasText = (field: DescField): boolean =>
  field.fieldKind === "message"
    ? field.message.fields.some(hasText)
    : field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES;

const settings = PluginSchema.fields.flatMap((field) =>
  field.fieldKind === "message" ? stringsOf(field.localName, field.message) : [],
);

test.each(settings.filter(([name]) => !notTexts.has(name)))("guardrails scan %s", (name, field) => {
  const [plugin = "", setting = ""] = name.split(".");
  const schema = PluginSchema.fields.find(({ localName }) => localName === plugin)?.message as DescMessage;
  const plugins = { [plugin]: create(schema, { [setting]: planted(field) }) } as Plugins;
  const request = testRequest({ plugins });
  const scanned = [...new RequestTexts(request, pluginTexts).scanUnits()].flatMap(
    (unit) => unit?.sources.map(({ text }) => text) ?? [],
  );
  expect(scanned).toContain(canary);
});

test("every request setting listed as free of text exists", () => {
  const names = new Set(settings.map(([name]) => name));
  expect([...notTexts].filter((name) => !names.has(name))).toEqual([]);
});
