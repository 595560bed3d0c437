/**
 * Finds model servers on this machine, at the loopback address and the usual ports of Ollama, vLLM, LM Studio and
 * llama.cpp. A server counts only if its list of models has the form of that program. Redirects are not followed.
 */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";

export interface LocalServer {
  /** Suggested id for the provider. */
  readonly id: string;
  /** Name of the program. */
  readonly name: string;
  /** Base URL for a provider with the dialect `chat`. */
  readonly baseUrl: string;
  /** Names of the server's models for chat. */
  readonly models: readonly string[];
}

interface ServerKind {
  readonly id: string;
  readonly name: string;
  readonly port: number;
  /** Path of the list of models. */
  readonly list: string;
  /** Reads the names of the models for chat. @returns undefined for the answer of another program */
  readonly read: (answer: JsonObject) => readonly string[] | undefined;
}

const objectsIn = (list: unknown): readonly JsonObject[] | undefined =>
  Array.isArray(list) ? list.filter((entry) => isObject(entry)) : undefined;

const textIn = (entry: JsonObject, name: string): string => {
  const value = entry[name];
  return typeof value === "string" ? value : "";
};

/** Reads Ollama's list. Ollama does not state what a model is for; the families of its embedding models are those of BERT. */
function readOllama({ models }: JsonObject): readonly string[] | undefined {
  return objectsIn(models)
    ?.filter(({ details }) => !isObject(details) || !/bert/i.test(textIn(details, "family")))
    .map((model) => textIn(model, "name"));
}

const lmStudioKinds = ["llm", "vlm"];

const readLmStudio = ({ data }: JsonObject): readonly string[] | undefined =>
  objectsIn(data)
    ?.filter((model) => lmStudioKinds.includes(textIn(model, "type")))
    .map((model) => textIn(model, "id"));

/** @param owner value of `owned_by` in the program's list of models */
const readOwned =
  (owner: string, nameOf = (id: string) => id) =>
  ({ data }: JsonObject): readonly string[] | undefined => {
    const models = objectsIn(data);
    if (!models?.some((model) => textIn(model, "owned_by") === owner)) return undefined;
    return models.map((model) => nameOf(textIn(model, "id")));
  };

/** Name of a model. llama.cpp uses the file's name unless the model has an alias, and answers with its only model under every name. */
const nameOfFile = (id: string): string =>
  id.endsWith(".gguf") ? id.slice(id.lastIndexOf("/") + 1, -".gguf".length) : id;

const kinds: readonly ServerKind[] = [
  { id: "ollama", name: "Ollama", port: 11_434, list: "/api/tags", read: readOllama },
  { id: "vllm", name: "vLLM", port: 8_000, list: "/v1/models", read: readOwned("vllm") },
  { id: "lmstudio", name: "LM Studio", port: 1_234, list: "/api/v0/models", read: readLmStudio },
  { id: "llama-cpp", name: "llama.cpp", port: 8_080, list: "/v1/models", read: readOwned("llamacpp", nameOfFile) },
];

/** Milliseconds for an answer of a server on the same machine. */
const limitMs = 1_000;
const maxBytes = 1_048_576;
const maxModels = 1_000;

export interface FindOptions {
  readonly environment?: NodeJS.ProcessEnv;
  /** Ports that replace the usual ones, by id. */
  readonly ports?: Readonly<Record<string, number>>;
}

export async function findLocalServers({ environment = {}, ports = {} }: FindOptions = {}): Promise<LocalServer[]> {
  const moved = { ollama: ollamaPort(environment["OLLAMA_HOST"]), ...ports };
  const found = await Promise.all(kinds.map((kind) => findServer(kind, moved[kind.id as "ollama"] ?? kind.port)));
  return found.filter((server) => server !== undefined);
}

async function findServer({ id, name, list, read }: ServerKind, port: number): Promise<LocalServer | undefined> {
  const origin = `http://127.0.0.1:${port}`;
  const models = read(await readJson(`${origin}${list}`));
  if (models === undefined) return undefined;
  const forChat = models.filter((model) => model !== "" && !/embed/i.test(model));
  return { id, name, baseUrl: `${origin}/v1`, models: [...new Set(forChat)].slice(0, maxModels) };
}

/** Fetches JSON. @returns an empty object for any other answer */
async function readJson(url: string): Promise<JsonObject> {
  try {
    const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(limitMs) });
    if (!response.ok) return {};
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) return {};
      chunks.push(chunk);
    }
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
    return isObject(value) ? value : {};
  } catch {
    // There is no server at this port, or one that does not speak HTTP.
    return {};
  }
}

/** The port in the environment variable that tells Ollama where to listen. @returns undefined without one */
function ollamaPort(address: string | undefined): number | undefined {
  const port = /(?:^|:)(\d{1,5})\/?$/.exec(address ?? "")?.[1];
  return port === undefined ? undefined : Number(port);
}
