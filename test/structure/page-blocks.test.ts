/** Every block of code in the pages is run, checked against the contract or the configuration schema, or left out with a reason. */
import { describe, expect, test } from "@jest/globals";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { parseAllDocuments } from "yaml";
import { validateRequest } from "../support/answers/published.ts";
import { type Block, findBlocks, findPages } from "../support/pages.ts";
import { clientLanguages, isRun } from "../support/page-commands.ts";

const blocks = findPages().flatMap(findBlocks);
const placeOf = ({ page, line }: Block): string => `${page}:${line}`;

/** Blocks of YAML with other contents than the configuration file, by their page. */
const otherYaml: Readonly<Record<string, string>> = {
  "docs/clients/generated.md": "settings of oapi-codegen; e2e/clients/languages/generators generates with the same",
  "docs/clients/llm.md": "configuration of the program `llm`",
  "docs/clients/promptfoo.md": "configuration of promptfoo",
  "docs/deploy/cloud-identities.md":
    "patches of kustomize; deploy/manifests.test builds overlays with the same components",
  "docs/deploy/helm.md": "a resource of the External Secrets Operator",
  "docs/deploy/kubernetes.md": "an overlay of kustomize; deploy/manifests.test builds such overlays",
  "docs/deploy/scaling.md": "configuration of prometheus-adapter",
  "docs/deploy/tls.md": "configuration of Traefik and annotations of ingress-nginx",
};

/** Blocks of JSON that are no request, by their page. */
const otherJson: Readonly<Record<string, string>> = {
  "docs/clients/opencode.md": "configuration of opencode",
  "docs/guardrails/external-detectors.md":
    "a message to a webhook and its answer; services/webhook-detector compares their fields",
  "docs/providers/bedrock.md": "rights of a role of AWS",
  "docs/operate/alerts.md": "messages to receivers; admin-svc/sinks tests compare their fields",
  "docs/operate/exports.md": "a message to receivers with omissions",
  "docs/operate/observability.md": "a line of a log",
  "docs/tools/sandbox.md": "bodies of the sandbox's contract; e2e/tools/sandbox tests send them",
};

/** Commands that no test can run as they stand, by their first word, with the reason or the test that reads them. */
const otherCommands: Readonly<Record<string, string>> = {
  aider: "a program that is not installed in the tests",
  cd: "builds the Terraform provider; deploy/terraform/provider.test does the same",
  claude: "e2e/doors/claude-code runs the program with these variables",
  cosign: "needs a published release",
  curl: "calls services outside of Sluice",
  docker: "deploy/images.test takes these commands from the page where containers run",
  echo: "writes a file of secrets; deploy/compose.test reads its names",
  gh: "needs a published release",
  git: "publishes a release",
  go: "builds Kubernetes or the Terraform provider from their modules; deploy/terraform/provider.test builds the latter",
  helm: "deploy/chart.test and `npm run cluster` install the chart",
  kubectl: "deploy/manifests.test and `npm run cluster` apply the manifests",
  llm: "a program that is not installed in the tests",
  mkdir: "makes a folder for the commands after it",
  node: "starts the sandbox adapter or a webhook; e2e/tools/sandbox and e2e/guardrails/guardrail-webhook start them",
  npm: "deploy/pages.test holds names of scripts; they start installations, campaigns or installations of packages",
  ollama: "a program that is not installed in the tests",
  open: "opens a browser; e2e/console tests open the page in one",
  npx: "e2e/clients/grpc.test calls the same methods; buf is fetched by npx",
  "openapi-python-client": "e2e/clients/languages/generators runs it",
  pg_dump: "needs a database and a stopped installation",
  pg_restore: "needs a database and a stopped installation",
  podman: "deploy/images.test takes these commands from the page where containers run",
  vllm: "a program that is not installed in the tests",
  umask: "a setting of the shell",
  "--set": "options of `helm upgrade`; deploy/chart.test renders them",
};

/** Languages whose blocks run elsewhere, or cannot. */
const otherLanguages: Readonly<Record<string, string>> = {
  "": "diagrams and forms of names",
  caddy: "a program that is not installed in the tests",
  dockerfile: "an image on top of another one",
  hcl: "deploy/terraform/provider.test applies it",
  http: "the sandbox's contract",
  nginx: "a program that is not installed in the tests",
  rust: "a fragment; e2e/clients/languages/rust compiles a program with it",
  sql: "a query on the sessions of Postgres",
  text: "plots",
  toml: "configuration of Codex; e2e/clients/codex writes the same",
};

/** Values for the variables of a configuration, in the forms that the schema checks. */
function fillVariables(yaml: string): string {
  const random = Buffer.alloc(32, 7).toString("base64");
  return yaml
    .replaceAll(/\$\{\w+_SECRET\}/g, `whsec_${random}`)
    .replaceAll("${CAPTURE_KEY}", random)
    .replaceAll(/\$\{\w*URL\w*\}|\$\{SLACK\w*\}/g, "https://hooks.example.com/a")
    .replaceAll(/\$\{[^}]+\}/g, "value");
}

/** @returns the problems of a block that is a configuration file, a part of one, or a list of its providers */
function checkConfiguration({ code }: Block): string[] {
  const [document] = parseAllDocuments(fillVariables(code));
  const content: unknown = document?.toJS();
  const file = Array.isArray(content) ? { providers: content } : content;
  const { error } = configSchema.safeParse(file);
  return [...(document?.errors ?? []), ...(error?.issues ?? [])].map(({ message }) => message);
}

/** The first words of the commands of a block; continued lines belong to the command before. */
const firstWords = (code: string): string[] =>
  code
    .replaceAll(/\\\n/g, " ")
    .replaceAll(/\s#.*$/gm, "")
    .replaceAll(/"[^"]*"|'[^']*'/gs, "''")
    .split(/\n|&&|;/)
    .map((line) => line.trim().replace(/^(?:do |for .*|done.*|(?:export )?\w+=\S*\s*)+/, ""))
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => /^(?:[A-Z_]+=\S+ )*(\S+)/.exec(line)?.[1] ?? "");

const ofLanguage = (language: string): Block[] => blocks.filter((block) => block.language === language);

describe("code blocks of documentation pages", () => {
  test("are found", () => {
    expect(blocks.length).toBeGreaterThan(150);
  });

  test("in YAML fit the schema of the configuration file", () => {
    const wrong = ofLanguage("yaml")
      .filter(({ page }) => !Object.hasOwn(otherYaml, page))
      .flatMap((block) => checkConfiguration(block).map((problem) => `${placeOf(block)}: ${problem}`));
    expect(wrong).toEqual([]);
  });

  test("in JSON are requests that the contract accepts", () => {
    const wrong = ofLanguage("json")
      .filter(({ page }) => !Object.hasOwn(otherJson, page))
      .flatMap((block) => {
        const request = { model: "acme/small", input: "Hello", ...(JSON.parse(block.code) as object) };
        return validateRequest(request).map((problem) => `${placeOf(block)}: ${problem}`);
      });
    expect(wrong).toEqual([]);
  });

  test("in a shell are run, or each of their commands has a reason", () => {
    const unknown = ofLanguage("sh")
      .filter((block) => !isRun(block))
      .flatMap((block) =>
        firstWords(block.code)
          .filter((word) => !Object.hasOwn(otherCommands, word))
          .map((word) => `${placeOf(block)}: ${word}`),
      );
    expect(unknown).toEqual([]);
  });

  test("in other languages run in e2e/client-pages, or have a reason", () => {
    const checked = ["yaml", "json", "sh", ...Object.keys(otherLanguages)];
    const isClient = ({ page, language }: Block): boolean =>
      clientLanguages.some((name) => name === language) && (page === "README.md" || page.startsWith("docs/clients/"));
    const unknown = blocks.filter((block) => !checked.includes(block.language) && !isClient(block));
    expect(unknown.map(placeOf)).toEqual([]);
  });

  test("that are left out for a reason still exist", () => {
    const pagesWith = (language: string) => new Set(ofLanguage(language).map(({ page }) => page));
    expect(Object.keys(otherYaml).filter((page) => !pagesWith("yaml").has(page))).toEqual([]);
    expect(Object.keys(otherJson).filter((page) => !pagesWith("json").has(page))).toEqual([]);
    const words = new Set(ofLanguage("sh").flatMap(({ code }) => firstWords(code)));
    expect(Object.keys(otherCommands).filter((word) => !words.has(word))).toEqual([]);
  });
});

test("a wrong setting in a code block of a page is found", () => {
  const block = { page: "docs/a.md", line: 1, language: "yaml", code: "limits: {body_byte: 1}\n" };
  expect(checkConfiguration(block)).toHaveLength(1);
});
