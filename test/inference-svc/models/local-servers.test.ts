/** Servers of models on this machine are found by the lists that Ollama, vLLM, LM Studio and llama.cpp document. */
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "@jest/globals";
import { findLocalServers } from "@sluice/inference-svc/models/trial/local-servers.js";

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    }),
  );
});

/** @param answers JSON by path; anything else is 404 */
async function startServer(answers: Readonly<Record<string, unknown>>): Promise<number> {
  const server = createServer(({ url = "" }, response) => {
    const body = answers[url];
    response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body ?? { error: "not found" }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const ofOllama = (name: string, family: string) => ({
  name,
  model: name,
  modified_at: "2026-05-04T17:37:44.706015396-07:00",
  size: 3_825_819_519,
  digest: "fe938a131f40e6f6d40083c9f0f430a515233eb2edaa6d72eb85c50d64f2300e",
  details: {
    parent_model: "",
    format: "gguf",
    family,
    families: [family],
    parameter_size: "7B",
    quantization_level: "Q4_0",
  },
});

const ofServer = (id: string, owner: string) => ({ id, object: "model", created: 1_686_935_002, owned_by: owner });

const ofLmStudio = (id: string, type: string) => ({
  id,
  object: "model",
  type,
  publisher: "mlx-community",
  arch: "qwen2_vl",
  compatibility_type: "mlx",
  quantization: "4bit",
  state: "not-loaded",
  max_context_length: 32_768,
});

const list = (...data: object[]) => ({ object: "list", data });

/** A port at which nothing listens. */
async function closedPort(): Promise<number> {
  const port = await startServer({});
  const [server] = servers.splice(-1);
  await new Promise((resolve) => server?.close(resolve));
  return port;
}

async function portsWith(open: Readonly<Record<string, number>>) {
  const ports: Record<string, number> = {};
  for (const id of ["ollama", "vllm", "lmstudio", "llama-cpp"]) ports[id] = open[id] ?? (await closedPort());
  return ports;
}

test("the four local model servers are found with their chat models, and without embedding models", async () => {
  const ports = await portsWith({
    ollama: await startServer({
      "/api/tags": {
        models: [
          ofOllama("llama3.2:3b", "llama"),
          ofOllama("nomic-embed-text:latest", "nomic-bert"),
          ofOllama("all-minilm:latest", "bert"),
        ],
      },
    }),
    vllm: await startServer({ "/v1/models": list({ ...ofServer("Qwen/Qwen3-8B", "vllm"), max_model_len: 32_768 }) }),
    lmstudio: await startServer({
      "/api/v0/models": list(
        ofLmStudio("qwen2-vl-7b-instruct", "vlm"),
        ofLmStudio("meta-llama-3.1-8b-instruct", "llm"),
        ofLmStudio("text-embedding-nomic-embed-text-v1.5", "embeddings"),
      ),
    }),
    "llama-cpp": await startServer({
      "/v1/models": list({
        ...ofServer("../models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "llamacpp"),
        meta: { n_ctx_train: 131_072 },
      }),
    }),
  });
  const at = (id: string) => `http://127.0.0.1:${ports[id]}/v1`;
  expect(await findLocalServers({ ports })).toEqual([
    { id: "ollama", name: "Ollama", baseUrl: at("ollama"), models: ["llama3.2:3b"] },
    { id: "vllm", name: "vLLM", baseUrl: at("vllm"), models: ["Qwen/Qwen3-8B"] },
    {
      id: "lmstudio",
      name: "LM Studio",
      baseUrl: at("lmstudio"),
      models: ["qwen2-vl-7b-instruct", "meta-llama-3.1-8b-instruct"],
    },
    { id: "llama-cpp", name: "llama.cpp", baseUrl: at("llama-cpp"), models: ["Meta-Llama-3.1-8B-Instruct-Q4_K_M"] },
  ]);
});

test("other programs at the ports of local model servers are not taken for them", async () => {
  const other = list(ofServer("gpt-5", "openai"));
  for (const answer of [other, [], "<html>", { models: "none" }, "x".repeat(2 * 1_048_576)]) {
    const port = await startServer({
      "/api/tags": answer === other ? { data: [] } : answer,
      "/v1/models": answer,
      "/api/v0/models": answer === other ? {} : answer,
    });
    const ports = await portsWith({ ollama: port, vllm: port, lmstudio: port, "llama-cpp": port });
    expect(await findLocalServers({ ports })).toEqual([]);
  }
});

test("Ollama is found at the port of OLLAMA_HOST", async () => {
  const port = await startServer({ "/api/tags": { models: [ofOllama("qwen3:8b", "qwen3")] } });
  const { ollama: _, ...ports } = await portsWith({});
  for (const address of [`127.0.0.1:${port}`, `http://0.0.0.0:${port}`, `:${port}`]) {
    expect(await findLocalServers({ ports, environment: { OLLAMA_HOST: address } })).toMatchObject([
      { id: "ollama", models: ["qwen3:8b"] },
    ]);
  }
});

test("a local server that never answers delays the search by at most a second", async () => {
  const server = createServer(() => {});
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const ports = await portsWith({ vllm: port });
  expect(await findLocalServers({ ports })).toEqual([]);
});
