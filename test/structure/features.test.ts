/** Each feature of inference-svc has a folder, and only listed files import it. */
import { posix } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { importSpecifiers } from "./circles.ts";
import { type SourceFile, readSources } from "./sources.ts";

/** Files outside of the features that import them, each with the reason. */
const importers: Readonly<Record<string, string>> = {
  "inference-svc/stack.ts": "orders the layers of the features",
  "inference-svc/embedding-stack.ts": "orders the layers of requests for embeddings",
  "inference-svc/tool-registry.ts": "lists the server tools of the features",
  "inference-svc/kit.ts": "builds what the layers are made of, from the clients of the features",
  "inference-svc/features/kit.ts": "names the types of these clients, which a feature gets as parts of its kit",
  "inference-svc/assembly/runtime.ts": "opens the clients by the configuration file, anew at each reload",
  "inference-svc/assembly/inference.ts": "registers the metrics of the clients once per process",
};

/** Features that another one imports: "importer > imported", with the reason. */
const shared: Readonly<Record<string, string>> = {
  "fusion > model-tools": "its panel and its analyst are calls of models for a part of a request",
  "model-tools > guardrails": "the answer to such a call is scanned where it is composed",
};

const topicOf = (path: string): string | undefined => /^inference-svc\/features\/([^/]+)\//.exec(path)?.[1];

interface FeatureImport {
  readonly from: string;
  readonly topic: string;
}

/** Imports of features from outside of their folder. */
const featureImports = (files: readonly SourceFile[]): FeatureImport[] =>
  files
    .filter(({ room }) => room === "inference-svc")
    .flatMap(({ path, text }) =>
      importSpecifiers(text).flatMap((specifier): FeatureImport[] => {
        if (!specifier.startsWith(".")) return [];
        const topic = topicOf(posix.join(posix.dirname(path), specifier));
        return topic === undefined || topic === topicOf(path) ? [] : [{ from: path, topic }];
      }),
    );

const nameImport = ({ from, topic }: FeatureImport): string => `${topicOf(from) ?? from} > ${topic}`;

const isPermitted = (found: FeatureImport): boolean =>
  topicOf(found.from) === undefined ? found.from in importers : nameImport(found) in shared;

describe("features of inference-svc", () => {
  const imports = featureImports(readSources(root));

  test("are imported only by the listed files and features", () => {
    expect(imports.filter((found) => !isPermitted(found)).map(nameImport)).toEqual([]);
  });

  test("are imported by every listed file and feature", () => {
    expect(Object.keys(importers).filter((path) => !imports.some(({ from }) => from === path))).toEqual([]);
    expect(Object.keys(shared).filter((pair) => !imports.some((found) => nameImport(found) === pair))).toEqual([]);
  });

  test("take their predicates from one file", () => {
    const own = readSources(root).filter(
      ({ path, text }) =>
        path.startsWith("inference-svc/features/") && /^\s+applies(?:,|: (?!applies\.|endpointApplies\.))/m.test(text),
    );
    expect(own.map(({ path }) => path)).toEqual([]);
  });

  test("are found when imported elsewhere or by one another", () => {
    const source = (path: string, specifier: string): SourceFile => ({
      path,
      room: "inference-svc",
      text: `import { a } from "${specifier}";`,
    });
    const found = featureImports([
      source("inference-svc/engine/engine.ts", "../features/web/client.ts"),
      source("inference-svc/features/mcp/tool.ts", "../web/client.ts"),
      source("inference-svc/features/web/search-tool.ts", "./client.ts"),
      source("inference-svc/features/web/engines/exa.ts", "../client.ts"),
    ]);
    expect(found.map(nameImport)).toEqual(["inference-svc/engine/engine.ts > web", "mcp > web"]);
    expect(found.some(isPermitted)).toBe(false);
  });
});
